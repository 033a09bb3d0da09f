package capacity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
)

var bound20 = record.SLO{Latency: map[string]float64{"p99": 20}}

// turnsOf is an experiment by turns of one variant with a peak work rate of 1,000/s, half of whose
// slices meet the SLO at a rate.
func turnsOf(rate, limit float64, blocks int) *record.Experiment {
	exp := &record.Experiment{SLO: bound20, Variants: []record.Variant{{Name: "v"}}}
	rng := rand.New(rand.NewPCG(4, 4))
	var trials []Trial
	for block := range blocks {
		x := Trial{Rate: NextRate(trials, 1000, limit, rng.Float64())}
		x.Met = rng.Float64() < 1/(1+math.Pow(x.Rate/rate, 1/0.02))
		trials = append(trials, x)
		s := record.Slice{Kind: record.SliceSLO, Role: record.RoleMeasure, Variant: "v", Generation: 1 + block/20, Block: 1 + block%20,
			Length: 800 * time.Millisecond, Offered: 600, Served: 590, Failed: 10, TargetCPU: 0.4, Rate: x.Rate, Met: x.Met, Latency: record.Quantiles{P50: 3, P99: 12}}
		if !x.Met {
			s.Misses = []string{"p99 30 ms is over 20 ms"}
		}
		work := record.Slice{Kind: record.SliceWork, Role: record.RoleMeasure, Variant: "v", Generation: s.Generation, Block: s.Block,
			Length: time.Duration(3e8 * math.Exp(0.02*rng.NormFloat64())), Served: 300}
		control := work
		control.Role, control.Served = record.RoleControl, 3000
		exp.Slices = append(exp.Slices, work, s, control)
	}
	return exp
}

func edit(exp *record.Experiment, change func(i int, s *record.Slice)) *record.Experiment {
	n := 0
	for i := range exp.Slices {
		if s := &exp.Slices[i]; s.Kind == record.SliceSLO {
			change(n, s)
			n++
		}
	}
	return exp
}

func TestSummariseSlices(t *testing.T) {
	res := Summarise(turnsOf(700, 0, 40), "v")
	safe := 700 * math.Pow(19, -0.02) // odds of 95 to 5
	if !res.Valid || res.Trials != 40 || math.Abs(res.Rate50PerS/700-1) > 0.02 || math.Abs(res.CapacityPerS/safe-1) > 0.03 || res.CapacityPerS >= res.Rate50PerS {
		t.Errorf("%+v", res)
	}
	if in := res.Interval; in == nil || in[0] > safe || in[1] < safe || in[1]/in[0] > 1.2 {
		t.Errorf("interval %v of %g", in, safe)
	}
	if in := res.PeakWorkInterval; math.Abs(res.PeakWorkPerS/1000-1) > 0.02 || in == nil || in[0] > 1000 || in[1] < 1000 {
		t.Errorf("peak work rate %g %v", res.PeakWorkPerS, in)
	}
	if len(res.Steps) != 40 || len(res.Warnings) != 0 {
		t.Fatalf("%d steps, %q", len(res.Steps), res.Warnings)
	}
	for i, s := range res.Steps {
		if i > 0 && s.OfferedPerS < res.Steps[i-1].OfferedPerS || s.Met != (len(s.Misses) == 0) || s.P99Ms != 12 || s.Round == 0 || s.CPU != 0.5 || math.Abs(s.Errors-1.0/60) > 1e-9 {
			t.Errorf("step %d: %+v", i, s)
		}
	}
}

func TestSummariseSlicesWithoutACapacity(t *testing.T) {
	for name, c := range map[string]struct {
		exp      *record.Experiment
		capacity func(float64) bool
		reason   string
		bound    string
	}{
		"met up to the limit": {turnsOf(2000, 300, 20), func(x float64) bool { return x == 300 }, "met up to the highest rate tried, 300/s", ""},
		"missed everywhere":   {turnsOf(1e-3, 0, 20), func(x float64) bool { return x == 0 }, "no slice met the SLO", ""},
		"refused everywhere":  {edit(turnsOf(1e-3, 0, 20), func(i int, s *record.Slice) { s.Served, s.Failed = 30, s.Offered-30 }), func(x float64) bool { return x == 0 }, "/s): requests failed in most of them, and ", ""},
		"not judged": {edit(turnsOf(700, 0, 20), func(i int, s *record.Slice) {
			s.Rate, s.Inconclusive = 200+float64(i), "150 requests completed, a verdict needs 200"
		}),
			func(x float64) bool { return x == 0 }, "no rate could be judged (lowest tried 200/s): 150 requests completed", ""},
		"the generator":           {edit(turnsOf(700, 0, 20), func(i int, s *record.Slice) { s.Limited = "it lagged" }), func(x float64) bool { return x > 400 }, "the load generator was the limit in 20 of 20 slices", BoundGenerator},
		"work alone":              {&record.Experiment{Slices: turnsOf(700, 0, 20).Slices[:1]}, func(x float64) bool { return x == 0 }, "the SLO bounds no latency and no gauge, so only the peak work rate was measured", ""},
		"work alone under an SLO": {&record.Experiment{SLO: bound20, Slices: turnsOf(700, 0, 20).Slices[:1]}, func(x float64) bool { return x == 0 }, "only the peak work rate was measured", ""},
	} {
		t.Run(name, func(t *testing.T) {
			res := Summarise(c.exp, "v")
			if res.Valid || !c.capacity(res.CapacityPerS) || !strings.Contains(res.Reason, c.reason) || res.Bound != c.bound || res.Interval != nil || res.AtLeast != (res.CapacityPerS > 0) {
				t.Errorf("%+v", res)
			}
		})
	}
}

func TestSummariseSaysWhatWasLeftOut(t *testing.T) {
	exp := edit(turnsOf(700, 0, 40), func(i int, s *record.Slice) { s.Steal = 0.2 * b2f(i%8 == 0) })
	res := Summarise(exp, "v")
	if !res.Valid || res.Trials != 35 || len(res.Warnings) != 1 || res.Warnings[0] != "5 of 40 slices left out: other processes or the hypervisor used the CPUs" {
		t.Errorf("%d trials, %q", res.Trials, res.Warnings)
	}
}

func TestAHoldThatMissedBoundsTheCapacity(t *testing.T) {
	hold := func(rate, p99 float64) *record.Run {
		r := steady(func(r *record.Run) { r.SLO, r.Totals.Response.P99 = bound20, p99 })
		r.Spec = record.RunSpec{Role: record.RoleMeasure, Variant: "v", Rate: rate, Confirm: true}
		return r
	}
	exp := turnsOf(700, 0, 40)
	free := Summarise(exp, "v")
	exp.Runs = []*record.Run{hold(620, 30), hold(500, 12)}
	res := Summarise(exp, "v")
	if !res.Valid || res.CapacityPerS >= 620 || res.Interval[0] > res.CapacityPerS || res.Interval[1] < res.CapacityPerS || len(res.Steps) != 42 {
		t.Errorf("%+v", res)
	}
	if want := "a hold of 2 s at 620/s missed: p99 30 ms is over 20 ms; the capacity is below that"; fmt.Sprint(res.Warnings) != "["+want+"]" {
		t.Errorf("%q", res.Warnings)
	}
	exp.Runs = []*record.Run{hold(620, 12), hold(690, 30)}
	if res := Summarise(exp, "v"); res.CapacityPerS != free.CapacityPerS || len(res.Warnings) != 1 {
		t.Errorf("a hold above the safe rate: %g, before %g; %q", res.CapacityPerS, free.CapacityPerS, res.Warnings)
	}
}
