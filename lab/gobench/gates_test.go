package gobench

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"dyno/lab/compare"
	"dyno/parts/quicktest"
)

func unitGates(t *testing.T, list string) []compare.Gate {
	t.Helper()
	gates, err := compare.ParseUnitGates(list)
	if err != nil {
		t.Fatal(err)
	}
	return gates
}

// With a gate, what is clearly inside it leaves its time to the others, and still at most 5% of runs of
// equal programs call a benchmark faster or slower, none fails the gate, and intervals hold the truth.
func TestGateOfThirty(t *testing.T) {
	t.Parallel()
	const most = 0.05
	runs := max(*more, quicktest.Of(4, 15))
	wrong, failed, covered, intervals, passed, without := 0, 0, 0, 0, 0, 0
	gates := unitGates(t, "ns/op<=1.05")
	for seed := range runs {
		sim := func(g []compare.Gate) *Result {
			m := &machine{random: rand.New(rand.NewPCG(uint64(seed), 14)), layout: 0.012, slice: 0.02}
			return simulate(t, m, names(30), Options{Budget: DefaultBudget, Gates: g})
		}
		r := sim(gates)
		if alarms(r) > 0 {
			wrong++
		}
		if r.Gates[0].Verdict == compare.Fail {
			failed++
		}
		pass := func(r *Result) (n int) {
			for _, b := range r.Benchmarks {
				if gates[0].Check(b.Metric(Time).Comparison).Verdict == compare.Pass {
					n++
				}
			}
			return n
		}
		passed += pass(r)
		without += pass(sim(nil))
		for _, b := range r.Benchmarks {
			if in := b.Metric(Time).Comparison.Interval; in != nil {
				intervals++
				if in[0] <= 1 && in[1] >= 1 {
					covered++
				}
			}
		}
	}
	t.Logf("%d of %d runs alarm, %d fail the gate, %d of %d intervals hold 1; %d benchmarks pass, %d without the gate", wrong, runs, failed, covered, intervals, passed, without)
	if bound := most*float64(runs) + 2*math.Sqrt(most*float64(runs)); float64(wrong) > bound || float64(failed) > bound {
		t.Errorf("of %d runs of equal programs, %d alarm and %d fail the gate", runs, wrong, failed)
	}
	if float64(covered) < 0.93*float64(intervals) {
		t.Errorf("%d of %d intervals hold the truth", covered, intervals)
	}
	if passed < without {
		t.Errorf("%d benchmarks pass, and %d of those that were measured without the gate would", passed, without)
	}
}

// What is beyond its gate is not dropped: it fails the gate.
func TestABenchmarkBeyondItsGate(t *testing.T) {
	t.Parallel()
	runs, failed := quicktest.Of(3, 10), 0
	for seed := range runs {
		m := &machine{random: rand.New(rand.NewPCG(uint64(seed), 15)), layout: 0.01, slice: 0.02, ratio: map[string]float64{"B7": 1.15}}
		r := simulate(t, m, names(20), Options{Budget: DefaultBudget, Gates: unitGates(t, "ns/op<=1.05")})
		if g := r.Gates[0]; g.Verdict == compare.Fail && strings.HasSuffix(g.Worst, "B7") {
			failed++
		}
	}
	if failed < runs*9/10 {
		t.Errorf("a benchmark that takes 15%% longer fails a gate of 5%% in %d of %d runs", failed, runs)
	}
}

// Before it measures, a run says what the time suffices for, and afterwards how long the rest takes.
func TestWhatTheTimeSufficesFor(t *testing.T) {
	t.Parallel()
	said := func(gate string, benchmarks int, budget time.Duration) (string, *Result) {
		var all []string
		m := &machine{random: rand.New(rand.NewPCG(1, 16)), layout: 0.02, slice: 0.03}
		o := Options{Budget: budget, Gates: unitGates(t, gate), Say: func(text string) { all = append(all, text) }}
		r := simulate(t, m, names(benchmarks), o)
		return strings.Join(all, "\n"), r
	}
	text, r := said("ns/op<=1.01", 30, time.Minute)
	if !strings.Contains(text, "30 benchmarks, about ") || !strings.Contains(text, "gate ns/op<=1.01: what does not change takes about ") || !strings.Contains(text, "--budget") {
		t.Errorf("it says:\n%s", text)
	}
	if g := r.Gates[0]; g.Verdict != compare.Undecided || g.TimeToDecide < 60 || !strings.Contains(g.Text, "more should decide most") {
		t.Errorf("%+v", g)
	}
	if text, _ := said("ns/op<=1.2,allocs/op<=1", 3, 2*time.Minute); strings.Contains(text, "gate") || !strings.Contains(text, "within") {
		t.Errorf("it says:\n%s", text)
	}
	if text, _ := said("ns/op<=0.9", 3, time.Minute); !strings.Contains(text, "what does not change cannot pass it") {
		t.Errorf("it says:\n%s", text)
	}
}

