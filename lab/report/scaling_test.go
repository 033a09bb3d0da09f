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
	if s := r.Steps[1]; s.Concurrency != 6 || math.Abs(float64(s.Ratio)-6) > 0.01 || s.RatioInterval == nil || r.NoiseFloor == nil {
		t.Errorf("step %+v, floor %v", s, r.NoiseFloor)
	}
	shards := r.Scaling.Curves[1]
	if len(shards.Points) != 8 || len(shards.Ranked) == 0 || shards.Ranked[0].Model != "roof" || !strings.HasPrefix(shards.Text, "min(k*c, roof) explains the points best") {
		t.Errorf("%d points, %s", len(shards.Points), shards.Text)
	}
	if plain := r.Scaling.Curves[0]; len(plain.Ranked) != 0 || !strings.Contains(plain.Text, "comparing models takes") {
		t.Errorf("a single point: %s", plain.Text)
	}
}

func TestSpans(t *testing.T) {
	r := report.Build(reporttest.Spans())
	if r.Invalid != "" || len(r.Scaling.Curves) != 3 {
		t.Fatalf("%q, %v", r.Invalid, r.Scaling)
	}
	if !strings.Contains(r.Answer, "span-1000 did") || !strings.Contains(r.Answer, "at concurrency 384") {
		t.Errorf("answer %q", r.Answer)
	}
}
