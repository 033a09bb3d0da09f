package xrpl

import (
	"fmt"
	"testing"
)

// made builds a ledger of payments: the first half is signed with secp256k1, the second with
// ed25519.
func made(t testing.TB, payments int) *Ledger {
	t.Helper()
	l := &Ledger{Index: 1000}
	for i := range payments {
		k := NewKey(fmt.Append(nil, "sender", i))
		if i >= payments/2 {
			k = NewKeyEd25519(fmt.Append(nil, "sender", i))
		}
		l.Transactions = append(l.Transactions, payment(t, k, uint32(i)))
	}
	seal(t, l)
	return l
}

func payment(t testing.TB, k *Key, index uint32) Transaction {
	t.Helper()
	p := Payment{Destination: AccountID{1, 2, 3}, Drops: 1e6, Fee: 10, Sequence: 7, LastLedger: 1010}
	blob, err := p.Sign(k)
	if err != nil {
		t.Fatal(err)
	}
	m := Meta{Index: index, Accounts: []AccountChange{
		{Account: k.Account(), Before: 7, Sequence: 8, Previous: 5e6, Balance: 4e6 - 10, LastLedger: 999},
		{Account: p.Destination, Created: true, Sequence: 1000, Balance: 1e6},
	}}
	return Transaction{Blob: blob, Meta: m.Append(nil)}
}

// seal recomputes the header and the hash from the transactions.
func seal(t testing.TB, l *Ledger) {
	t.Helper()
	root, err := NewVerifier().Root(l.Transactions)
	if err != nil {
		t.Fatal(err)
	}
	h := Header{Index: l.Index, Drops: 1e17, Parent: Hash{1}, Transactions: root, State: Hash{2}, ParentClose: 10, Close: 20, Resolution: 10}
	l.Header, l.Hash = h.Append(nil), h.Hash()
}

func TestMadeLedgerVerifies(t *testing.T) {
	l, v := made(t, 6), NewVerifier()
	if _, err := v.Ledger(l); err != nil {
		t.Error(err)
	}
	for name, check := range Checkers() {
		if n, err := v.Signatures(l, check); n != 6 || err != nil {
			t.Errorf("%s: %d signatures, %v", name, n, err)
		}
	}
	var accounts []string
	err := Accounts(l.Transactions[0].Blob, l.Transactions[0].Meta, func(id AccountID) { accounts = append(accounts, id.String()) })
	t.Log(accounts, err)
}
