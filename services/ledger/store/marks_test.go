package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/history"
	"dyno/services/ledger/store/storetest"
	"dyno/services/ledger/trust"
)

// A mark survives reopening, applies only to stored ledgers, and ends when the ledger is proved
// again.
func TestMarks(t *testing.T) {
	fs := vfs.NewMem()
	s := mustOpen(t, fs, Options{})
	chain := storetest.Chain(1, 100, 10, 2)
	if err := s.Append(chain[:5], Progress{From: 100, To: 109, Level: "L4"}); err != nil {
		t.Fatal(err)
	}
	for _, index := range []uint32{103, 101, 107} {
		if err := s.Mark(index, fmt.Sprintf("reason %d", index)); err != nil {
			t.Fatal(err)
		}
	}
	said := func(r history.Range) string { t.Helper(); return marked(t, s, r) }
	if got := said(Everything); got != "[{101 reason 101} {103 reason 103}] 0" {
		t.Errorf("marked: %s", got)
	}
	if got := said(history.Range{From: 102, To: 110}); got != "[{103 reason 103}] 0" {
		t.Errorf("marked from 102 on: %s", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, fs, Options{})
	if err := s.Unmark(history.Range{From: 100, To: 102}); err != nil {
		t.Fatal(err)
	}
	if got := said(Everything); got != "[{103 reason 103}] 0" {
		t.Errorf("marked: %s", got)
	}
	if err := s.Append(chain[5:], Progress{From: 100, To: 109, Level: "L4"}); err != nil {
		t.Fatal(err)
	}
	if got := said(Everything); got != "[{103 reason 103} {107 reason 107}] 0" {
		t.Errorf("marked: %s", got)
	}
}

func marked(t *testing.T, s *Store, r history.Range) string {
	t.Helper()
	marks, err := s.Marks(r)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(marks.Marked, marks.More)
}

// Marks and removed marks survive a kill -9, the loss of the index, and a repair that loses a
// ledger.
func TestMarksAreKept(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenFolder(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	chain := storetest.Chain(1, 100, 10, 2)
	mark := func(index uint32) error { return s.Mark(index, fmt.Sprintf("reason %d", index)) }
	all := Progress{From: 100, To: 109, Level: "L4"}
	err = errors.Join(mark(102), mark(108), s.Append(chain[5:], all), s.Unmark(history.Range{From: 100, To: 104}), mark(101), mark(103), s.Append(chain[:5], all), mark(109))
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.lookUp(103)
	if err != nil {
		t.Fatal(err)
	}
	const kept = "{101 reason 101} {103 reason 103} {108 reason 108} {109 reason 109}"
	for what, c := range map[string]struct {
		harm   func(dir string) error
		repair bool
		want   string
	}{
		"kill -9":             {func(string) error { return nil }, false, kept},
		"no index":            {func(dir string) error { return os.RemoveAll(filepath.Join(dir, indexFolder)) }, false, kept},
		"a repair":            {func(string) error { return nil }, true, kept},
		"a damaged index":     {func(dir string) error { return scratched(dir, indexFolder, "MANIFEST-*", 10) }, true, kept},
		"a damaged ledger":    {func(dir string) error { return scratched(dir, packsFolder, "*.pack", int64(x.ref.Offset)+100) }, true, "{101 reason 101} {108 reason 108} {109 reason 109}"},
		"a repair done twice": {func(dir string) error { s, _, err := RepairFolder(dir, Options{}); return errors.Join(err, s.Close()) }, true, kept},
	} {
		left := t.TempDir() // the files if the process is killed now
		if err := errors.Join(os.CopyFS(left, os.DirFS(dir)), c.harm(left)); err != nil {
			t.Fatal(what, err)
		}
		var s *Store
		if c.repair {
			s, _, err = RepairFolder(left, Options{})
		} else {
			s, err = OpenFolder(left, Options{})
		}
		if err != nil {
			t.Fatalf("after %s: %v", what, err)
		}
		if got := marked(t, s, Everything); got != "["+c.want+"] 0" {
			t.Errorf("after %s: %s", what, got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
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

// Damage that is not indexed yet, as a killed process may leave it, is reported in any way of
// opening; a repair removes it, marks what the index or a check at L4 still knows, and leaves the
// rest to be synced.
func TestDamageBehindTheIndexIsReported(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenFolder(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	chain := storetest.Chain(1, 100, 10, 2)
	all := Progress{From: 100, To: 109, Level: "L4"}
	if err := errors.Join(s.Append(chain[5:], all), s.Mark(103, "reason 103")); err != nil {
		t.Fatal(err)
	}
	note := s.packs.End().Offset - 20
	if err := s.Append(chain[:5], all); err != nil {
		t.Fatal(err)
	}
	tail := s.packs.End().Offset - 20
	for what, at := range map[string]int64{"a mark": note, "the last record": tail} {
		left := t.TempDir()
		if err := errors.Join(os.CopyFS(left, os.DirFS(dir)), scratched(left, packsFolder, "*.pack", at)); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{ReadOnly: true}, {}, {ReadOnly: true}} {
			s, err := OpenFolder(left, o)
			if err != nil {
				t.Fatal(err)
			}
			report, err := s.Check(t.Context(), trust.L2, nil)
			if err != nil || len(report.Failed) != 1 || !strings.Contains(report.Failed[0].Reason, "of pack 1 are no records") {
				t.Errorf("%s, %+v: %+v, %v", what, o, report, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		repaired, err := CheckFolder(t.Context(), left, CheckOptions{Repair: true}) // unsigned, so L4 marks all
		if err != nil || repaired.Err() == nil {
			t.Errorf("%s: %+v, %v", what, repaired, err)
		}
		s, err := OpenFolder(left, Options{})
		if err != nil {
			t.Fatal(err)
		}
		report, err := s.Check(t.Context(), trust.L2, nil)
		if err != nil || !report.Clean() || report.Marks.Len() != report.Ledgers || len(report.Gaps) != map[string]int{"a mark": 0, "the last record": 1}[what] {
			t.Errorf("%s, repaired: %+v, %v", what, report, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A mark that only the index still has survives a repair, also after an interrupted one.
func TestMarkOfTheIndexAlone(t *testing.T) {
	for what, interrupted := range map[string]func(dir string) error{
		"a repair": func(string) error { return nil },
		"a repair after one that took the index away": func(dir string) error {
			_, _, err := new(Repaired).clear(vfs.Default, dir)
			return err
		},
		"a repair after one that made a new index": func(dir string) error {
			if _, _, err := new(Repaired).clear(vfs.Default, dir); err != nil {
				return err
			}
			s, err := openStore(dir, Options{}, true)
			return errors.Join(err, s.Close())
		},
	} {
		dir := t.TempDir()
		s, err := OpenFolder(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Append(storetest.Chain(1, 100, 10, 2), Progress{From: 100, To: 109, Level: "L2"}), s.Mark(103, "reason 103"), s.Close(),
			scratched(dir, packsFolder, "*.pack", s.packs.End().Offset-20), interrupted(dir)); err != nil {
			t.Fatal(err)
		}
		if s, _, err = RepairFolder(dir, Options{}); err != nil {
			t.Fatal(err)
		}
		if got := marked(t, s, Everything); got != "[{103 reason 103}] 0" {
			t.Errorf("after %s: %s", what, got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, missing := os.Stat(filepath.Join(dir, repairingFolder)); missing == nil {
			t.Errorf("after %s: the old index is not in the quarantine", what)
		}
	}
}
