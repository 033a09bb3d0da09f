package xrpl

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestRealLedgersHash(t *testing.T) {
	v := NewVerifier()
	for _, l := range real(t) {
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
	v := NewVerifier()
	var txs []Transaction
	for i := range 300 {
		txs = append(txs, Transaction{Blob: []byte{byte(i), byte(i >> 8)}, Meta: []byte{byte(i)}})
	}
	root, err := v.Root(txs)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(txs)
	if again, err := v.Root(txs); again != root || err != nil {
		t.Errorf("in reverse order the root is %v, not %v: %v", again, root, err)
	}
	if _, err := v.Root(append(txs, txs[7])); !errors.Is(err, ErrRoot) {
		t.Errorf("a transaction that is there twice: %v", err)
	}
	if empty, err := v.Root(nil); !empty.IsZero() || err != nil {
		t.Errorf("the root of nothing is %v, %v", empty, err)
	}
}

// A change of any bit of a response is detected.
func TestEveryFlippedBitIsFound(t *testing.T) {
	l, v := made(t, 3), NewVerifier()
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
		change func(*Ledger)
		want   error
	}{
		{"nothing", func(*Ledger) {}, nil},
		{"an answer that says neither index nor hash", func(l *Ledger) { l.Index, l.Hash = 0, Hash{} }, nil},
		{"a transaction is missing", func(l *Ledger) { l.Transactions = l.Transactions[1:] }, ErrRoot},
		{"all transactions are missing", func(l *Ledger) { l.Transactions = nil }, ErrRoot},
		{"a transaction is there twice", func(l *Ledger) { l.Transactions = append(l.Transactions, l.Transactions[0]) }, ErrRoot},
		{"metadata is another's", func(l *Ledger) { l.Transactions[0].Meta = l.Transactions[1].Meta }, ErrRoot},
		{"a transaction is empty", func(l *Ledger) { l.Transactions[0].Blob = nil }, ErrMalformed},
		{"metadata is too long", func(l *Ledger) { l.Transactions[0].Meta = make([]byte, MaxVL+1) }, ErrMalformed},
		{"too many transactions", func(l *Ledger) { l.Transactions = make([]Transaction, MaxTransactions+1) }, ErrMalformed},
		{"another ledger", func(l *Ledger) { l.Index++ }, ErrIndex},
		{"another hash", func(l *Ledger) { l.Hash[31]++ }, ErrHash},
		{"a short header", func(l *Ledger) { l.Header = l.Header[1:] }, ErrMalformed},
		{"a long header", func(l *Ledger) { l.Header = append(l.Header, 0) }, ErrMalformed},
		{"no header", func(l *Ledger) { l.Header = nil }, ErrMalformed},
		{"ledger 0", func(l *Ledger) { l.Index = 0; seal(t, l) }, ErrIndex},
	} {
		l := made(t, 3)
		c.change(l)
		_, err := NewVerifier().Ledger(l)
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, not %v", c.name, err, c.want)
		}
		for i, tx := range l.Transactions {
			if err == nil && tx.ID != TransactionID(tx.Blob) {
				t.Errorf("%s: transaction %d has the ID %v, not %v", c.name, i, tx.ID, TransactionID(tx.Blob))
			}
		}
	}
}

func FuzzVerifier(f *testing.F) {
	l := made(f, 2)
	f.Add(l.Header, l.Transactions[0].Blob, l.Transactions[0].Meta, l.Transactions[1].Blob)
	v := NewVerifier()
	f.Fuzz(func(t *testing.T, header, blob, meta, other []byte) {
		l := &Ledger{Header: header, Transactions: []Transaction{{Blob: blob, Meta: meta}, {Blob: other, Meta: meta}}}
		_, _ = v.Ledger(l)
		_, _ = v.Signatures(l, Pure{})
		_ = SortByIndex(l.Transactions)
		if h, err := ParseHeader(header); err == nil && string(h.Append(nil)) != string(header) {
			t.Errorf("header %X is written as %X", header, h.Append(nil))
		}
	})
}

func BenchmarkLedger(b *testing.B) {
	l, v := fullest(b), NewVerifier()
	for _, run := range []struct {
		name string
		do   func() error
	}{
		{"tree", func() error { _, err := v.Root(l.Transactions); return err }},
		{"L1", func() error { _, err := v.Ledger(l); return err }},
		{"signatures/pure", func() error { _, err := v.Signatures(l, Pure{}); return err }},
		{"signatures/libsecp256k1", func() error { _, err := v.Signatures(l, Checkers()["libsecp256k1"]); return err }},
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
func fullest(b testing.TB) *Ledger {
	ledgers := real(b)
	best := &ledgers[0]
	for i := range ledgers {
		if len(ledgers[i].Transactions) > len(best.Transactions) {
			best = &ledgers[i]
		}
	}
	return best
}
