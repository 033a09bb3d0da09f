package store

import (
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"dyno/services/ledger/store/index"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"
)

// Pages in either direction equal a scan of all ledgers.
func TestAccountTransactions(t *testing.T) {
	chain := xrpltest.Chain(1, 101, 30, 40)
	s := mustOpen(t, vfs.NewMem(), Options{Accounts: true})
	mustAppend(t, s, chain...)
	all := placesOf(t, chain)
	if len(all) < 100 {
		t.Fatalf("only %d accounts are touched", len(all))
	}
	rapid.Check(t, func(rt *rapid.T) {
		account := xrpl.AccountID(xrpltest.Account(rapid.IntRange(0, 205).Draw(rt, "account")))
		from, to := rapid.Uint32Range(95, 135).Draw(rt, "from"), rapid.Uint32Range(95, 135).Draw(rt, "to")
		forward := rapid.Bool().Draw(rt, "forward")
		var want []index.Place
		for _, p := range all[account] {
			if from <= p.Index && p.Index <= to {
				want = append(want, p)
			}
		}
		if !forward {
			slices.Reverse(want)
		}
		var got []index.Place
		for marker := (*index.Place)(nil); ; {
			limit := rapid.IntRange(1, 7).Draw(rt, "limit")
			page, next, err := s.AccountTransactions(account, from, to, marker, limit, forward)
			if err != nil || len(page) > limit || next != nil && len(page) < limit {
				rt.Fatalf("a page of %d has %d, next %v, %v", limit, len(page), next, err)
			}
			got = append(got, page...)
			if marker = next; next == nil {
				break
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
	})
}
