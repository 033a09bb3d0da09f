package live

import (
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/lab/live/livetest"
	"dyno/lab/record"
	"dyno/lab/record/follow"
	"dyno/lab/report"
	"dyno/lab/report/figure"
	"dyno/lab/report/flame"

	"pgregory.net/rapid"
)

func TestCompare(t *testing.T) {
	dir := t.TempDir()
	began := time.Unix(1.7e9, 0)
	for name, slow := range map[string]float64{"old": 1, "new:er": 0.5} {
		m := livetest.New(t, filepath.Join(dir, name), record.KindCapacity, began, "plain")
		m.Slow["plain"] = slow
		m.Exp.Machine.Settings, m.Exp.Machine.WakeLatencyHeld = map[string]string{"somaxconn": name}, name == "old"
		m.Search("plain", 1000, 2000, 4000, 4500, 4900)
		m.Finish()
	}
	ladder := livetest.New(t, filepath.Join(dir, "ladder"), record.KindLadder, began, "first", "last")
	ladder.Slow["last"] = 0.5
	for round := 1; round <= 6; round++ {
		for _, v := range []string{"first", "last"} {
			for _, rate := range []float64{3000 + 10*float64(round), 4000, 4200, 4600, 4900} {
				ladder.Begin(record.RoleMeasure, v, round, rate).Grow(livetest.Warmup + 20).End()
			}
		}
	}
	ladder.Finish()
	unlike := livetest.New(t, filepath.Join(dir, "unlike"), record.KindLadder, began, "first", "last")
	unlike.Search("first", 1000, 4500).Search("last", 1000, 4500)
	unlike.Begin(record.RoleMeasure, "first", 1, 4000).Grow(livetest.Warmup + 20).End()
	unlike.Finish()
	s := New(Options{Dir: dir})
	for _, tt := range []struct {
		a, b   string
		status int
		holds  []string
		lacks  string
	}{
		{a: "old", b: "new:er", status: 200, lacks: "<small>[",
			holds: []string{"not measured in turns", "kept the CPUs from halting", "CPU wake-up latency held at 0", "Capacity of B is 1.", "somaxconn", "Resolved to: the same", `id="chart-latency"`, `"name":"A old"`}},
		{a: "old:plain", b: "new:er:plain", status: 200, holds: []string{"Capacity of B is 1."}},
		{a: "ladder:first", b: "ladder:last", status: 200, lacks: "not measured in turns",
			holds: []string{"last is faster than first", "over 6 pairs", "cache&#34;: &#34;last", "<small>[1."}},
		{a: "ladder", b: "ladder", status: 200, holds: []string{"last is faster than first"}},
		{a: "unlike:first", b: "unlike:last", status: 200, lacks: "not measured in turns", holds: []string{"No ratio: "}},
		{a: "ladder:last", b: "ladder:last", status: 200, holds: []string{"one result beside itself"}},
		{a: "old", b: "ladder", status: 200, holds: []string{"not measured in turns", "shop last"}},
		{a: "old", b: "", status: 400, holds: []string{"give two results"}},
		{a: "old", b: "old:none", status: 400, holds: []string{"no variant &#34;none&#34;; there are: plain"}},
		{a: "old", b: "none", status: 404},
		{a: "../old", b: "old", status: 404},
		{a: "old", b: strings.Repeat(":", 3000), status: 400},
	} {
		w := get(t, s, "/compare?"+url.Values{"a": {tt.a}, "b": {tt.b}}.Encode())
		body := w.Body.String()
		if w.Code != tt.status {
			t.Errorf("%s against %s: status %d, want %d: %.300s", tt.a, tt.b, w.Code, tt.status, body)
		}
		for _, want := range tt.holds {
			if !strings.Contains(body, want) {
				t.Errorf("%s against %.20s does not hold %q", tt.a, tt.b, want)
			}
		}
		if tt.lacks != "" && strings.Contains(body, tt.lacks) {
			t.Errorf("%s against %s holds %q", tt.a, tt.b, tt.lacks)
		}
	}
}

