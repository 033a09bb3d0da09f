package live

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/lab/live/livetest"
	"dyno/lab/record"
	"dyno/lab/record/folder"
)

// TestTurnsAreFollowed: slices are shown as they come, with what is left of the budget.
func TestTurnsAreFollowed(t *testing.T) {
	dir := t.TempDir()
	m := livetest.New(t, filepath.Join(dir, "shop"), record.KindCompare, time.Now(), "old", "new")
	m.Exp.InProgress = &record.InProgress{PID: os.Getpid(), Ends: time.Now().Add(time.Hour)}
	if folder.Save(m.Exp); m.Exp.Unwritten != nil {
		t.Fatal(m.Exp.Unwritten)
	}
	f := &follower{index: newIndex(dir), name: "shop", fresh: true}
	turns := func() *turnNews {
		t.Helper()
		events, err := f.changes()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if news, ok := e.data.(turnNews); ok {
				return &news
			}
			if e.kind == eventEnd {
				t.Fatal("it has ended")
			}
		}
		return nil
	}
	if turns() != nil {
		t.Error("there are turns before the first slice")
	}
	m.Slice(record.SliceWork, "old", 1)
	m.Slice(record.SliceWork, "new", 1)
	if got := turns(); got == nil || !strings.HasPrefix(got.Words, "2 slices in 1 block") || strings.Count(got.Rows, "<tr>") != 2 || !strings.Contains(got.Rows, "1,000") || !(got.Left > 3000 && got.Left <= 3600) {
		t.Fatalf("%+v", got)
	}
	if turns() != nil {
		t.Error("the same slices are sent twice")
	}
	half := `{"kind":"work","role":"mea`
	appendTo(t, filepath.Join(m.Dir, folder.SlicesFile), half)
	if turns() != nil {
		t.Error("half a line is a slice")
	}
	appendTo(t, filepath.Join(m.Dir, folder.SlicesFile), `sure","variant":"new","block":2}`+"\n")
	m.Slice(record.SliceSLO, "old", 2)
	got := turns()
	if got == nil || !strings.HasPrefix(got.Words, "4 slices in") || !strings.Contains(got.Rows, "1 of 1") {
		t.Fatalf("%+v", got)
	}
	var titles []string
	for _, p := range got.Panels {
		titles = append(titles, p.Title)
	}
	if work := got.Panels[0].Lines; strings.Join(titles, " ") != "Work rate CPU Offered p99" || len(got.Rounds) != 3 || len(work) != 2 || work[1].Label != "new" || work[1].Y[0] != 1000 || !math.IsNaN(work[0].Y[1]) {
		t.Errorf("charts %v over %v: %+v", titles, got.Rounds, work)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSlicesMakeAReport: an experiment without a whole run has a report, which is built anew when
// slices were added, and the list says how it ended.
func TestSlicesMakeAReport(t *testing.T) {
	dir := t.TempDir()
	m := livetest.New(t, filepath.Join(dir, "shop"), record.KindCompare, time.Now(), "old", "new")
	s := New(Options{Dir: dir})
	m.Slice(record.SliceWork, "old", 1)
	before, err := s.index.head("shop")
	if err != nil || !before.Slices {
		t.Fatalf("%+v %v", before, err)
	}
	m.Slice(record.SliceWork, "new", 1)
	if after, err := s.index.head("shop"); err != nil || after.Stamp == before.Stamp {
		t.Errorf("the report so far would be an old one: %v", err)
	}
	m.Exp.InProgress, m.Exp.Outcome = nil, &record.Outcome{Status: record.OutcomeInterrupted, Reason: "a signal ended it"}
	if folder.Save(m.Exp); m.Exp.Unwritten != nil {
		t.Fatal(m.Exp.Unwritten)
	}
	h, err := s.index.head("shop")
	if err != nil {
		t.Fatal(err)
	}
	if e := s.entry(h); e.Ending != record.OutcomeInterrupted || e.Early != "a signal ended it" || !e.Later() {
		t.Errorf("%+v", e)
	}
}
