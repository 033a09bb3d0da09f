package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/store"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl/history"
	"dyno/services/ledger/xrpl/xrpltest"
)

func marked(t *testing.T, s *store.Store, r history.Range) string {
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
	s, err := Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	chain := xrpltest.Chain(1, 100, 10, 2)
	mark := func(index uint32) error { return s.Mark(index, fmt.Sprintf("reason %d", index)) }
	all := store.Progress{From: 100, To: 109, Level: "L4"}
	err = errors.Join(mark(102), mark(108), s.Append(chain[5:], all), s.Unmark(history.Range{From: 100, To: 104}), mark(101), mark(103), s.Append(chain[:5], all), mark(109))
	if err != nil {
		t.Fatal(err)
	}
	x, _, err := s.Index().Ledger(103)
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
		"no index":            {func(dir string) error { return os.RemoveAll(filepath.Join(dir, store.IndexFolder)) }, false, kept},
		"a repair":            {func(string) error { return nil }, true, kept},
		"a damaged index":     {func(dir string) error { return scratched(dir, store.IndexFolder, "MANIFEST-*", 10) }, true, kept},
		"a damaged ledger":    {func(dir string) error { return scratched(dir, store.PacksFolder, "*.pack", int64(x.Ref.Offset)+100) }, true, "{101 reason 101} {108 reason 108} {109 reason 109}"},
		"a repair done twice": {func(dir string) error { s, _, err := Repair(dir, store.Options{}); return errors.Join(err, s.Close()) }, true, kept},
	} {
		left := t.TempDir() // the files if the process is killed now
		if err := errors.Join(os.CopyFS(left, os.DirFS(dir)), c.harm(left)); err != nil {
			t.Fatal(what, err)
		}
		var s *store.Store
		if c.repair {
			s, _, err = Repair(left, store.Options{})
		} else {
			s, err = Open(left, store.Options{})
		}
		if err != nil {
			t.Fatalf("after %s: %v", what, err)
		}
		if got := marked(t, s, store.Everything); got != "["+c.want+"] 0" {
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
	s, err := Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	chain := xrpltest.Chain(1, 100, 10, 2)
	all := store.Progress{From: 100, To: 109, Level: "L4"}
	if err := errors.Join(s.Append(chain[5:], all), s.Mark(103, "reason 103")); err != nil {
		t.Fatal(err)
	}
	note := packEnd(t, dir) - 20
	if err := s.Append(chain[:5], all); err != nil {
		t.Fatal(err)
	}
	tail := packEnd(t, dir) - 20
	for what, at := range map[string]int64{"a mark": note, "the last record": tail} {
		left := t.TempDir()
		if err := errors.Join(os.CopyFS(left, os.DirFS(dir)), scratched(left, store.PacksFolder, "*.pack", at)); err != nil {
			t.Fatal(err)
		}
		for _, o := range []store.Options{{ReadOnly: true}, {}, {ReadOnly: true}} {
			s, err := Open(left, o)
			if err != nil {
				t.Fatal(err)
			}
			report, err := CheckStore(t.Context(), s, trust.L2, nil)
			if err != nil || len(report.Failed) != 1 || !strings.Contains(report.Failed[0].Reason, "of pack 1 are no records") {
				t.Errorf("%s, %+v: %+v, %v", what, o, report, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		repaired, err := Check(t.Context(), left, CheckOptions{Repair: true}) // unsigned, so L4 marks all
		if err != nil || repaired.Err() == nil {
			t.Errorf("%s: %+v, %v", what, repaired, err)
		}
		s, err := Open(left, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		report, err := CheckStore(t.Context(), s, trust.L2, nil)
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
			return interruptible(dir).clear()
		},
		"a repair after one that made a new index": func(dir string) error {
			if err := interruptible(dir).clear(); err != nil {
				return err
			}
			s, err := store.Open(dir, store.Options{Prove: true})
			return errors.Join(err, s.Close())
		},
	} {
		dir := t.TempDir()
		s, err := Open(dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(s.Append(xrpltest.Chain(1, 100, 10, 2), store.Progress{From: 100, To: 109, Level: "L2"}), s.Mark(103, "reason 103"), s.Close())
		if err := errors.Join(err, scratched(dir, store.PacksFolder, "*.pack", packEnd(t, dir)-20), interrupted(dir)); err != nil {
			t.Fatal(err)
		}
		if s, _, err = Repair(dir, store.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := marked(t, s, store.Everything); got != "[{103 reason 103}] 0" {
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

// interruptible is a repair whose steps a test takes one by one.
func interruptible(dir string) *repair {
	return &repair{fs: vfs.Default, dir: dir, marks: map[uint32]string{}}
}

// packEnd is the size of a folder's only pack.
func packEnd(t *testing.T, dir string) int64 {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, store.PacksFolder, "*.pack"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	info, err := os.Stat(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
