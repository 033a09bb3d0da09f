package testchain_test

import (
	"strings"
	"testing"

	"dyno/services/chain/testchain"
)

// A checkpoint keeps for which signatures accounts were named, and when the last block was made.
func TestCheckpointKeeps(t *testing.T) {
	dir, o := t.TempDir(), testchain.Options{Checkpoint: 1, Fail: func(err error) { t.Error(err) }}
	s := openAs(t, dir, o)
	s.want("null", "anvil_impersonateSignature", "0x"+strings.Repeat("01", 65), to)
	s.send(1)
	made := s.call("anvil_getLastBlockWallTime")
	for range 2 {
		s.close()
		s = openAs(t, dir, o)
		if got := s.call("anvil_getLastBlockWallTime"); got != made {
			t.Errorf("the last block was made at %s, want %s", got, made)
		}
		if known := s.Signatures(); len(known) != 1 || known[[65]byte([]byte(strings.Repeat("\x01", 65)))] != to {
			t.Errorf("the signatures are %v", known)
		}
	}
	s.close()
}
