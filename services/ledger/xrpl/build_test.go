package xrpl_test

import (
	"fmt"
	"testing"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
)

// made builds a ledger of payments: the first half is signed with secp256k1, the second with
// ed25519.
func made(t testing.TB, payments int) *xrpl.Ledger {
	t.Helper()
	l := &xrpl.Ledger{Index: 1000}
	for i := range payments {
		k := signing.NewKey(fmt.Append(nil, "sender", i))
		if i >= payments/2 {
			k = signing.NewKeyEd25519(fmt.Append(nil, "sender", i))
		}
		l.Transactions = append(l.Transactions, payment(t, k, uint32(i)))
	}
	seal(t, l)
	return l
}

func payment(t testing.TB, k *signing.Key, index uint32) xrpl.Transaction {
	t.Helper()
	p := signing.Payment{Destination: xrpl.AccountID{1, 2, 3}, Drops: 1e6, Fee: 10, Sequence: 7, LastLedger: 1010}
	blob, err := p.Sign(k)
	if err != nil {
		t.Fatal(err)
	}
	m := xrpl.Meta{Index: index, Accounts: []xrpl.AccountChange{
		{Account: k.Account(), Before: 7, Sequence: 8, Previous: 5e6, Balance: 4e6 - 10, LastLedger: 999},
		{Account: p.Destination, Created: true, Sequence: 1000, Balance: 1e6},
	}}
	return xrpl.Transaction{Blob: blob, Meta: m.Append(nil)}
}

// seal recomputes the header and the hash from the transactions.
func seal(t testing.TB, l *xrpl.Ledger) {
	t.Helper()
	root, err := xrpl.NewVerifier().Root(l.Transactions)
	if err != nil {
		t.Fatal(err)
	}
	h := xrpl.Header{Index: l.Index, Drops: 1e17, Parent: xrpl.Hash{1}, Transactions: root, State: xrpl.Hash{2}, ParentClose: 10, Close: 20, Resolution: 10}
	l.Header, l.Hash = h.Append(nil), h.Hash()
}

func TestMadeLedgerVerifies(t *testing.T) {
	l, v := made(t, 6), xrpl.NewVerifier()
	if _, err := v.Ledger(l); err != nil {
		t.Error(err)
	}
	for name, check := range signing.Checkers() {
		if n, err := signing.Verify(l, check); n != 6 || err != nil {
			t.Errorf("%s: %d signatures, %v", name, n, err)
		}
	}
	var accounts []string
	err := xrpl.Accounts(l.Transactions[0].Meta, func(id xrpl.AccountID) { accounts = append(accounts, id.String()) })
	t.Log(accounts, err)
}
