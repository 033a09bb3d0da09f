package report_test

import (
	"math"
	"strings"
	"testing"

	"dyno/lab/report"
	"dyno/lab/report/reporttest"
)

func TestLadderOfAJob(t *testing.T) {
	r := report.Build(reporttest.JobLadder())
	if r.Invalid != "" || r.Scaling == nil || len(r.Charts) != 0 {
		t.Fatalf("invalid %q, scaling %v, %d charts over rates", r.Invalid, r.Scaling, len(r.Charts))
	}
	for _, want := range []string{"scan carries", "p95 <= 200 ms", "with concurrency 11", "waiting for the server's budget or its answers (85%)"} {
		if !strings.Contains(r.Answer, want) {
			t.Errorf("answer %q, want %q in it", r.Answer, want)
		}
	}
	if s := r.Steps[1]; s.AtOnce != 6 || math.Abs(float64(s.Ratio)-6) > 0.01 || s.RatioInterval == nil || r.Floor == nil {
		t.Errorf("step %+v, floor %v", s, r.Floor)
	}
	shards := r.Scaling.Curves[1]
	if len(shards.Points) != 8 || len(shards.Ranked) == 0 || shards.Ranked[0].Model != "roof" || !strings.HasPrefix(shards.InWords, "min(k*c, roof) explains the points best") {
		t.Errorf("%d points, %s", len(shards.Points), shards.InWords)
	}
	if plain := r.Scaling.Curves[0]; len(plain.Ranked) != 0 || !strings.Contains(plain.InWords, "comparing models takes") {
		t.Errorf("a single point: %s", plain.InWords)
	}
}

func TestSpansSayWhereTheSourcesModelBends(t *testing.T) {
	r := report.Build(reporttest.Spans())
	if r.Invalid != "" || len(r.Scaling.Curves) != 3 {
		t.Fatalf("%q, %v", r.Invalid, r.Scaling)
	}
	for _, want := range []string{"it shows no knee", "nowhere for L = 100, at c = 3.0 for L = 1,000 and at c = 11.0 for L = 5,000, not at the 2.4*L^0.42 = 16.6, 43.7 and 85.9"} {
		if !strings.Contains(r.Scaling.Joint, want) {
			t.Errorf("%q, want %q in it", r.Scaling.Joint, want)
		}
	}
	for _, c := range r.Scaling.Curves[1:] {
		if c.Ranked[0].Model != "log" {
			t.Errorf("%s is said to be %s: %s", c.Variant, c.Ranked[0].Model, c.InWords)
		}
	}
	if !strings.Contains(r.Answer, "span-1000 did") || !strings.Contains(r.Answer, "at concurrency 384") {
		t.Errorf("answer %q", r.Answer)
	}
}
