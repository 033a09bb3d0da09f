package store

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	ix "dyno/services/ledger/store/index"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
	"dyno/services/ledger/xrpl/xrpltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustOpen(t testing.TB, fs vfs.FS, o Options) *Store {
	t.Helper()
	o.FS = fs
	s, err := Open("data", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustAppend(t testing.TB, s *Store, ledgers ...*xrpl.Ledger) {
	t.Helper()
	if err := s.Append(ledgers, Progress{From: 1, To: 1000}); err != nil {
		t.Fatal(err)
	}
}

// holds checks that a store has exactly these ledgers, byte for byte and in all its indexes.
func holds(t testing.TB, s *Store, want map[uint32]*xrpl.Ledger) {
	t.Helper()
	if n := s.Stored().Len(); n != len(want) {
		t.Fatalf("%d ledgers are stored (%v), want %d", n, s.Stored(), len(want))
	}
	for index, w := range want {
		var l xrpl.Ledger
		if err := s.Ledger(index, &l); err != nil {
			t.Fatal(err)
		}
		if !same(&l, w) || l.Hash != w.Hash || !s.Stored().Has(index) {
			t.Fatalf("ledger %d differs from the stored one", index)
		}
		if at, err := s.ByHash(w.Hash); err != nil || at != index {
			t.Fatalf("by its hash, ledger %d is %d, %v", index, at, err)
		}
		if h, hash, err := s.Header(index); err != nil || h.Index != index || hash != w.Hash {
			t.Fatalf("header of ledger %d: %v, %v, %v", index, h, hash, err)
		}
		for i, tx := range w.Transactions {
			if p, err := s.Transaction(xrpl.TransactionID(tx.Blob)); err != nil || p != (ix.Place{Index: index, Position: i}) {
				t.Fatalf("transaction %d of ledger %d is at %v, %v", i, index, p, err)
			}
		}
	}
}

// Stored ledgers are read back, whatever is stored again, in any order and encoding, and after
// every reopening.
func TestModel(t *testing.T) {
	chain := xrpltest.Chain(1, 101, 40, 3)
	rapid.Check(t, func(rt *rapid.T) {
		disk := vfs.NewMem()
		open := func() *Store {
			return mustOpen(t, disk, Options{Compression: rapid.SampledFrom([]string{"none", "s2"}).Draw(rt, "compression")})
		}
		s := open()
		want := map[uint32]*xrpl.Ledger{}
		progress := Progress{}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				progress = Progress{From: rapid.Uint32().Draw(rt, "from"), Servers: []string{"http://a"}}
				var ledgers []*xrpl.Ledger
				for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(chain)-1), 0, 8).Draw(rt, "ledgers") {
					ledgers = append(ledgers, chain[i])
					want[chain[i].Index] = chain[i]
				}
				if err := s.Append(ledgers, progress); err != nil {
					rt.Fatal(err)
				}
			},
			"reopen": func(rt *rapid.T) {
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				s = open()
			},
			"": func(rt *rapid.T) {
				holds(t, s, want)
				if p := s.Progress(); p.From != progress.From || len(p.Servers) != len(progress.Servers) {
					rt.Fatalf("progress is %v, want %v", p, progress)
				}
			},
		})
		if err := s.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

func TestTransactionsAreSorted(t *testing.T) {
	s := mustOpen(t, vfs.NewMem(), Options{})
	want := xrpltest.Chain(1, 5, 1, 4)[0]
	given := *want
	given.Transactions = []xrpl.Transaction{want.Transactions[2], want.Transactions[0], want.Transactions[3], want.Transactions[1]}
	mustAppend(t, s, &given)
	holds(t, s, map[uint32]*xrpl.Ledger{5: want})
}