// Profiles are compared by function: a function's frames are summed over all callers.
func TestFunctionTables(t *testing.T) {
	of := func(variant, unit string, self ...float64) *side {
		return &side{Variant: variant, built: &built{Report: &report.Report{Flames: &flame.Profiles{
			Functions: []string{"rest", "encode", "write", variant + ".only"},
			Graphs:    []flame.Graph{{Variant: variant, Kind: "cpu", Name: "CPU", Unit: unit, Functions: []int{1, 2, 1, 3}, Self: self}},
		}}}}
	}
	a, b := of("a", "us per request", 10, 5, 2, 1), of("b", "us per request", 4, 5, 1, 3)
	tables := functionTables(a, b)
	if len(tables) != 1 {
		t.Fatalf("%d tables: %+v", len(tables), tables)
	}
	want := []functionRow{{"encode", 12, 5, -7}, {"b.only", 0, 3, 3}, {"a.only", 1, 0, -1}, {"write", 5, 5, 0}}
	if !reflect.DeepEqual(tables[0].Rows, want) {
		t.Errorf("got %+v, want %+v", tables[0].Rows, want)
	}
	if tables := functionTables(a, of("b", "us", 1, 2, 3, 4)); len(tables) != 0 {
		t.Errorf("figures of different units are compared: %+v", tables)
	}
	if tables := functionTables(of("a", "us", 1, 2, 3, 4), of("b", "us", 1, 2, 3, 4)); len(tables) != 0 {
		t.Errorf("totals of runs of any length are compared: %+v", tables)
	}
	whole := of("a", "goroutines", 1, 2, 3, 4)
	whole.Flames.Graphs[0].Kind = record.ProfileGoroutine
	if tables := functionTables(whole, whole); len(tables) != 1 {
		t.Errorf("what is of one moment is not compared: %+v", tables)
	}
	if tables := functionTables(a, &side{built: &built{Report: &report.Report{}}}); len(tables) != 0 {
		t.Errorf("a side without profiles is compared: %+v", tables)
	}
}

// Removing the other side's lines from a difference gives the side, if no equal lines were folded.
func TestDiffKeepsBothSides(t *testing.T) {
	line := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(line, 1, 12).Draw(t, "a")
		b := rapid.SliceOfN(line, 1, 12).Draw(t, "b")
		lines, ok := diff(a, b)
		if !ok {
			t.Fatal("too long")
		}
		var shownA, shownB []string
		for _, l := range lines {
			text := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(l.Text, "A "), "B "), "  ")
			switch l.Class {
			case "gap":
				return // some lines are not shown
			case "minus":
				shownA = append(shownA, text)
			case "plus":
				shownB = append(shownB, text)
			default:
				shownA, shownB = append(shownA, text), append(shownB, text)
			}
		}
		if strings.Join(shownA, "\n") != strings.Join(a, "\n") || strings.Join(shownB, "\n") != strings.Join(b, "\n") {
			t.Fatalf("%q against %q is shown as %q", a, b, lines)
		}
	})
}

func TestDiff(t *testing.T) {
	far := strings.Repeat("same\n", 20)
	d := compareTexts("x", far+"old\n"+far, far+"new\n"+far)
	var got []string
	for _, l := range d.Lines {
		got = append(got, l.Text)
	}
	if want := "…|  same|  same|A old|B new|  same|  same|…"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := func(c string) string { return strings.Repeat(c+"\n", maxDiff+1) }
	if d := compareTexts("x", long("a"), long("b")); d.Lines != nil || !strings.Contains(d.Words, "too long") {
		t.Errorf("of long texts: %+v", d)
	}
}

func TestCacheForgetsTheOldest(t *testing.T) {
	c := newCache[int](2)
	now := follow.Stamp{Changed: time.Unix(1, 0), Size: 1}
	c.put("a", now, 1)
	c.put("b", now, 2)
	c.get("a", now)
	c.put("c", now, 3)
	if _, ok := c.get("b", now); ok {
		t.Error("the value that was not used longest is still there")
	}
	if v, ok := c.get("a", now); !ok || v != 1 {
		t.Error("the value that was used is gone")
	}
	if _, ok := c.get("a", follow.Stamp{Changed: time.Unix(2, 0), Size: 1}); ok {
		t.Error("the value of an older file is given")
	}
}

// TestEveryFigureIsCompared: the rows are those of the table of figures.
func TestEveryFigureIsCompared(t *testing.T) {
	one := figures{measured: map[string]figure.Value{}}
	for _, f := range report.Figures {
		one.measured[f.Key] = 4
	}
	var got []string
	for _, row := range figureRows(one, one) {
		got = append(got, row.Name+": "+row.A)
	}
	for _, f := range report.Figures {
		if !slices.Contains(got, f.Name+": "+f.Write(4)) {
			t.Errorf("%q lacks %s", got, f.Name)
		}
	}
}
