package xrpl_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"
)

func TestRealLedgersHash(t *testing.T) {
	v := xrpl.NewVerifier()
	for _, l := range xrpltest.Ledgers(t) {
		h, err := v.Ledger(&l)
		if err != nil {
			t.Errorf("ledger %d: %v", l.Index, err)
		}
		if h.Hash() != l.Hash || string(h.Append(nil)) != string(l.Header) {
			t.Errorf("ledger %d: its header changes when it is read and written", l.Index)
		}
	}
}

// The order in which a server lists transactions does not matter; a repeated transaction does.
func TestRootOfAnyOrder(t *testing.T) {
	v := xrpl.NewVerifier()
	var txs []xrpl.Transaction
	for i := range 300 {
		txs = append(txs, xrpl.Transaction{Blob: []byte{byte(i), byte(i >> 8)}, Meta: []byte{byte(i)}})
	}
	root, err := v.Root(txs)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(txs)
	if again, err := v.Root(txs); again != root || err != nil {
		t.Errorf("in reverse order the root is %v, not %v: %v", again, root, err)
	}
	if _, err := v.Root(append(txs, txs[7])); !errors.Is(err, xrpl.ErrRoot) {
		t.Errorf("a transaction that is there twice: %v", err)
	}
	if empty, err := v.Root(nil); !empty.IsZero() || err != nil {
		t.Errorf("the root of nothing is %v, %v", empty, err)
	}
}

// A change of any bit of a response is detected.
func TestEveryFlippedBitIsFound(t *testing.T) {
	l, v := made(t, 3), xrpl.NewVerifier()
	parts := map[string][]byte{"header": l.Header, "hash": l.Hash[:]}
	for i, tx := range l.Transactions {
		parts[fmt.Sprint("blob ", i)], parts[fmt.Sprint("meta ", i)] = tx.Blob, tx.Meta
	}
	flips := 0
	for name, b := range parts {
		for bit := range 8 * len(b) {
			b[bit/8] ^= 1 << (bit % 8)
			if _, err := v.Ledger(l); err == nil {
				t.Errorf("bit %d of %s changed and the ledger verified", bit, name)
			}
			b[bit/8] ^= 1 << (bit % 8)
			flips++
		}
	}
	if _, err := v.Ledger(l); err != nil || flips < 8*1000 {
		t.Errorf("after %d flips back: %v", flips, err)
	}
}

func TestLedgerSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*xrpl.Ledger)
		want   error
	}{
		{"nothing", func(*xrpl.Ledger) {}, nil},
		{"an answer that says neither index nor hash", func(l *xrpl.Ledger) { l.Index, l.Hash = 0, xrpl.Hash{} }, nil},
		{"a transaction is missing", func(l *xrpl.Ledger) { l.Transactions = l.Transactions[1:] }, xrpl.ErrRoot},
		{"all transactions are missing", func(l *xrpl.Ledger) { l.Transactions = nil }, xrpl.ErrRoot},
		{"a transaction is there twice", func(l *xrpl.Ledger) { l.Transactions = append(l.Transactions, l.Transactions[0]) }, xrpl.ErrRoot},
		{"metadata is another's", func(l *xrpl.Ledger) { l.Transactions[0].Meta = l.Transactions[1].Meta }, xrpl.ErrRoot},
		{"a transaction is empty", func(l *xrpl.Ledger) { l.Transactions[0].Blob = nil }, xrpl.ErrMalformed},
		{"metadata is too long", func(l *xrpl.Ledger) { l.Transactions[0].Meta = make([]byte, xrpl.MaxVL+1) }, xrpl.ErrMalformed},
		{"too many transactions", func(l *xrpl.Ledger) { l.Transactions = make([]xrpl.Transaction, xrpl.MaxTransactions+1) }, xrpl.ErrMalformed},
		{"another ledger", func(l *xrpl.Ledger) { l.Index++ }, xrpl.ErrIndex},
		{"another hash", func(l *xrpl.Ledger) { l.Hash[31]++ }, xrpl.ErrHash},
		{"a short header", func(l *xrpl.Ledger) { l.Header = l.Header[1:] }, xrpl.ErrMalformed},
		{"a long header", func(l *xrpl.Ledger) { l.Header = append(l.Header, 0) }, xrpl.ErrMalformed},
		{"no header", func(l *xrpl.Ledger) { l.Header = nil }, xrpl.ErrMalformed},
		{"ledger 0", func(l *xrpl.Ledger) { l.Index = 0; seal(t, l) }, xrpl.ErrIndex},
	} {
		l := made(t, 3)
		c.change(l)
		_, err := xrpl.NewVerifier().Ledger(l)
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, not %v", c.name, err, c.want)
		}
		for i, tx := range l.Transactions {
			if err == nil && tx.ID != xrpl.TransactionID(tx.Blob) {
				t.Errorf("%s: transaction %d has the ID %v, not %v", c.name, i, tx.ID, xrpl.TransactionID(tx.Blob))
			}
		}
	}
}

func FuzzVerifier(f *testing.F) {
	l := made(f, 2)
	f.Add(l.Header, l.Transactions[0].Blob, l.Transactions[0].Meta, l.Transactions[1].Blob)
	v := xrpl.NewVerifier()
	f.Fuzz(func(t *testing.T, header, blob, meta, other []byte) {
		l := &xrpl.Ledger{Header: header, Transactions: []xrpl.Transaction{{Blob: blob, Meta: meta}, {Blob: other, Meta: meta}}}
		_, _ = v.Ledger(l)
		_, _ = signing.Verify(l, signing.Pure{})
		_ = xrpl.SortByIndex(l.Transactions)
		if h, err := xrpl.ParseHeader(header); err == nil && string(h.Append(nil)) != string(header) {
			t.Errorf("header %X is written as %X", header, h.Append(nil))
		}
	})
}

func BenchmarkLedger(b *testing.B) {
	l, v := fullest(b), xrpl.NewVerifier()
	for _, run := range []struct {
		name string
		do   func() error
	}{
		{"tree", func() error { _, err := v.Root(l.Transactions); return err }},
		{"L1", func() error { _, err := v.Ledger(l); return err }},
	} {
		b.Run(run.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := run.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fullest returns the real ledger with the most transactions in today's format: 90150378, with 90.
func fullest(b testing.TB) *xrpl.Ledger {
	ledgers := xrpltest.Ledgers(b)
	best := &ledgers[0]
	for i := range ledgers {
		if len(ledgers[i].Transactions) > len(best.Transactions) {
			best = &ledgers[i]
		}
	}
	return best
}
