package store

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"dyno/parts/xrpl"
	"dyno/services/ledger/store/flat"
	"dyno/services/ledger/store/storetest"
)

// Pages in either direction equal a scan of all ledgers.
func TestAccountTransactions(t *testing.T) {
	chain := storetest.Chain(1, 101, 30, 40)
	s := mustOpen(t, vfs.NewMem(), Options{Accounts: "on"})
	mustAppend(t, s, chain...)
	all := placesOf(t, chain)
	if len(all) < 100 {
		t.Fatalf("only %d accounts are touched", len(all))
	}
	rapid.Check(t, func(rt *rapid.T) {
		account := xrpl.AccountID(storetest.Account(rapid.IntRange(0, 205).Draw(rt, "account")))
		from, to := rapid.Uint32Range(95, 135).Draw(rt, "from"), rapid.Uint32Range(95, 135).Draw(rt, "to")
		forward := rapid.Bool().Draw(rt, "forward")
		var want []Place
		for _, p := range all[account] {
			if from <= p.Index && p.Index <= to {
				want = append(want, p)
			}
		}
		if !forward {
			slices.Reverse(want)
		}
		var got []Place
		for marker := (*Place)(nil); ; {
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

func FuzzParsePlaces(f *testing.F) {
	f.Add([]byte{0, 3, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		positions, err := parsePlaces(b)
		if err == nil && !slices.IsSorted(positions) {
			t.Fatal(positions)
		}
	})
}

// A damaged record is an error or another record, and never a panic.
func FuzzParseRecords(f *testing.F) {
	s := mustOpen(f, vfs.NewMem(), Options{})
	chain := storetest.Chain(1, 5, 1, 3)
	for _, s.encoding = range []byte{encodingRaw, encodingZstd, encodingS2} {
		f.Add(s.frameLedger(nil, "http://a", chain[0].Hash, chain[0], new(scratch))[flat.HeaderSize:])
	}
	said, err := frameProved(proved{"on", Progress{From: 5}}, []entry{{5, chain[0].Hash, flat.Ref{File: 1, Offset: 2, Size: 3}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(said[flat.HeaderSize:])
	f.Fuzz(func(t *testing.T, value []byte) {
		if len(value) > 0 && value[0] == recordProved {
			_, entries, err := parseProved(value)
			if err != nil && !errors.Is(err, flat.ErrDamaged) || len(entries) > len(value)/entrySize {
				t.Fatal(entries, err)
			}
		}
		_, r, err := parseLedger(value)
		if err != nil {
			return
		}
		var l xrpl.Ledger
		if err := s.into(r, &l); err != nil {
			if !errors.Is(err, flat.ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if len(l.Header) != xrpl.HeaderSize || len(l.Transactions) != r.transactions {
			t.Fatalf("%d bytes of header, %d of %d transactions", len(l.Header), len(l.Transactions), r.transactions)
		}
	})
}
