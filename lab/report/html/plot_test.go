package html

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/reporttest"
	"dyno/lab/report/view"

	"pgregory.net/rapid"
)

// TestQuadrantsMeetWhereTheRulesSay checks that the chart's cross is at thresholds that the rules
// define.
func TestQuadrantsMeetWhereTheRulesSay(t *testing.T) {
	use, waiting := quadrantCross()
	if !(use > 50 && use < 100) || !(waiting > 0 && waiting < 100) {
		t.Errorf("the quadrants meet at %v and %v", use, waiting)
	}
}

func TestQuadrantPlacesTheVariants(t *testing.T) {
	q := quadrant(reporttest.Why().Report())
	if !slices.Equal(q.Left, []string{"lock-free"}) || strings.Count(string(q.SVG), "<circle") != 2 {
		t.Errorf("%d places, left out %q", strings.Count(string(q.SVG), "<circle"), q.Left)
	}
	if !strings.Contains(string(q.SVG), `cx="97.00%" cy="88.00%"`) {
		t.Errorf("the baseline is not at 97%% and 12%%: %s", q.SVG)
	}
	r := reporttest.Diagnose().Report()
	r.Diagnoses[0].Signals = rules.Signals{rules.Utilisation: 0.4, rules.LockWait: 0.9}
	if svg := quadrant(r).SVG; !strings.Contains(string(svg), `cx="40.00%" cy="10.00%"`) {
		t.Errorf("without a trace, waits for locks should place it: %s", svg)
	}
	r.Diagnoses[0].Signals = nil
	if q := quadrant(r); q.SVG != "" || len(q.Left) != 1 {
		t.Errorf("nothing is known, and %q drawn", q.SVG)
	}
}

// TestPausesAreAllCounted merges random histograms, and checks that no pause is lost or shown
// shorter than it was.
func TestPausesAreAllCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := reporttest.New(record.KindCapacity, "p99=60ms")
		m.AddVariant("v", "", "", 1000)
		r := m.AddRun(record.RoleSaturate, "v", 0, 900)
		var total int64
		longest := 0.0
		for range rapid.IntRange(1, 20).Draw(t, "buckets") {
			b := record.PauseBucket{UpToMs: rapid.Float64Range(0, 2e4).Draw(t, "ms"), Count: rapid.Int64Range(0, 1e6).Draw(t, "count")}
			if total += b.Count; b.Count > 0 {
				longest = max(longest, min(b.UpToMs, 10_000))
			}
			r.Totals.Server.GCPauses = append(r.Totals.Server.GCPauses, b)
		}
		r.Totals.Server.GCPauses = append(r.Totals.Server.GCPauses, record.PauseBucket{UpToMs: math.NaN()})
		all := m.Report().Pauses
		if total == 0 {
			if len(all) != 0 {
				t.Fatal("no pauses, and a histogram")
			}
			return
		}
		p := all[0]
		if p.Count != total || float64(p.Longest()) < longest*(1-1e-6) || len(p.Bars) > 3*8 {
			t.Fatalf("%d of %d pauses, none over %v of %v, in %d bars", p.Count, total, p.Longest(), longest, len(p.Bars))
		}
		if svg := string(pausesSVG(p)); strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Fatalf("drawn as %s", svg)
		}
	})
}

// TestStagesStayInside checks that a stage is drawn within its transaction, whatever the spans
// contain.
func TestStagesStayInside(t *testing.T) {
	of := view.StagesOf(&record.Experiment{Runs: []*record.Run{{Stages: []record.Stage{{Transaction: "t", Name: "t", Latency: record.Quantiles{Mean: 2}}, {Transaction: "t", Name: "late", Depth: 40, Latency: record.Quantiles{Mean: 9}, Self: -1}, {Transaction: "lost", Name: "child", Depth: 1}}}}})
	rows := of[0].Rows
	if svg := string(stageSVG(rows[1])); !strings.Contains(svg, `width="100.00%"/>`) || !strings.Contains(svg, `height="10" width="0.00%"`) {
		t.Error(svg)
	}
	if page := pageOf(t, &report.Report{Stages: of, Outcome: record.Outcome{Status: record.OutcomeComplete}}); !strings.Contains(page, `class="depth-6"`) {
		t.Error("a deep stage is not indented")
	}
	if svg := stageSVG(rows[2]); svg != "" {
		t.Errorf("of a transaction without a root: %s", svg)
	}
}

// TestPlotsStayInside draws random figures, and checks that everything lies within the plot.
func TestPlotsStayInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOf(rapid.Float64Range(-1e6, 1e9)).Draw(t, "xs")
		a := newAxis(rapid.Bool().Draw(t, "log"), xs...)
		for _, x := range append(xs, 0, math.SmallestNonzeroFloat64, math.MaxFloat64) {
			if p := a.percentOf(x); !(p >= 0 && p <= 100) {
				t.Fatalf("%v lies at %v%% of %+v", x, p, a)
			}
		}
		if n := len(a.ticks()); n > 12 {
			t.Fatalf("%d ticks on %+v", n, a)
		}
	})
}