func TestRefusals(t *testing.T) {
	chain := xrpltest.Chain(1, 5, 3, 2)
	other := xrpltest.Chain(2, 6, 1, 2)[0] // another ledger of the same index
	forged := *chain[0]
	forged.Hash[3]++
	shifted := *chain[0]
	shifted.Index++
	short := *chain[0]
	short.Header = short.Header[1:]
	twice := *chain[2]
	twice.Transactions = append(twice.Transactions[:1:1], twice.Transactions[0])
	s := mustOpen(t, vfs.NewMem(), Options{})
	mustAppend(t, s, chain[1])
	for name, test := range map[string]struct {
		ledgers []*xrpl.Ledger
		want    error
	}{
		"other bytes":              {[]*xrpl.Ledger{chain[0], other}, ErrConflict},
		"other bytes in one batch": {[]*xrpl.Ledger{chain[2], xrpltest.Chain(2, 7, 1, 2)[0]}, ErrConflict},
		"wrong hash":               {[]*xrpl.Ledger{&forged}, xrpl.ErrHash},
		"wrong index":              {[]*xrpl.Ledger{chain[2], &shifted}, xrpl.ErrIndex},
		"short header":             {[]*xrpl.Ledger{&short}, xrpl.ErrMalformed},
		"a place taken twice":      {[]*xrpl.Ledger{&twice}, xrpl.ErrMalformed},
	} {
		if err := s.Append(test.ledgers, Progress{}); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	holds(t, s, map[uint32]*xrpl.Ledger{6: chain[1]})
	if err := s.Ledger(5, new(xrpl.Ledger)); !errors.Is(err, ErrMissing) {
		t.Errorf("a ledger that is not stored: %v", err)
	}
	if _, err := s.Transaction(xrpl.Hash{1}); !errors.Is(err, ErrMissing) {
		t.Errorf("a transaction that is not stored: %v", err)
	}
	if _, err := s.ByHash(xrpl.Hash{1}); !errors.Is(err, ErrMissing) {
		t.Errorf("a hash that is not stored: %v", err)
	}
	if _, _, err := s.AccountTransactions(xrpl.AccountID{}, 1, 9, nil, 1, true); !errors.Is(err, ErrNoAccounts) {
		t.Errorf("by account without an index: %v", err)
	}
}

// A ledger that cannot be proved is not stored.
func TestTooManyTransactions(t *testing.T) {
	l := *xrpltest.Chain(1, 5, 1, 0)[0]
	l.Transactions = make([]xrpl.Transaction, xrpl.MaxTransactions+1)
	err := mustOpen(t, vfs.NewMem(), Options{}).Append([]*xrpl.Ledger{&l}, Progress{})
	if err == nil || !strings.Contains(err.Error(), "it has 20001 transactions, more than 20000") {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	fresh := func(change func(*pebble.Batch) error) func(*testing.T) vfs.FS {
		return func(t *testing.T) vfs.FS {
			disk := vfs.NewMem()
			s := mustOpen(t, disk, Options{})
			b := s.index.Batch(0)
			if err := errors.Join(change(b), s.index.Apply(b), s.Close()); err != nil {
				t.Fatal(err)
			}
			return disk
		}
	}
	set := func(key, value string) func(*pebble.Batch) error {
		return func(b *pebble.Batch) error { return b.Set([]byte(key), []byte(value), nil) }
	}
	for name, test := range map[string]struct {
		disk func(*testing.T) vfs.FS
		o    Options
		want string
	}{
		"foreign": {fresh(func(b *pebble.Batch) error {
			return errors.Join(set("zebra", "")(b), b.Delete(ix.MetaKey("format"), nil))
		}), Options{}, "another program's"},
		"damaged set":      {fresh(set("m/stored", "7-3")), Options{}, "damaged"},
		"damaged progress": {fresh(func(b *pebble.Batch) error { return errors.Join(set("m/stored", "3")(b), set("m/progress", "{")(b)) }), Options{}, "damaged"},
		"damaged lacking":  {fresh(func(b *pebble.Batch) error { return errors.Join(set("m/stored", "3")(b), set("m/lacking", "7-3")(b)) }), Options{}, "lacks is damaged"},
		"accounts to come": {fresh(func(*pebble.Batch) error { return nil }), Options{Accounts: true, ReadOnly: true}, "no index by account"},
		"unknown codec":    {fresh(func(*pebble.Batch) error { return nil }), Options{Compression: "lzw"}, "want none or s2"},
		"missing":          {func(*testing.T) vfs.FS { return vfs.NewMem() }, Options{ReadOnly: true}, "there is none"},
	} {
		t.Run(name, func(t *testing.T) {
			test.o.FS = test.disk(t)
			if s, err := Open("data", test.o); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("opened: %v, %v; want %q", s, err, test.want)
			}
		})
	}
}

// Ledgers that an earlier version wrote with zstd are read, and others are stored beside them.
func TestLedgersInZstd(t *testing.T) {
	written, err := os.ReadFile("testdata/zstd.pack")
	if err != nil {
		t.Fatal(err)
	}
	disk := vfs.NewMem()
	if err := disk.MkdirAll("data/"+PacksFolder, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := disk.Create("data/"+PacksFolder+"/000001-d11fef1b9618eb61.pack", vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(written)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	want := map[uint32]*xrpl.Ledger{}
	for _, l := range xrpltest.Chain(1, 5, 3, 2) {
		want[l.Index] = l
	}
	for _, compression := range []string{"none", "s2"} {
		s := mustOpen(t, disk, Options{Compression: compression})
		holds(t, s, want)
		l := xrpltest.Chain(1, uint32(100+len(want)), 1, 2)[0]
		want[l.Index] = l
		mustAppend(t, s, l)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, mustOpen(t, disk, Options{ReadOnly: true}), want)
}

func TestLockedFolder(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "has it open") {
		t.Fatalf("opened twice: %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	disk := vfs.NewMem()
	chain := xrpltest.Chain(1, 5, 3, 2)
	s := mustOpen(t, disk, Options{Accounts: true})
	mustAppend(t, s, chain...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, disk, Options{ReadOnly: true})
	if got := s.Stored(); got.String() != (history.Set{{From: 5, To: 7}}).String() || !s.accounts {
		t.Fatalf("stored are %v, accounts %v", got, s.accounts)
	}
	if err := s.Append(chain, Progress{}); !errors.Is(err, errReadOnly) {
		t.Fatalf("written: %v", err)
	}
	if err := s.Evidence().Keep(WrongAnswer{}); err == nil || !strings.Contains(err.Error(), "for reading only") {
		t.Fatalf("written: %v", err)
	}
}

func TestClosed(t *testing.T) {
	s := mustOpen(t, vfs.NewMem(), Options{})
	chain := xrpltest.Chain(1, 5, 1, 2)
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Append": s.Append(chain, Progress{}), "Ledger": s.Ledger(5, new(xrpl.Ledger)),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}
