package gobench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/lab/compare"
	"dyno/lab/report/ci"
	"dyno/lab/report/history"
)

// made is a result with a benchmark of each kind.
func made() *Result {
	metric := func(unit string, a, b, ratio float64, verdict string) Metric {
		return Metric{Unit: unit, A: a, B: b, Samples: [][2]float64{{a, b}, {a, b}},
			Comparison: compare.Comparison{Metric: unit, Ratio: ratio, Interval: &[2]float64{ratio / 1.01, ratio * 1.01}, Samples: 9, Verdict: verdict}}
	}
	allocs := Metric{Unit: Allocs, A: 0, B: 12345, Exact: true, Samples: [][2]float64{{0, 12345}, {0, 12345}}, Comparison: compare.Exact(Allocs, -1, "A", "B", 0, 12345)}
	r := &Result{Schema: Schema, Valid: true, A: "main@1", B: "folder", Started: time.Unix(1e9, 0).UTC(), Seconds: 90, Layouts: Layouts{Random: true, Floor: 0.012, Median: &Scatter{0.02, 0.03, 0.3}},
		Benchmarks: []Benchmark{
			{Package: "m/codec", Name: "Encode|<b>-2", Iterations: 100, Generations: 9, Verdict: compare.Slower, Metrics: []Metric{metric(Time, 100, 110, 1.1, compare.Slower), allocs}},
			{Package: "m/codec", Name: "Decode-2", Iterations: 100, Generations: 9, Verdict: compare.NotDecided, Missing: []string{"none/op"}, Metrics: []Metric{metric(Time, 100, 101, 1.01, compare.NotDecided), metric("rows/op", 7, 8, 1.14, compare.Changed)}},
		},
		Skipped: []Skipped{{"m/other", "", OnlyB, "folder: it does not build"}}, Equal: []string{"m/same"}, Warnings: []string{"a warning"}, TimeToDecide: 100}
	for _, text := range []string{"ns/op<=1.03", "allocs/op<=1", "rows/op>=0.9", "none/op<=1"} {
		gates, err := compare.ParseUnitGates(text)
		if err != nil {
			panic(err)
		}
		r.Gates = append(r.Gates, r.check(gates[0]))
	}
	r.Answer, r.What, r.Sure = r.answer(), r.what(), r.sure()
	return r
}

func TestGates(t *testing.T) {
	want := []string{compare.Fail, compare.Fail, compare.Pass, compare.Undecided}
	r := made()
	for i, g := range r.Gates {
		if g.Verdict != want[i] || !strings.HasPrefix(g.Text, want[i]) {
			t.Errorf("%+v, want %s", g, want[i])
		}
	}
	if r.Passes() {
		t.Error("the gates do not pass")
	}
	// A difference that no fresh samples confirm fails no gate.
	gates, _ := compare.ParseUnitGates("ns/op<=1.03")
	r.Benchmarks[0].Metrics[0].Comparison.Verdict = compare.NotDecided
	if g := r.check(gates[0]); g.Verdict != compare.Undecided || !strings.Contains(g.Text, "confirm") {
		t.Errorf("unconfirmed: %+v", g)
	}
	// What only B fails fails the gate, what else has no figure leaves it open.
	good := made()
	gates, _ = compare.ParseUnitGates("ns/op<=2")
	for cause, want := range map[string]string{OnlyB: compare.Pass, Skips: compare.Pass, FailsOnB: compare.Fail, FailsOnA: compare.Undecided, FailsOnBoth: compare.Undecided, OnlyA: compare.Undecided, Unlike: compare.Undecided, Unmeasured: compare.Undecided} {
		good.Skipped = []Skipped{{"m/x", "Y", cause, "panic: no"}}
		g := good.check(gates[0])
		if g.Verdict != want || want != compare.Pass && (!strings.Contains(g.Text, ": 1 of 3 benchmarks fail and 0 are undecided, 1 without a figure") && !strings.Contains(g.Text, ": 0 of 3 benchmarks fail and 1 are undecided, 1 without a figure") || !strings.Contains(g.Text, "m/x.Y: panic: no")) {
			t.Errorf("%s: %+v, want %s", cause, g, want)
		}
		failed := 0
		for _, c := range Cases(good) {
			if c.Class == "m/x" && c.Failure != "" {
				failed++
			}
		}
		if (failed == 1) != (cause == FailsOnB) {
			t.Errorf("%s: %d failures as tests", cause, failed)
		}
	}
	// A standard unit that a benchmark lacks leaves its gate open.
	gates, _ = compare.ParseUnitGates("allocs/op>=0.5")
	if g := good.check(gates[0]); g.Verdict == compare.Pass {
		t.Errorf("a benchmark has no allocations: %+v", g)
	}
	equal := &Result{Equal: []string{"m"}}
	if g := equal.check(gates[0]); g.Verdict != compare.Pass {
		t.Errorf("equal binaries: %+v", g)
	}
}

