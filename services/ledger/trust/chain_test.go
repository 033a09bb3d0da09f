package trust

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
)

// first is the index of the lowest ledger that mint makes.
const first = 100

// mint makes linked ledgers, with two payments each.
func mint(t testing.TB, n int) []*xrpl.Ledger {
	t.Helper()
	var all []*xrpl.Ledger
	for i := range n {
		l := &xrpl.Ledger{Index: first + uint32(i)}
		for place, k := range []*signing.Key{signing.NewKey([]byte("a")), signing.NewKeyEd25519([]byte("b"))} {
			p := signing.Payment{Destination: xrpl.AccountID{7}, Drops: 5, Fee: 10, Sequence: uint32(i + 1)}
			blob, err := p.Sign(k)
			if err != nil {
				t.Fatal(err)
			}
			m := xrpl.Meta{Index: uint32(place), Accounts: []xrpl.AccountChange{{Account: k.Account(), Before: uint32(i + 1), Sequence: uint32(i + 2)}}}
			l.Transactions = append(l.Transactions, xrpl.Transaction{Blob: blob, Meta: m.Append(nil)})
		}
		all = append(all, l)
	}
	relink(t, all, 0)
	return all
}

// relink fixes all hashes, from a ledger on upwards.
func relink(t testing.TB, all []*xrpl.Ledger, from int) {
	t.Helper()
	for i := from; i < len(all); i++ {
		parent := xrpl.Hash{0xff}
		if i > 0 {
			parent = all[i-1].Hash
		}
		seal(t, all[i], parent)
	}
}

// seal fixes a ledger's own hashes.
func seal(t testing.TB, l *xrpl.Ledger, parent xrpl.Hash) {
	t.Helper()
	root, err := xrpl.NewVerifier().Root(l.Transactions)
	if err != nil {
		t.Fatal(err)
	}
	h := xrpl.Header{Index: l.Index, Drops: 1e17, Parent: parent, Transactions: root, State: xrpl.Hash{1}, Close: l.Index, Resolution: 10}
	l.Header, l.Hash = h.Append(nil), h.Hash()
}

func parent(l *xrpl.Ledger) xrpl.Hash {
	h, _ := xrpl.ParseHeader(l.Header)
	return h.Parent
}

// line is an answer in rippled's form.
func line(l *xrpl.Ledger) string { return fmt.Sprintf(`{"status":"success","result":%s}`, bare(l)) }

// bare is the result alone.
func bare(l *xrpl.Ledger) string {
	type tx struct {
		Blob string `json:"tx_blob"`
		Meta string `json:"meta"`
	}
	txs := []tx{}
	for _, t := range l.Transactions {
		txs = append(txs, tx{hex.EncodeToString(t.Blob), hex.EncodeToString(t.Meta)})
	}
	text, _ := json.Marshal(txs)
	return fmt.Sprintf(`{"ledger":{"closed":true,"ledger_data":"%X","transactions":%s},"ledger_hash":"%v","ledger_index":%d,"validated":true}`,
		l.Header, text, l.Hash, l.Index)
}

func file(all []*xrpl.Ledger) string {
	var s strings.Builder
	for _, l := range all {
		s.WriteString(line(l) + "\n")
	}
	return s.String()
}
