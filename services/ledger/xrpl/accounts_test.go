package xrpl_test

import (
	"errors"
	"slices"
	"testing"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
	"dyno/services/ledger/xrpl/xrpltest"
)

func TestAccounts(t *testing.T) {
	sender, issuer, owner, noise := xrpl.AccountID{1}, xrpl.AccountID{3}, xrpl.AccountID{4}, xrpl.AccountID{5}
	limit := append(xrpl.Fields(nil).Open(sfield.HighLimit), slices.Concat([]byte{0x80, 7: 0}, make([]byte, 20), issuer[:])...)
	meta := slices.Concat(
		xrpl.Fields(nil).UInt32(sfield.TransactionIndex, 0).Open(sfield.AffectedNodes).
			Open(sfield.ModifiedNode).UInt16(sfield.LedgerEntryType, 0x72).
			Open(sfield.PreviousFields).Account(sfield.Account, noise).EndObject().
			Open(sfield.FinalFields), limit, xrpl.Fields(nil).Account(sfield.Account, xrpl.AccountID{}).Account(sfield.Account, sender).Open(sfield.Make(sfield.TypeObject, 9)).Account(sfield.Account, noise).EndObject().EndObject().EndObject().
			Open(sfield.DeletedNode).Open(sfield.NewFields).Account(sfield.Account, owner).EndObject().EndObject().
			EndArray().Account(sfield.Account, noise))
	var got []xrpl.AccountID
	if err := xrpl.Accounts(meta, func(id xrpl.AccountID) { got = append(got, id) }); err != nil {
		t.Fatal(err)
	}
	if want := []xrpl.AccountID{issuer, sender, owner}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	if err := xrpl.Accounts(meta[:9], func(xrpl.AccountID) {}); !errors.Is(err, xrpl.ErrMalformed) {
		t.Error(err)
	}
}

// The issuer of a multi-purpose token is affected through the entries that hold it, created,
// changed and removed, and through offers of it.
func TestAccountsOfTokens(t *testing.T) {
	token := func(issuer byte) []byte { return slices.Concat([]byte{0, 0, 1, 2}, []byte{issuer, 19: 0}) }
	holds := func(node, part sfield.ID, issuer byte) []byte {
		return append(append(xrpl.Fields(nil).Open(node).UInt16(sfield.LedgerEntryType, 0x7f).Open(part).Open(sfield.MPTokenIssuanceID), token(issuer)...),
			xrpl.Fields(nil).EndObject().EndObject()...)
	}
	amount := func(id sfield.ID, issuer byte) []byte {
		return slices.Concat(xrpl.Fields(nil).Open(id), []byte{0x60, 8: 7}, token(issuer))
	}
	meta := slices.Concat(
		xrpl.Fields(nil).UInt32(sfield.TransactionIndex, 0).Open(sfield.AffectedNodes),
		holds(sfield.CreatedNode, sfield.NewFields, 2), holds(sfield.ModifiedNode, sfield.FinalFields, 3), holds(sfield.DeletedNode, sfield.FinalFields, 4),
		holds(sfield.ModifiedNode, sfield.PreviousFields, 99),
		xrpl.Fields(nil).Open(sfield.CreatedNode).UInt16(sfield.LedgerEntryType, 0x6f).Open(sfield.NewFields),
		amount(sfield.Balance, 98), amount(sfield.TakerPays, 5), amount(sfield.TakerPays+1, 6), amount(sfield.HighLimit-1, 7),
		xrpl.Fields(nil).Drops(sfield.HighLimit, 97).EndObject().EndObject().EndArray())
	var got []byte
	if err := xrpl.Accounts(meta, func(id xrpl.AccountID) { got = append(got, id[0]) }); err != nil {
		t.Fatal(err)
	}
	if want := []byte{2, 3, 4, 5, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// A payment that failed is not its destination's: only its sender's entry has changed.
func TestAccountsOfFailedPayment(t *testing.T) {
	sender := signing.NewKey([]byte("k")).Account()
	meta := xrpl.Meta{Accounts: []xrpl.AccountChange{{Account: sender, Sequence: 8, Before: 7, Balance: 90, Previous: 100}}}
	var got []xrpl.AccountID
	if err := xrpl.Accounts(meta.Append(nil), func(id xrpl.AccountID) { got = append(got, id) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []xrpl.AccountID{sender}) {
		t.Errorf("%v, not %v", got, sender)
	}
}

func TestSortByIndex(t *testing.T) {
	k := signing.NewKey([]byte("k"))
	var txs []xrpl.Transaction
	for _, i := range []uint32{2, 0, 3, 1} {
		txs = append(txs, payment(t, k, i))
	}
	if err := xrpl.SortByIndex(txs); err != nil {
		t.Fatal(err)
	}
	for i, tx := range txs {
		if at, err := xrpl.TransactionIndex(tx.Meta); int(at) != i || err != nil {
			t.Errorf("at place %d is the one of place %d: %v", i, at, err)
		}
	}
	for _, bad := range []xrpl.Transaction{payment(t, k, 3), {}, {Meta: []byte{1}}} {
		if err := xrpl.SortByIndex(append(txs, bad)); !errors.Is(err, xrpl.ErrMalformed) {
			t.Error(err)
		}
	}
}

// Accounts and TransactionIndex read all real transactions without an error.
func TestRealAccounts(t *testing.T) {
	for _, l := range xrpltest.Ledgers(t) {
		txs := slices.Clone(l.Transactions)
		if err := xrpl.SortByIndex(txs); err != nil {
			t.Errorf("ledger %d: %v", l.Index, err)
		}
		for i, tx := range txs {
			n := 0
			if err := xrpl.Accounts(tx.Meta, func(xrpl.AccountID) { n++ }); err != nil {
				t.Errorf("ledger %d, place %d: %v", l.Index, i, err)
			}
			if at, _ := xrpl.TransactionIndex(tx.Meta); int(at) != i {
				t.Errorf("ledger %d: place %d is missing", l.Index, i)
			}
		}
	}
}
