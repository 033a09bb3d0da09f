package folder

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/store"
	"dyno/services/ledger/store/flat"
	"dyno/services/ledger/store/index"
	"dyno/services/ledger/store/record"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"
)

func mustOpen(t testing.TB, fs vfs.FS, o store.Options) *store.Store {
	t.Helper()
	o.FS = fs
	s, err := store.Open("data", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func filled(t *testing.T, disk vfs.FS) (*store.Store, []*xrpl.Ledger) {
	t.Helper()
	s := mustOpen(t, disk, store.Options{Accounts: true})
	chain := xrpltest.Chain(1, 101, 200, 3)
	if err := s.Append(append(chain[:50:50], chain[60:]...), store.Progress{From: 95, To: 300}); err != nil {
		t.Fatal(err)
	}
	return s, chain
}

func TestCheckClean(t *testing.T) {
	s, _ := filled(t, vfs.NewMem())
	said := 0
	report, err := CheckStore(t.Context(), s, trust.L2, func(done, total int) {
		if said++; total != 190 || done != said {
			t.Errorf("%d of %d after %d", done, total, said)
		}
	})
	if err != nil || !report.Clean() || report.Ledgers != 190 || report.Transactions != 570 || report.Links != 188 || said != 190 {
		t.Fatalf("%+v, %v", report, err)
	}
	if got := strings.Join(report.Gaps, " "); got != "95-100 151-160" {
		t.Fatalf("gaps are %s", got)
	}
}

// A check that is interrupted after its last ledger has not looked at the indexes, and must not
// report them as clean.
func TestCheckIsInterruptedBeforeTheIndexes(t *testing.T) {
	s, _ := filled(t, vfs.NewMem())
	ctx, cancel := context.WithCancel(t.Context())
	report, err := CheckStore(ctx, s, trust.L2, func(done, total int) {
		if done == total {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestSampleIsReported(t *testing.T) {
	s := mustOpen(t, vfs.NewMem(), store.Options{})
	if err := s.Append(xrpltest.Chain(1, 5, 2, 1), store.Progress{From: 5, To: 6, Level: "L4", Sample: 10}); err != nil {
		t.Fatal(err)
	}
	report, err := CheckStore(t.Context(), s, trust.L1, nil)
	if want := "L4 with the signatures of one ledger in 10"; err != nil || report.Synced != want {
		t.Errorf("%q, %v, not %q", report.Synced, err, want)
	}
}

func TestCheckWithoutAnything(t *testing.T) {
	s := mustOpen(t, vfs.NewMem(), store.Options{})
	report, err := CheckStore(t.Context(), s, trust.L4, nil)
	if err != nil || !report.Clean() || report.Ledgers != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	text, err := json.Marshal(report)
	if want := `{"ledgers":0,"transactions":0,"signatures":0,"links":0,"gaps":[],"failed":[],"marked":[]}`; err != nil || string(text) != want {
		t.Fatalf("%s, want %s", text, want)
	}
}

// Every damage is found, with the ledger's index if it concerns one.
func TestCheckFindsDamage(t *testing.T) {
	ledger := func(number uint32, change func(l *xrpl.Ledger)) func(*testing.T, vfs.FS) {
		return func(t *testing.T, disk vfs.FS) { rewritten(t, disk, number, change) }
	}
	changed := func(change func(b *pebble.Batch) error) func(*testing.T, vfs.FS) {
		return func(t *testing.T, disk vfs.FS) {
			reindexed(t, disk, change)
		}
	}
	remove := func(key []byte) func(*testing.T, vfs.FS) {
		return changed(func(b *pebble.Batch) error { return b.Delete(key, nil) })
	}
	set := func(key []byte, value ...byte) func(*testing.T, vfs.FS) {
		return changed(func(b *pebble.Batch) error { return b.Set(key, value, nil) })
	}
	ledgerKey := func(number byte) []byte { return []byte{'l', 0, 0, 0, number} }
	hashKey := func(h xrpl.Hash) []byte { return append([]byte{'h'}, h[:]...) }
	transactionKey := func(h xrpl.Hash) []byte { return append([]byte{'t'}, h[:]...) }
	accountKey := func(a xrpl.AccountID, number byte) []byte {
		return append(append([]byte{'a'}, a[:]...), 0, 0, 0, number)
	}
	chain := xrpltest.Chain(1, 101, 200, 3)
	id := xrpl.TransactionID(chain[9].Transactions[1].Blob)
	for name, test := range map[string]struct {
		damage func(*testing.T, vfs.FS)
		index  uint32
		want   string
	}{
		"a flipped bit":      {ledger(110, func(l *xrpl.Ledger) { l.Transactions[1].Meta[50] ^= 4 }), 110, "wrong transaction tree"},
		"a transaction less": {ledger(110, func(l *xrpl.Ledger) { l.Transactions = l.Transactions[:2] }), 110, "wrong transaction tree"},
		"another header":     {ledger(110, func(l *xrpl.Ledger) { l.Header[40] ^= 1 }), 110, "wrong ledger hash"},
		"a re-linked ledger": {ledger(110, func(l *xrpl.Ledger) {
			h, _ := xrpl.ParseHeader(l.Header)
			h.Parent[0]++
			l.Header, l.Hash = h.Append(nil), h.Hash()
		}), 110, "its parent is"},
		"a ledger less":      {remove(ledgerKey(110)), 110, "not there"},
		"a ledger more":      {set(ledgerKey(155)), 0, "191 ledgers"},
		"half a ledger":      {set(ledgerKey(110), 0, 1, 2), 110, "damaged"},
		"no hash":            {remove(hashKey(chain[9].Hash)), 110, "by its hash"},
		"a hash more":        {set(hashKey(xrpl.Hash{1}), 0, 0, 0, 110), 0, "191 hashes"},
		"no transaction":     {remove(transactionKey(id)), 110, "by its id"},
		"a place elsewhere":  {set(transactionKey(id), 0, 0, 0, 111, 1), 110, "by its id"},
		"a damaged place":    {set(transactionKey(id), 1), 110, "no place"},
		"a transaction more": {set(transactionKey(xrpl.Hash{1}), 0, 0, 0, 111, 1), 0, "571 transactions"},
		"an account more":    {set(accountKey(xrpl.AccountID{1}, 110), 0), 0, "by account"},
		"other places":       {set(accountKey(accountOf(t, chain[9]), 110), 99), 110, "by account"},
		"another's hash":     {set(hashKey(chain[9].Hash), 0, 0, 0, 111), 110, "one finds ledger 111"},
		"a damaged hash":     {set(hashKey(chain[9].Hash), 1), 110, "by its hash"},
	} {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewMem()
			s, _ := filled(t, disk)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			test.damage(t, disk)
			s = mustOpen(t, disk, store.Options{})
			report, err := CheckStore(t.Context(), s, trust.L2, nil)
			if err != nil || report.Clean() {
				t.Fatalf("%+v, %v", report, err)
			}
			for _, f := range report.Failed {
				if strings.Contains(f.Reason, "%!") || strings.Contains(f.Reason, "<nil>") {
					t.Errorf("%q is not for people", f.Reason)
				}
				if f.LedgerIndex == test.index && strings.Contains(f.Reason, test.want) {
					return
				}
			}
			t.Errorf("want %d: %s; got %+v", test.index, test.want, report.Failed)
		})
	}
}

// reindexed changes the index of a store that is closed.
func reindexed(t *testing.T, disk vfs.FS, change func(b *pebble.Batch) error) {
	t.Helper()
	db, err := index.Open("data/index", index.Options{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	b := db.Batch(0)
	if err := errors.Join(change(b), db.Apply(b), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// rewritten replaces a ledger of a store that is closed.
func rewritten(t *testing.T, disk vfs.FS, number uint32, change func(l *xrpl.Ledger)) {
	t.Helper()
	s := mustOpen(t, disk, store.Options{ReadOnly: true})
	var l xrpl.Ledger
	if err := errors.Join(s.Ledger(number, &l), s.Close()); err != nil {
		t.Fatal(err)
	}
	change(&l)
	codec, err := record.NewCodec("")
	if err != nil {
		t.Fatal(err)
	}
	defer codec.Close()
	packs, err := flat.Open("data/packs", flat.Options{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := packs.Append(codec.FrameLedger(nil, "", l.Hash, &l, new([]byte)))
	if err := errors.Join(err, packs.Close()); err != nil {
		t.Fatal(err)
	}
	reindexed(t, disk, func(b *pebble.Batch) error {
		return index.SetLedger(b, record.Entry{Index: number, Hash: l.Hash, Ref: ref}, l.Header)
	})
}

func accountOf(t *testing.T, l *xrpl.Ledger) (account xrpl.AccountID) {
	t.Helper()
	if err := xrpl.Accounts(l.Transactions[0].Meta, func(a xrpl.AccountID) { account = a }); err != nil {
		t.Fatal(err)
	}
	return account
}

// The ledgers are unsigned, so L4 reports each of them.
func TestCheckSignatures(t *testing.T) {
	s, _ := filled(t, vfs.NewMem())
	report, err := CheckStore(t.Context(), s, trust.L4, nil)
	if err != nil || len(report.Failed) != 190 || !strings.Contains(report.Failed[0].Reason, "signature") {
		t.Fatalf("%+v, %v", report.Failed[:min(1, len(report.Failed))], err)
	}
}

// A transaction in several ledgers, as simulators repeat them, is found in one of them, and that is
// no failure.
func TestCheckOfRepeatedTransactions(t *testing.T) {
	s := mustOpen(t, vfs.NewMem(), store.Options{Accounts: true})
	chain := xrpltest.Chain(1, 100, 4, 3)
	parent := chain[0].Hash
	for _, l := range chain[1:] {
		l.Transactions = chain[0].Transactions
		h, err := xrpl.ParseHeader(l.Header)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := xrpl.ParseHeader(chain[0].Header)
		h.Transactions, h.Parent = first.Transactions, parent
		l.Header, l.Hash = h.Append(nil), h.Hash()
		parent = l.Hash
	}
	if err := s.Append(chain, store.Progress{From: 1, To: 1000}); err != nil {
		t.Fatal(err)
	}
	report, err := CheckStore(t.Context(), s, trust.L2, nil)
	if err != nil || !report.Clean() || report.Ledgers != 4 || report.Transactions != 12 || report.Links != 3 {
		t.Errorf("%+v, %v", report, err)
	}
}

// While the index by account is made for ledgers that were stored without, it is checked as far as
// it is made.
func TestCheckOfAccountsLater(t *testing.T) {
	disk := vfs.NewMem()
	chain := xrpltest.Chain(1, 101, 30, 3)
	s := mustOpen(t, disk, store.Options{})
	if err := errors.Join(s.Append(chain[:29], store.Progress{From: 101, To: 130}), s.Close()); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, disk, store.Options{Accounts: true})
	if err := s.Append(chain[29:], s.Progress()); err != nil {
		t.Fatal(err)
	}
	for _, lacking := range []int{29, 0} {
		if report, err := CheckStore(t.Context(), s, trust.L2, nil); err != nil || !report.Clean() || s.Lacking() != lacking {
			t.Errorf("%d are lacking: %+v, %v", s.Lacking(), report, err)
		}
		if err := s.IndexAccounts(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
