package testchain_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"dyno/services/chain/testchain"
)

// A checkpoint keeps for which signatures accounts were named, and when the last block was made.
func TestCheckpointKeeps(t *testing.T) {
	dir, o := t.TempDir(), testchain.Options{Checkpoint: 1, Fail: func(err error) { t.Error(err) }}
	s := openAs(t, dir, o)
	for _, named := range []common.Address{from, to} {
		s.want("null", "anvil_impersonateSignature", "0x"+strings.Repeat("01", 65), named)
		s.want("null", "anvil_impersonateSignature", "0x"+strings.Repeat("02", 65), from)
	}
	s.send(1)
	made := s.call("anvil_getLastBlockWallTime")
	for range 2 {
		s.close()
		s = openAs(t, dir, o)
		if got := s.call("anvil_getLastBlockWallTime"); got != made {
			t.Errorf("the last block was made at %s, want %s", got, made)
		}
		if known := s.Signatures(); len(known) != 2 || known[[65]byte([]byte(strings.Repeat("\x01", 65)))] != to {
			t.Errorf("the signatures are %v", known)
		}
	}
	s.close()
}

// Where there are as many signatures as may be, another account can be named for one of them.
func TestSignatureAgain(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	s.FillSignatures()
	name := func(number string) string {
		return s.call("anvil_impersonateSignature", "0x"+number+strings.Repeat("00", 63), to)
	}
	if got := name("0fff"); got != "null" || s.Signatures()[[65]byte{0x0f, 0xff}] != to {
		t.Errorf("another account for a signature: %s", got)
	}
	if got := name("1000"); !strings.Contains(got, "4096 signatures already") {
		t.Errorf("another signature: %s", got)
	}
}

// What contracts print is in the log, but not of a node that other machines reach.
func TestPrinted(t *testing.T) {
	for reachable, want := range map[bool]int{false: 1, true: 0} {
		var log bytes.Buffer
		s := openAs(t, t.TempDir(), testchain.Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Reachable: reachable, Fail: func(err error) { t.Error(err) }})
		s.want("null", "anvil_setCode", logging, "0x6351973ec95f525f5f6004601c6a636f6e736f6c652e6c6f675afa00") // calls console.log()
		s.sendTo(logging)
		s.close()
		if got := strings.Count(log.String(), "console.log"); got != want {
			t.Errorf("reachable %t: %d lines, want %d:\n%s", reachable, got, want, &log)
		}
	}
}
