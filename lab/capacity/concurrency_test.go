package capacity

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dyno/lab/record"

	"pgregory.net/rapid"
)

// made is a job whose units take the time unit each, up to a throughput that all of them share.
type made struct {
	unit, roof float64 // s, 1/s
}

// run works with n units in flight, as a fluid would: units that wait for the shared limit take
// longer.
func (m made) run(step record.RunSpec) *record.Run {
	n := float64(step.Connections)
	x := min(n/m.unit, m.roof)
	r := &record.Run{Spec: step, Load: record.LoadInfo{Kind: record.KindJobs, Model: "closed", Connections: step.Connections}}
	ms := n / x * 1000
	r.Totals = record.Totals{Ended: 1000, Offered: 1000, Completed: 1000, ThroughputPerS: x, OfferedPerS: x,
		Response: record.Quantiles{P50: ms, P90: ms, P95: ms, P99: ms, P999: ms, Max: ms, Mean: ms}}
	return r
}

func (m made) search(t testing.TB, s Concurrency) []*record.Run {
	var runs []*record.Run
	for {
		step, done := s.Next(runs)
		if done {
			return runs
		}
		if step.Connections < 1 || !step.Closed || s.Max > 0 && step.Connections > s.Max || len(runs) > maxRuns {
			t.Fatalf("run %d is %+v", len(runs), step)
		}
		runs = append(runs, m.run(step))
	}
}

func p95(ms float64) record.SLO { return record.SLO{Latency: map[string]float64{"p95": ms}} }

func TestConcurrencyFindsTheRoof(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := made{unit: rapid.Float64Range(0.001, 0.5).Draw(t, "unit"), roof: rapid.Float64Range(50, 5000).Draw(t, "roof")}
		corner := m.roof * m.unit // the lowest concurrency that reaches the roof
		if corner > MaxConcurrency/2 || corner < 1 {
			t.Skip("out of reach")
		}
		runs := m.search(nil, Concurrency{SLO: p95(1e6)})
		peak, ok, warnings := PeakOf(runs, p95(1e6))
		if !ok || len(warnings) > 0 || peak.PerS < (1-alike)*m.roof-1e-9 {
			t.Fatalf("found %+v of %g, %v", peak, m.roof, warnings)
		}
		if n := float64(peak.Concurrency); n < (1-alike)*corner-1 || n > fine*corner+1 {
			t.Fatalf("at %d, the corner is at %g", peak.Concurrency, corner)
		}
		if len(runs) > 14 {
			t.Fatalf("it took %d runs", len(runs))
		}
	})
}

func TestConcurrencyKeepsTheSLO(t *testing.T) {
	// 100/s per unit in flight, up to 400/s: with 8 a unit takes 20 ms, with 5 it takes 12.5 ms.
	m := made{unit: 0.01, roof: 400}
	for _, c := range []struct {
		bound float64
		want  Peak
		ok    bool
	}{{1000, Peak{400, 4}, true}, {10.5, Peak{400, 4}, true}, {9, Peak{}, false}} {
		runs := m.search(t, Concurrency{SLO: p95(c.bound)})
		peak, ok, _ := PeakOf(runs, p95(c.bound))
		if peak != c.want || ok != c.ok {
			t.Errorf("p95 <= %g ms: found %+v, %v; want %+v", c.bound, peak, ok, c.want)
		}
	}
	// One miss does not count: each concurrency that missed ran twice.
	runs := m.search(t, Concurrency{SLO: p95(10.5)})
	if n := len(slices.DeleteFunc(runs, func(r *record.Run) bool { return r.Spec.Connections != 8 })); n != 2 {
		t.Errorf("the concurrency that missed ran %d times", n)
	}
}

func TestConcurrencyGoesDownFromAStartThatMisses(t *testing.T) {
	m := made{unit: 0.01, roof: 400}
	peak, ok, _ := PeakOf(m.search(t, Concurrency{SLO: p95(11), Start: 64}), p95(11))
	if !ok || peak.Concurrency != 4 {
		t.Errorf("found %+v, %v", peak, ok)
	}
}

func TestConcurrencyTriesWhatIsListed(t *testing.T) {
	m := made{unit: 0.01, roof: 400}
	for _, c := range []struct {
		listed, tried []int
		want          Peak
	}{{[]int{2}, []int{2}, Peak{200, 2}}, {[]int{8, 2}, []int{8, 8, 2}, Peak{200, 2}}} { // 8 take 20 ms: a miss is repeated
		runs := m.search(t, Concurrency{SLO: p95(15), Listed: c.listed})
		var tried []int
		for _, r := range runs {
			tried = append(tried, r.Spec.Connections)
		}
		if peak, ok, _ := PeakOf(runs, p95(15)); !slices.Equal(tried, c.tried) || !ok || peak != c.want {
			t.Errorf("of %v it tried %v and found %+v", c.listed, tried, peak)
		}
	}
}

func TestConcurrencyReportsAHigherOneMayCarryMore(t *testing.T) {
	runs := made{unit: 0.01, roof: 1e9}.search(t, Concurrency{SLO: p95(1e6), Max: 24})
	peak, ok, warnings := PeakOf(runs, p95(1e6))
	if !ok || peak.Concurrency != 24 || len(warnings) != 1 || !strings.Contains(warnings[0], "a higher one may carry more") {
		t.Errorf("found %+v, %v, %v", peak, ok, warnings)
	}
}

func TestConcurrencyPassesInvalidRunsOver(t *testing.T) {
	s := Concurrency{SLO: p95(1e6)}
	first, _ := s.Next(nil)
	spoilt := made{0.01, 400}.run(first)
	spoilt.Invalid = "neighbours"
	if again, done := s.Next([]*record.Run{spoilt}); done || again != first {
		t.Errorf("after an invalid run: %+v", again)
	}
	if _, ok, why := PeakOf([]*record.Run{spoilt}, s.SLO); ok || why[0] != "no run counts" {
		t.Errorf("%v %v", ok, why)
	}
}

func TestSummariseByConcurrency(t *testing.T) {
	m := made{unit: 0.01, roof: 400}
	e := &record.Experiment{SLO: p95(100)}
	for round := range 7 {
		r := m.run(record.RunSpec{Role: record.RoleMeasure, Variant: "v", Round: round, Closed: true, Connections: 4})
		r.Totals.ThroughputPerS *= 1 + 0.01*float64(round%2)
		e.Runs = append(e.Runs, r)
	}
	res := Summarise(e, "v")
	if !res.Valid || res.Concurrency != 4 || res.Interval == nil || math.Abs(res.CapacityPerS-402) > 1 || len(res.Warnings) != 0 {
		t.Errorf("%+v", res)
	}
	if s := res.Steps[0]; s.Concurrency != 4 || s.P95Ms == 0 || !s.Met {
		t.Errorf("%+v", s)
	}
}

func TestLimitText(t *testing.T) {
	for want, all := range map[string][]record.WaitLimit{
		"": nil, "the server's budget or its answers (80%)": {{Name: "server", Share: 0.8}, {Name: "cpu", Share: 0.1}},
		"none of the limits it reports (highest: tape 10%)": {{Name: "tape", Share: 0.1}},
	} {
		if words := LimitText(all); words != want {
			t.Errorf("%q, want %q", words, want)
		}
	}
}
