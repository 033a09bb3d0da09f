package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/store/index"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"
)

// placesOf are the places of each account's transactions.
func placesOf(t *testing.T, chain []*xrpl.Ledger) map[xrpl.AccountID][]index.Place {
	t.Helper()
	all := map[xrpl.AccountID][]index.Place{}
	for _, l := range chain {
		for i, tx := range l.Transactions {
			err := xrpl.Accounts(tx.Meta, func(a xrpl.AccountID) {
				if p := (index.Place{Index: l.Index, Position: i}); !slices.Contains(all[a], p) {
					all[a] = append(all[a], p)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// indexes checks that a store's index by account has all ledgers that it claims, and refuses the
// rest.
func indexes(t *testing.T, s *Store, all map[xrpl.AccountID][]index.Place) {
	t.Helper()
	if _, _, err := s.AccountTransactions(xrpl.AccountID{}, 1, 1000, nil, 1, true); errors.Is(err, ErrLacking) != (s.Lacking() > 0) {
		t.Errorf("it lacks %d: %v", s.Lacking(), err)
	}
	indexed := s.Indexed()
	for account, places := range all {
		want := slices.DeleteFunc(slices.Clone(places), func(p index.Place) bool { return !indexed.Has(p.Index) })
		var got []index.Place
		for _, r := range indexed {
			places, _, err := s.AccountTransactions(account, r.From, r.To, nil, 10_000, true)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, places...)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("of ledgers %v account %v has %v, want %v", indexed, account, got, want)
		}
	}
}

// An index by account can be switched on for stored ledgers: after any crash it stays on, later
// ledgers are in it, its claims are true, and in the end it is complete. A lost index is rebuilt.
func TestAccountsLater(t *testing.T) {
	const ledgers = 120
	chain := xrpltest.Chain(1, 101, ledgers+2, 40)
	disk := vfs.NewCrashableMem()
	s := mustOpen(t, disk, Options{})
	mustAppend(t, s, chain[:ledgers/2]...)
	mustAppend(t, s, chain[ledgers/2+1:ledgers]...) // with a gap
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// Small tables, so that pebble writes some in between.
	s = mustOpen(t, disk, Options{Accounts: true, Pebble: func(o *pebble.Options) { o.MemTableSize = 64 << 10 }})
	if s.Lacking() != ledgers-1 || len(s.Indexed()) != 0 {
		t.Errorf("it lacks %d, has %v", s.Lacking(), s.Indexed())
	}
	mustAppend(t, s, chain[ledgers])
	clone := func(n uint64) vfs.FS { return disk.CrashClone(vfs.CrashCloneCfg{RNG: rand.New(rand.NewPCG(n, 1))}) }
	states := []vfs.FS{clone(0)}
	for s.Lacking() > 0 { // batch by batch, as IndexAccounts does
		lacking := s.durable.Load().lacking
		if _, bad, err := s.indexSome(lacking[len(lacking)-1]); bad != nil || err != nil {
			t.Fatal(bad, err)
		}
		states = append(states, clone(uint64(len(states))))
	}
	if len(states) < 5 {
		t.Fatalf("it was done in %d batches", len(states)-1)
	}
	all := placesOf(t, chain)
	for i, fs := range states {
		for _, lost := range []bool{false, true} {
			if lost {
				if err := fs.RemoveAll("data/" + IndexFolder); err != nil {
					t.Fatal(err)
				}
			}
			s := mustOpen(t, fs, Options{ReadOnly: lost})
			if !s.accounts || lost && s.Lacking() != ledgers-1 || !lost && i >= 2 && s.Lacking() > ledgers-20 {
				t.Errorf("state %d, index lost: %v: it lacks %d", i, lost, s.Lacking())
			}
			indexes(t, s, all)
			if lost {
				continue
			}
			if err := s.IndexAccounts(t.Context()); err != nil || s.Lacking() != 0 {
				t.Errorf("%v, it lacks %d", err, s.Lacking())
			}
			mustAppend(t, s, chain[ledgers+1])
			indexes(t, s, all)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if i == 2 {
			break // the rest is alike
		}
	}
}

// An unreadable ledger is left out of the index by account, and the rest is in it; a cancelled
// context ends it.
func TestAccountsOfDamagedLedger(t *testing.T) {
	dir := t.TempDir()
	open := func(o Options) *Store {
		t.Helper()
		s, err := Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open(Options{})
	chain := xrpltest.Chain(1, 101, 9, 4)
	mustAppend(t, s, chain...)
	x, _, err := s.index.Ledger(105)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := scratched(dir, PacksFolder, "*.pack", int64(x.Ref.Offset)+100); err != nil {
		t.Fatal(err)
	}
	s = open(Options{Accounts: true})
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.IndexAccounts(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	err = s.IndexAccounts(t.Context())
	if fmt.Sprint(s.Indexed()) != "101-104,106-109" || err == nil {
		t.Errorf("it has %v, %v", s.Indexed(), err)
	}
}

// scratched overwrites some bytes of a file.
func scratched(dir, folder, name string, at int64) error {
	found, err := filepath.Glob(filepath.Join(dir, folder, name))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%s: %v, %w", name, found, err)
	}
	f, err := os.OpenFile(found[0], os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte("damaged"), at)
	return errors.Join(err, f.Close())
}
