package sides

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/figure"
	"dyno/lab/report/flame"

	"pgregory.net/rapid"
)

// Profiles are compared by function: a function's frames are summed over all callers.
func TestFunctionTables(t *testing.T) {
	of := func(variant, unit string, self ...float64) *Side {
		return &Side{Variant: variant, Report: &report.Report{Flames: &flame.Profiles{
			Functions: []string{"rest", "encode", "write", variant + ".only"},
			Graphs:    []flame.Graph{{Variant: variant, Kind: "cpu", Name: "CPU", Unit: unit, Functions: []int{1, 2, 1, 3}, Self: self}},
		}}}
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
	if tables := functionTables(a, &Side{Report: &report.Report{}}); len(tables) != 0 {
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
