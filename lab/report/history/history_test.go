package history

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/lab/report/reporttest"
)

var day = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func commitOf(n int) Commit {
	return Commit{Hash: fmt.Sprintf("%040d", n), Title: fmt.Sprint(n), Subject: fmt.Sprintf("commit %d", n), Time: day.AddDate(0, 0, n)}
}

// entry is a comparison of commit n with another, whose work rate has a ratio with an interval of
// 1% on both sides.
func entry(n, against int, work, ratio float64) Entry {
	return Entry{Schema: Schema, Name: "server", Measured: day, Revision: commitOf(n), Against: commitOf(against),
		Figures: map[string]Figure{Work: {Value: work}, Allocs: {Value: 10}},
		Ratios:  map[string]Ratio{Work: {Ratio: ratio, Interval: &[2]float64{ratio * 0.99, ratio * 1.01}}}}
}

// quiet are entries of commits without a change, from one commit on.
func quiet(skip, from, n int) (out []Entry) {
	out = append(out, entry(skip, skip-1, 1000, 1))
	for i := range n {
		out = append(out, entry(from+i, from+i-1, 1000, 1))
	}
	return out
}

// marks lists where the work rate changed.
func marks(entries []Entry) (out []string) {
	for _, l := range Lines(entries, "server") {
		for _, p := range l.Points {
			switch {
			case l.Key != Work:
			case p.Change != nil:
				out = append(out, fmt.Sprintf("%s %.2f", p.Entry.Revision.Subject, p.Change.Ratio))
			case p.Unseen != "":
				out = append(out, p.Entry.Revision.Subject+" unlinked")
			}
		}
	}
	return out
}

func TestChangePoints(t *testing.T) {
	for _, tt := range []struct {
		name    string
		entries []Entry
		want    string
	}{
		{"against the one before; levels of other days do not matter", []Entry{entry(1, 0, 1000, 1), entry(2, 1, 1500, 1), entry(3, 2, 900, 0.7), entry(4, 3, 2000, 1)}, "commit 3 0.70"},
		{"against a third", []Entry{entry(1, 0, 1000, 1), entry(2, 0, 1000, 1.01), entry(3, 0, 1000, 1.5), entry(4, 0, 1000, 1.51)}, "commit 3 1.49"},
		{"in the order of commits, not of lines", []Entry{entry(3, 2, 900, 0.7), entry(1, 0, 1000, 1), entry(2, 1, 1500, 1)}, "commit 3 0.70"},
		{"nothing is shared", []Entry{entry(1, 0, 1000, 1), entry(5, 4, 500, 0.5)}, "commit 5 unlinked"},
		{"the last entry of a revision counts", []Entry{entry(1, 0, 1000, 1), entry(2, 1, 500, 0.5), entry(2, 1, 1000, 1)}, ""},
		{"one of many by chance", append([]Entry{{Schema: Schema, Name: "server", Revision: commitOf(2), Against: commitOf(1), Figures: map[string]Figure{Work: {Value: 1}},
			Ratios: map[string]Ratio{Work: {Ratio: 0.97, Interval: &[2]float64{0.945, 0.996}, Samples: 20}}}}, quiet(1, 3, 20)...), ""},
		{"over a commit with the same program", []Entry{entry(1, 0, 1000, 1), {Name: "server", Revision: commitOf(2), Against: commitOf(1), Same: true},
			{Name: "server", Revision: commitOf(3), Against: commitOf(2), Same: true}, entry(4, 3, 500, 0.5)}, "commit 4 0.50"},
		{"less than 2%", []Entry{entry(1, 0, 1000, 1), entry(2, 1, 1000, 1.015)}, ""},
	} {
		if got := strings.Join(marks(tt.entries), ", "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	none := entry(2, 1, 500, 0.5)
	none.Ratios = map[string]Ratio{Work: {Ratio: 0.5}}
	if got := marks([]Entry{entry(1, 0, 1000, 1), none}); len(got) != 1 || got[0] != "commit 2 unlinked" {
		t.Errorf("a ratio without an interval: %v", got)
	}
	more := entry(2, 1, 1000, 1)
	more.Figures[Allocs] = Figure{Value: 15}
	more.Ratios[Allocs] = Ratio{Ratio: 1.5, Interval: &[2]float64{1.4, 1.6}}
	if all := AllChanges([]Entry{entry(1, 0, 1000, 1), more}); len(all) != 1 || !strings.Contains(all[0], "allocations at 000000000000 (commit 2): worse 1.50x") {
		t.Errorf("allocations: %v", all)
	}
}

// What is appended is read again, and a line that was cut off by an interruption does no harm.
func TestAppendAndRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "perf")
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "--history") {
		t.Errorf("a history that does not exist: %v", err)
	}
	r := reporttest.Turns(record.KindCompare).Report()
	for n := 1; n <= 2; n++ {
		if err := Append(dir, Of(r, commitOf(n), commitOf(n-1), nil)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, File), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"schema":"dyno.hist`)
	f.Close()
	entries, err := Read(dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	e := entries[1]
	if e.Revision != commitOf(2) || e.Figures[Work].Value == 0 || e.Before[Work].Value == 0 || e.Ratios[Work].Interval == nil {
		t.Errorf("read %+v", e)
	}
	if err := Append(dir, Of(r, commitOf(3), commitOf(2), nil)); err != nil {
		t.Fatal(err)
	}
	if entries, err := Read(dir); err != nil || len(entries) != 3 {
		t.Errorf("after an interruption: %d entries, %v", len(entries), err)
	}
	var b bytes.Buffer
	if err := Text(&b, entries); err != nil || !strings.Contains(b.String(), "commit 2") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestParseSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		"{}\n": "line 1 has the schema", "\n{\n": "line 2", "[]\n": "line 1", `{"schema":"dyno.history/9"}` + "\n": "another version",
		strings.Repeat("x", maxLine+1): "line 1: it is longer",
	} {
		if _, err := parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"schema":"dyno.history/1","name":"s","revision":{"title":"a"},"figures":{"work":{"value":1}},"ratios":{"work":{"ratio":1e999}}}` + "\n")
	f.Add(`{"schema":"dyno.history/1","ratios":{"work":{"ratio":2,"interval":[-1,0]}},"figures":{"work":{"value":-1}}}` + "\n\n{")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := parse(strings.NewReader(text))
		if err != nil {
			return
		}
		if err := Text(&bytes.Buffer{}, entries); err != nil {
			t.Error(err)
		}
	})
}
