package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"dyno/services/ledger/store"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
	"dyno/services/ledger/xrpl/xrpltest"
)

const (
	damagedLedgers = 40
	waiting        = 3 // answers below them that wait for their proof
)

// damageable is a folder with several packs, tables of the index, evidence, and answers that wait
// for their proof.
func damageable(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	chain := xrpltest.Chain(1, 1, damagedLedgers+waiting, 4)
	for part := range 2 { // twice, so that there are files of an earlier process
		s, err := Open(dir, store.Options{Accounts: true, MaxPack: 20 << 10, Pebble: func(o *pebble.Options) { o.MemTableSize = 64 << 10 }})
		if err != nil {
			t.Fatal(err)
		}
		half := chain[waiting+part*damagedLedgers/2:][:damagedLedgers/2]
		for len(half) > 0 {
			if err := s.Append(half[:4], asked); err != nil {
				t.Fatal(err)
			}
			half = half[4:]
		}
		for _, l := range chain[:waiting] {
			if part == 1 && s.Keep("http://liar", copied(l)) == 0 {
				t.Fatal("not kept")
			}
		}
		if err := errors.Join(s.Evidence().Keep(store.WrongAnswer{Server: "http://liar", Ledger: *chain[0]}), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var asked = store.Progress{From: 1, To: damagedLedgers + waiting, Servers: []string{"http://a"}, Level: "L2"}

func copied(l *xrpl.Ledger) *xrpl.Ledger {
	c := *l
	c.Transactions = append([]xrpl.Transaction(nil), l.Transactions...)
	return &c
}

// damages are the ways to damage a file.
var damages = map[string]func(b []byte) []byte{
	"first byte":  func(b []byte) []byte { b[0] ^= 1; return b },
	"middle byte": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
	"last byte":   func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
	"cut tail":    func(b []byte) []byte { return b[:len(b)-min(len(b), 100)] },
	"zeroed page": func(b []byte) []byte { clear(b[len(b)/3 : min(len(b), len(b)/3+4096)]); return b },
	"empty":       func([]byte) []byte { return nil },
	"removed":     nil,
}

// files are all files of a folder, except those of parts/datadir.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); err == nil && !d.IsDir() && rel != "LOCK" && rel != "FORMAT" {
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Whatever happens to a file: a store that opens and reports that it is clean and complete is so,
// one that does not open says what to do, and after a repair the lost ledgers are missing and can
// be stored again. No unproved ledger is returned.
func TestDamageIsFoundAndRepaired(t *testing.T) {
	probe := damageable(t)
	kinds := map[string]bool{}
	for _, name := range files(t, probe) {
		kinds[filepath.Ext(name)] = true
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			t.Parallel()
			for what, damage := range damages {
				damagedAndRepaired(t, probe, name, what, damage)
			}
		})
	}
	if !kinds[".pack"] || !kinds[".sst"] {
		t.Errorf("only %v were damaged", kinds)
	}
}

func damagedAndRepaired(t *testing.T, from, name, what string, damage func([]byte) []byte) {
	chain := xrpltest.Chain(1, 1, damagedLedgers+waiting, 4)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if b, err := os.ReadFile(path); damage == nil {
		err = os.Remove(path)
		if err != nil {
			t.Fatal(err)
		}
	} else if len(b) == 0 {
		return
	} else if err := errors.Join(err, os.WriteFile(path, damage(bytes.Clone(b)), 0o644)); err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("%s, %s", name, what)
	before := listing(t, dir)
	s, err := Open(dir, store.Options{ReadOnly: true})
	if err != nil && !strings.Contains(err.Error(), "check --repair") {
		t.Errorf("%s: does not say what to do: %v", said, err)
	}
	if err == nil {
		report, err := CheckStore(t.Context(), s, trust.L2, nil)
		if err != nil {
			t.Errorf("%s: %v", said, err)
		}
		if missing := unserved(s, chain[waiting:]); report.Clean() && missing > 0 && len(s.Stored().Missing(history.Range{From: waiting + 1, To: asked.To})) == 0 {
			t.Errorf("%s: %d ledgers are missing, and it is clean", said, missing)
		}
		noneServed(t, s, said, chain[:waiting])
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", said, err)
		}
	}
	if after := listing(t, dir); after != before {
		t.Errorf("%s: reading changed it from\n%s to\n%s", said, before, after)
	}
	s, _, err = Repair(dir, store.Options{})
	if err != nil {
		t.Errorf("%s: %v", said, err)
		return
	}
	defer s.Close()
	report, err := CheckStore(t.Context(), s, trust.L2, nil)
	if err != nil || !report.Clean() || s.Progress().Range() != asked.Range() || !s.HasAccounts() {
		t.Errorf("%s: after the repair %+v, %+v, %v", said, report, s.Progress(), err)
	}
	noneServed(t, s, said, chain[:waiting])
	for _, gap := range s.Stored().Missing(asked.Range()) {
		var again []*xrpl.Ledger
		for index := range (history.Set{gap}).Indexes() {
			l := copied(chain[index-1])
			if _, id, ok := s.Take(index, l); ok {
				s.Accept(id)
			}
			again = append(again, l)
		}
		if err := s.Append(again, asked); err != nil {
			t.Errorf("%s: %v", said, err)
		}
	}
	report, err = CheckStore(t.Context(), s, trust.L2, nil)
	if missing := unserved(s, chain); err != nil || !report.Clean() || report.Ledgers != len(chain) || missing > 0 {
		t.Errorf("%s: in the end %+v, %d are missing, %v", said, report, missing, err)
	}
}

// listing summarises the content of a folder's files, except for pebble's lock.
func listing(t *testing.T, dir string) string {
	var text strings.Builder
	for _, name := range files(t, dir) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) != "LOCK" {
			fmt.Fprintln(&text, name, len(b))
		}
	}
	return text.String()
}

// unserved is the number of ledgers that a store lacks, or has with other bytes.
func unserved(s *store.Store, want []*xrpl.Ledger) (n int) {
	for _, w := range want {
		var l xrpl.Ledger
		if s.Ledger(w.Index, &l) != nil || l.Hash != w.Hash || !slices.EqualFunc(l.Transactions, w.Transactions, equal) {
			n++
		}
	}
	return n
}

// noneServed checks that unproved ledgers are neither stored nor found.
func noneServed(t *testing.T, s *store.Store, said string, unproved []*xrpl.Ledger) {
	t.Helper()
	for _, l := range unproved {
		_, byHash := s.ByHash(l.Hash)
		_, byID := s.Transaction(xrpl.TransactionID(l.Transactions[0].Blob))
		if s.Stored().Has(l.Index) || s.Ledger(l.Index, new(xrpl.Ledger)) == nil || byHash == nil || byID == nil {
			t.Errorf("%s: ledger %d is returned and was not proved", said, l.Index)
		}
	}
}

func equal(a, b xrpl.Transaction) bool {
	return bytes.Equal(a.Blob, b.Blob) && bytes.Equal(a.Meta, b.Meta)
}