// The time that a run says would decide its gate decides it for most benchmarks, and the time for
// intervals gives nearly all of them one, also those for which there was no time yet.
func TestTheTimeThatIsStated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		benchmarks int
		budget     time.Duration
		gate       string
	}{{30, 10 * time.Second, "ns/op<=1.05"}, {30, 20 * time.Second, "ns/op<=1.03"}, {200, 20 * time.Second, "ns/op<=1.05"}}[:quicktest.Of(1, 3)] {
		gates := unitGates(t, tt.gate)
		sim := func(budget time.Duration) *Result {
			m := &machine{random: rand.New(rand.NewPCG(3, 78)), layout: 0.015, slice: 0.03}
			return simulate(t, m, names(tt.benchmarks), Options{Budget: budget, Gates: gates})
		}
		share := func(r *Result, has func(compare.Comparison) bool) float64 {
			n := 0
			for _, b := range r.Benchmarks {
				if m := b.Metric(Time); m != nil && has(m.Comparison) {
					n++
				}
			}
			return float64(n) / float64(tt.benchmarks)
		}
		decided := func(c compare.Comparison) bool { return gates[0].Check(c).Verdict != compare.Undecided }
		r := sim(tt.budget)
		more := sim(tt.budget + time.Duration(r.Gates[0].TimeToDecide)*time.Second)
		before, after := share(r, decided), share(more, decided)
		t.Logf("%d benchmarks, %v, %s: %.0f%% decided, and %.0f%% with %.0f s more", tt.benchmarks, tt.budget, tt.gate, 100*before, 100*after, r.Gates[0].TimeToDecide)
		if before > 0.3 || after < 0.6 {
			t.Errorf("%d benchmarks, %v, %s: %.2f decided, and %.2f with %.0f s more", tt.benchmarks, tt.budget, tt.gate, before, after, r.Gates[0].TimeToDecide)
		}
		more = sim(tt.budget + time.Duration(r.TimeToDecide)*time.Second)
		if known := share(more, func(c compare.Comparison) bool { return c.Interval != nil }); known < 0.9 {
			t.Errorf("%d benchmarks, %v: %.2f have an interval with %.0f s more", tt.benchmarks, tt.budget, known, r.TimeToDecide)
		}
	}
}

// Where something fails, no time decides the gate.
func TestNoTimeDecidesWhatFails(t *testing.T) {
	t.Parallel()
	for cause, says := range map[string]bool{FailsOnBoth: false, OnlyA: false, OnlyB: true, Skips: true} {
		m := &machine{random: rand.New(rand.NewPCG(1, 21)), layout: 0.02, slice: 0.03, skipped: []Skipped{{"p", "X", cause, "no"}}}
		r := simulate(t, m, names(10), Options{Budget: 10 * time.Second, Gates: unitGates(t, "ns/op<=1.02")})
		if g := r.Gates[0]; g.TimeToDecide > 0 != says || strings.Contains(g.Text, "should decide") != says {
			t.Errorf("%s: %+v", cause, g)
		}
	}
}

// Among equal verdicts, what is nearest to its gate comes first.
func TestNearestToItsGateFirst(t *testing.T) {
	r := &run{Options: Options{Gates: unitGates(t, "ns/op<=1.05,rows/op>=0.9")}}
	near := Benchmark{Metrics: []Metric{{Unit: Time, Comparison: compare.Comparison{Interval: &[2]float64{0.99, 1.04}}}}}
	far := Benchmark{Metrics: []Metric{{Unit: Time, Comparison: compare.Comparison{Interval: &[2]float64{0.7, 0.8}}}}}
	rows := Benchmark{Metrics: []Metric{{Unit: "rows/op", Comparison: compare.Comparison{Interval: &[2]float64{0.85, 1.2}}}}}
	if !(r.beyond(&rows) > r.beyond(&near) && r.beyond(&near) > r.beyond(&far)) {
		t.Errorf("beyond the gate by %g, %g and %g", r.beyond(&rows), r.beyond(&near), r.beyond(&far))
	}
}
