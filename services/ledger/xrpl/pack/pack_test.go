package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
	"dyno/services/ledger/xrpl/xrpltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func packed(t testing.TB, chain []*xrpl.Ledger) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := Write(t.Context(), &b, xrpltest.SourceOf(chain), history.Range{From: chain[0].Index, To: chain[len(chain)-1].Index}, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// drain reads a pack to its end.
func drain(b []byte) (all []*xrpl.Ledger, err error) {
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		ledgers, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, ledgers...)
	}
}

func TestEmptyLedgers(t *testing.T) {
	all, err := drain(packed(t, xrpltest.Chain(1, 5, 3, 0)))
	if err != nil || len(all) != 3 || all[0].Index != 7 {
		t.Fatal(all, err)
	}
}

// Every flipped bit is detected, and every missing or additional byte.
func TestDamageIsFound(t *testing.T) {
	good := packed(t, xrpltest.Chain(1, 5, 2, 1))
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			if _, err := drain(bad); err == nil {
				t.Fatalf("bit %d of byte %d of %d was flipped without an error", bit, i, len(good))
			}
		}
		if _, err := drain(good[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut off after %d of %d bytes: %v", i, len(good), err)
		}
	}
	if _, err := drain(append(bytes.Clone(good), 0)); !errors.Is(err, ErrDamaged) {
		t.Fatalf("a byte too much: %v", err)
	}
}

func TestNewerVersion(t *testing.T) {
	b := packed(t, xrpltest.Chain(1, 5, 1, 1))
	b[len(Magic)]++
	if _, err := drain(b); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Fatal(err)
	}
}

func TestWriteRefuses(t *testing.T) {
	chain := xrpltest.Chain(1, 1, 3, 1)
	if _, err := Write(t.Context(), io.Discard, xrpltest.SourceOf(chain), history.Range{From: 1, To: 4}, nil); !errors.Is(err, xrpltest.ErrMissing) {
		t.Errorf("a gap: %v", err)
	}
	chain[1] = xrpltest.Chain(2, 2, 1, 1)[0]
	if _, err := Write(t.Context(), io.Discard, xrpltest.SourceOf(chain), history.Range{From: 1, To: 3}, nil); err == nil || !strings.Contains(err.Error(), "run check") {
		t.Errorf("not linked: %v", err)
	}
}

func TestTooManyTransactions(t *testing.T) {
	header := xrpltest.Chain(1, 5, 1, 0)[0].Header
	for n, want := range map[int]error{xrpl.MaxTransactions: nil, xrpl.MaxTransactions + 1: ErrDamaged} {
		b := binary.AppendUvarint(bytes.Clone(header), uint64(n))
		b = append(b, make([]byte, 2*n)...) // transactions of no bytes
		if _, _, err := cutLedger(b); !errors.Is(err, want) {
			t.Errorf("%d transactions: %v", n, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(packed(f, xrpltest.Chain(1, 5, 2, 1)))
	f.Add(packed(f, xrpltest.Chain(1, 5, 1, 0)))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := drain(b)
		if err != nil {
			return
		}
		if len(all) == 0 {
			t.Fatal("a pack without ledgers")
		}
		for i, l := range all {
			if l.Index != all[0].Index-uint32(i) {
				t.Fatalf("ledger %d follows ledger %d", l.Index, all[0].Index)
			}
		}
	})
}

// A block contains foreign bytes, too: an attacker can compute its checksum.
func FuzzLedger(f *testing.F) {
	for _, l := range xrpltest.Chain(1, 5, 2, 2) {
		f.Add(appendLedger(nil, l))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, rest, err := cutLedger(b)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if again, _, err := cutLedger(appendLedger(nil, l)); err != nil || again.Hash != l.Hash || len(again.Transactions) != len(l.Transactions) {
			t.Fatalf("read again: %v, %d bytes follow", err, len(rest))
		}
	})
}
