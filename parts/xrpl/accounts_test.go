package xrpl

import (
	"errors"
	"slices"
	"testing"
)

func TestAccounts(t *testing.T) {
	sender, receiver, issuer, owner, noise := AccountID{1}, AccountID{2}, AccountID{3}, AccountID{4}, AccountID{5}
	blob := Fields(nil).UInt16(codeTransactionType, kindPayment).Account(codeAccount, sender).Account(codeDestination, receiver).
		Array(codeMemos).Object(codeMemo).Account(codeAccount, noise).EndObject().EndArray()
	limit := append(Fields(nil).header(typeAmount, codeLowLimit), slices.Concat([]byte{0x80, 7: 0}, make([]byte, currencySize), issuer[:])...)
	meta := slices.Concat(
		Fields(nil).UInt32(codeTransactionIndex, 0).Array(codeAffectedNodes).
			Object(codeModifiedNode).UInt16(codeLedgerEntryType, 0x72).
			Object(codePreviousFields).Account(codeAccount, noise).EndObject().
			Object(codeFinalFields), limit, Fields(nil).Account(codeAccount, AccountID{}).Object(9).Account(codeAccount, noise).EndObject().EndObject().EndObject().
			Object(codeDeletedNode).Object(codeNewFields).Account(codeAccount, owner).EndObject().EndObject().
			EndArray().Account(codeAccount, noise))
	var got []AccountID
	if err := Accounts(blob, meta, func(id AccountID) { got = append(got, id) }); err != nil {
		t.Fatal(err)
	}
	if want := []AccountID{sender, receiver, issuer, owner}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	for _, bad := range [][2][]byte{{blob[:9], meta}, {blob, meta[:9]}} {
		if err := Accounts(bad[0], bad[1], func(AccountID) {}); !errors.Is(err, ErrMalformed) {
			t.Error(err)
		}
	}
}

func TestSortByIndex(t *testing.T) {
	k := NewKey([]byte("k"))
	var txs []Transaction
	for _, i := range []uint32{2, 0, 3, 1} {
		txs = append(txs, payment(t, k, i))
	}
	if err := SortByIndex(txs); err != nil {
		t.Fatal(err)
	}
	for i, tx := range txs {
		if at, err := TransactionIndex(tx.Meta); int(at) != i || err != nil {
			t.Errorf("at place %d is the one of place %d: %v", i, at, err)
		}
	}
	for _, bad := range []Transaction{payment(t, k, 3), {}, {Meta: []byte{1}}} {
		if err := SortByIndex(append(txs, bad)); !errors.Is(err, ErrMalformed) {
			t.Error(err)
		}
	}
}

// Accounts and TransactionIndex read all real transactions without an error.
func TestRealAccounts(t *testing.T) {
	for _, l := range real(t) {
		txs := slices.Clone(l.Transactions)
		if err := SortByIndex(txs); err != nil {
			t.Errorf("ledger %d: %v", l.Index, err)
		}
		for i, tx := range txs {
			n := 0
			if err := Accounts(tx.Blob, tx.Meta, func(AccountID) { n++ }); err != nil {
				t.Errorf("ledger %d, place %d: %v", l.Index, i, err)
			}
			if at, _ := TransactionIndex(tx.Meta); int(at) != i {
				t.Errorf("ledger %d: place %d is missing", l.Index, i)
			}
		}
	}
}
