package xrpl

import (
	"errors"
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

// The order in which a server lists transactions does not matter, a repeated one does.
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
