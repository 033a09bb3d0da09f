package report_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dyno/lab/compare"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/reporttest"
)

// TestBuildFromAFolder reads an experiment as a producer leaves it, with the real analyses.
func TestBuildFromAFolder(t *testing.T) {
	m := reporttest.Ladder()
	r := report.Build(m.Write(t))
	if r.Invalid != "" {
		t.Fatalf("invalid: %s", r.Invalid)
	}
	if len(r.Steps) != 6 || len(r.Runs) != len(m.Runs) || len(r.Traces) != len(m.Runs) {
		t.Fatalf("%d steps, %d runs, %d traces", len(r.Steps), len(r.Runs), len(r.Traces))
	}
	for i, s := range r.Steps {
		truth := m.Limits[s.Name]
		if !(math.Abs(float64(s.Capacity)-truth) < 0.15*truth) {
			t.Errorf("%s: capacity %v, made with %v", s.Name, s.Capacity, truth)
		}
		if i > 0 && !(math.Abs(float64(s.Ratio)-truth/m.Limits["baseline"]) < 0.15*truth/m.Limits["baseline"]) {
			t.Errorf("%s: ratio %v", s.Name, s.Ratio)
		}
		if slices.ContainsFunc(report.Figures, func(f report.Figure) bool { return !s.Figure(f.Key).Known() }) {
			t.Errorf("%s: its use of resources is not known: %+v", s.Name, s)
		}
	}
	if !strings.HasPrefix(r.Answer, "commit carries ") || !strings.HasSuffix(r.Answer, " the baseline.") {
		t.Errorf("answer: %s", r.Answer)
	}
	if r.NoiseFloor == nil || r.NoiseFloor.Lo > 1 || r.NoiseFloor.Hi < 1 {
		t.Errorf("the noise floor is %v", r.NoiseFloor)
	}
	if all, valid := r.Count(); all-valid != 1 {
		t.Errorf("%d of %d runs count", valid, all)
	}
}

// TestMissingLatenciesAreSaid: a folder without latency.hlog still gives a report.
func TestMissingLatenciesAreSaid(t *testing.T) {
	m := reporttest.Load("open")
	m.Runs[0].Dir = t.TempDir()
	r := m.Report()
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "percentile curve is missing") {
		t.Errorf("warnings: %q", r.Warnings)
	}
}

// TestAnswers holds that the sentence never claims more than was shown.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*report.Report)
		want   string
	}{
		{"as it is", func(*report.Report) {}, "commit carries 12,400/s at p99 <= 100 ms with concurrency 9, 4.00x [3.84, 4.20] the baseline."},
		{"no interval", func(r *report.Report) { r.Steps[5].RatioInterval = nil }, "too few rounds for an interval"},
		{"interval over 1", func(r *report.Report) { r.Steps[5].RatioInterval = &format.Interval{Lo: 0.9, Hi: 4.4} }, "the baseline (not decided)."},
		{"no baseline", func(r *report.Report) { r.Steps[5].Ratio = format.Unknown }, "the baseline has no result"},
		{"baseline best", func(r *report.Report) { r.Steps[0].Capacity = 99999 }, "baseline carries 100,000/s at p99 <= 100 ms with concurrency 9; no later step does better."},
		{"p99", func(r *report.Report) { r.Metric = compare.MetricP99; r.Steps[3].Capacity = 12 }, "prepared has the lowest p99, 12.0 ms"},
		{"invalid", func(r *report.Report) { r.Invalid = "the machine was busy" }, "No result: the machine was busy."},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reporttest.Ladder().Report()
			c.change(r)
			if got := report.AnswerOf(r); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q in it", got, c.want)
			}
		})
	}
}