func TestForms(t *testing.T) {
	r := made()
	var text, page, tests bytes.Buffer
	if err := Print(&text, r, false, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"folder against main@1: of 2 benchmarks 1 slower, 1 not decided; the test binaries of 1 package are the same; of 4 gates 1 pass, 2 fail and 1 are undecided.\ncodec.Encode|<b>-2: ns/op is slower, 100 to 110, B/A 1.100 [1.089, 1.111].\none run in twenty", "known within 1.0%; about 100 seconds more would decide the rest.\n\nverdict",
		"allocs/op 0 to 12,345 (worse)", "rows/op 1.140 [1.129, 1.151] (changed)", "no verdict: m/other: folder: it does not build", "warning: a warning", "known to be equal within 1.2%", "dyno compare"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text has no %q:\n%s", want, text.String())
		}
	}
	if err := Markdown(&page, r); err != nil {
		t.Fatal(err)
	}
	if s := page.String(); !strings.HasPrefix(s, "**Gate** `ns/op<=1.03`: fail: ") || !strings.Contains(s, `codec.Encode\|&lt;b&gt;-2 | ns/op |`) {
		t.Errorf("Markdown:\n%s", s)
	}
	if err := ci.Suite(&tests, "dyno bench", r.Started, Cases(r)); err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Suite struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Skipped  int `xml:"skipped,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(tests.Bytes(), &parsed); err != nil || parsed.Suite.Tests != 7 || parsed.Suite.Failures != 3 || parsed.Suite.Skipped != 2 {
		t.Errorf("JUnit: %+v, %v\n%s", parsed, err, tests.String())
	}
	dir := filepath.Join(t.TempDir(), "samples")
	if err := Benchstat(dir, r); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "b.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if again := parse(b, 2); len(again.readings) != 4 || again.readings[0].values["rows/op"] != 8 || !strings.HasPrefix(string(b), "pkg: m/codec\n") {
		t.Errorf("benchstat's file:\n%s\n%+v", b, again)
	}
}

// Benchmarks of packages that are the same on both sides stay in the line of the history.
func TestEntries(t *testing.T) {
	r := made()
	earlier := []history.Entry{{Name: "m/same.Old-2"}, {Name: "m/gone.Old-2"}}
	got := Entries(r, history.Commit{Hash: "b"}, history.Commit{Hash: "a"}, earlier)
	if len(got) != 3 || got[1].Name != "m/codec.Encode|<b>-2" || got[1].Ratios[Time].Ratio != 1.1 || got[1].Figures[Allocs].Value != 12345 || got[2].Name != "m/same.Old-2" || !got[2].Same {
		t.Errorf("%+v", got)
	}
}

func TestNamesOfPackages(t *testing.T) {
	for name, want := range map[string]bool{"m/same.Old-2": true, "m/same.Old/sub.x-2": true, "m/same.v2.Old": false, "m/same.V2.Old": false, "m/samer.Old": false} {
		if isOf(name, "m/same") != want {
			t.Errorf("%s is of m/same: %v", name, !want)
		}
	}
	r := &Result{Benchmarks: []Benchmark{{Package: "m/a/codec"}, {Package: "m/b/codec"}, {Package: "m/c"}, {Package: "codec"}}}
	for pkg, want := range map[string]string{"m/a/codec": "a/codec", "m/b/codec": "b/codec", "m/c": "c", "codec": "codec"} {
		if got := r.suffix(pkg); got != want {
			t.Errorf("%s is called %s, want %s", pkg, got, want)
		}
	}
}

// A result that is not valid begins with the reason, and what is proved comes before what is open.
func TestOrderAndReason(t *testing.T) {
	r := made()
	r.Valid, r.Reason = false, "interrupted after 12 s"
	var text, page bytes.Buffer
	if err := errors.Join(Print(&text, r, false, 0), Markdown(&page, r)); err != nil || !strings.HasPrefix(text.String(), r.Reason+"\n") || !strings.HasPrefix(page.String(), "**Not valid**: "+r.Reason) {
		t.Errorf("%v\n%s%s", err, text.String(), page.String())
	}
	if rank(compare.Faster) > rank(compare.NotDecided) {
		t.Error("an improvement is hidden by a unit that is not decided")
	}
}

// No line is wider than the terminal, unless a row of the table is, and nothing is left out.
func TestWidth(t *testing.T) {
	r := made()
	var wide bytes.Buffer
	if err := Print(&wide, r, true, 0); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{80, 120} {
		var text bytes.Buffer
		if err := Print(&text, r, true, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width {
				t.Errorf("%d columns, of %d: %s", n, width, line)
			}
		}
		words := func(s string) string { return strings.Join(strings.Fields(strings.Replace(s, "also", "", 1)), " ") }
		if words(text.String()) != words(wide.String()) {
			t.Errorf("in %d columns:\n%s\nwithout a limit:\n%s", width, text.String(), wide.String())
		}
	}
}
