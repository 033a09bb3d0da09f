package store

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/xrpl/history"
	"dyno/services/ledger/xrpl/xrpltest"
)

// A mark survives reopening, applies only to stored ledgers, and ends when the ledger is proved
// again.
func TestMarks(t *testing.T) {
	fs := vfs.NewMem()
	s := mustOpen(t, fs, Options{})
	chain := xrpltest.Chain(1, 100, 10, 2)
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
