package capacity

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"

	"pgregory.net/rapid"
)

// target answers steps without noise: it carries capacity, and at 5% more it is saturated.
type target struct {
	capacity float64
	fails    map[int]bool // runs (from 0) that miss for another reason
	breaks   float64      // holds above this rate miss; 0: none
}

var bound20 = record.SLO{Latency: map[string]float64{"p99": 20}}

func (g target) run(n int, step record.Step) *record.Run {
	saturation := 1.05 * g.capacity
	headroom := max((saturation-step.Rate)/(saturation-g.capacity), 0.02)
	p99 := 20 / headroom
	if g.fails[n] {
		p99 = 70
	}
	if step.Hold && g.breaks > 0 && step.Rate > g.breaks {
		p99 = 25
	}
	completed := int64(min(step.Rate, saturation) * step.Length.Seconds())
	return &record.Run{Step: step, Load: record.Load{Model: "open"}, Length: step.Length, Totals: record.Totals{
		Offered: int64(step.Rate * step.Length.Seconds()), OfferedPerS: step.Rate,
		Ended: completed, Completed: completed, AchievedPerS: min(step.Rate, saturation),
		Response: record.Quantiles{P99: p99}}}
}

// find runs a search to its end.
func (g target) find(t fatal, s Search) []*record.Run {
	t.Helper()
	var runs []*record.Run
	for {
		step, done := s.Next(runs)
		if again, doneAgain := s.Next(runs); again != step || done != doneAgain {
			t.Fatalf("the same runs gave %+v and %+v", step, again)
		}
		if done {
			return runs
		}
		if len(runs) > maxRuns {
			t.Fatalf("the search does not end: %v", rates(runs))
		}
		runs = append(runs, g.run(len(runs), step))
	}
}

// fatal is the common part of testing.T and rapid.T.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

func rates(runs []*record.Run) []float64 {
	var out []float64
	for _, r := range runs {
		out = append(out, r.Step.Rate)
	}
	return out
}

func TestSearchFindsAnyCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := math.Exp(rapid.Float64Range(0, math.Log(1e5)).Draw(t, "ln start"))
		ratio := math.Exp(rapid.Float64Range(math.Log(1e-3), math.Log(1e4)).Draw(t, "ln ratio"))
		s := Search{SLO: bound20, Start: start, Length: 1500 * time.Millisecond}
		g := target{capacity: start * ratio}
		runs := g.find(t, s)
		got, ok, warnings := Sample(runs, bound20)
		if !ok || math.Abs(got/g.capacity-1) > 0.04 || len(warnings) > 0 {
			t.Fatalf("found %g (%v %v) of %g by %v", got, ok, warnings, g.capacity, rates(runs))
		}
		limit := 8 + math.Abs(math.Log2(ratio))
		if float64(len(runs)) > limit+2 {
			t.Fatalf("%d runs: %v", len(runs), rates(runs))
		}
		for _, r := range runs {
			if r.Totals.Ended < MinCompletions && r.Step.Rate < g.capacity {
				t.Fatalf("a step at %g/s of %v has %d completions", r.Step.Rate, r.Step.Length, r.Totals.Ended)
			}
		}
	})
}

func TestSearchSteps(t *testing.T) {
	s := Search{SLO: bound20, Start: 1000, Length: time.Second}
	for name, c := range map[string]struct {
		s    Search
		g    target
		want []float64
	}{
		"doubles, bisects, tries the miss again": {s, target{capacity: 3100}, []float64{1000, 2000, 4000, 2828, 3363, 3363, 3084, 3220, 3220}},
		"goes down to what was achieved":         {s, target{capacity: 100}, []float64{1000, 105, 52.5, 105, 74.25, 88.3, 96.29, 100.6, 100.6}},
		"a burst while doubling is seen through": {s, target{capacity: 3100, fails: map[int]bool{1: true}}, []float64{1000, 2000, 2000, 4000, 2828, 3363, 3363, 3084, 3220, 3220}},
	} {
		t.Run(name, func(t *testing.T) {
			got := rates(c.g.find(t, c.s))
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestSearchLength(t *testing.T) {
	s := Search{SLO: bound20, Start: 100, Length: time.Second}
	if step, _ := s.Next(nil); step.Length != 21*time.Second {
		t.Errorf("2,000 completions at 100/s in %v", step.Length)
	}
	s.Start = 1e5
	if step, _ := s.Next(nil); step.Length != time.Second {
		t.Errorf("many completions in %v", step.Length)
	}
}

func TestSearchEndsWhateverIsAsked(t *testing.T) {
	for name, s := range map[string]Search{
		"no start":            {SLO: bound20, Length: time.Second},
		"no tolerance at all": {SLO: bound20, Start: 100, Length: time.Second, Tolerance: 1e-9},
		"nothing":             {},
	} {
		runs := target{capacity: 3100}.find(t, s)
		if got, ok, _ := Sample(runs, bound20); !ok || math.Abs(got/3100-1) > 0.04 || len(runs) > 20 {
			t.Errorf("%s: %g (%v) by %v", name, got, ok, rates(runs))
		}
	}
	// A gauge that no window reports is missed at any rate.
	s := Search{SLO: record.SLO{Gauges: map[string]float64{"absent": 1}}, Start: 1000, Length: time.Second}
	if runs := (target{capacity: 3100}).find(t, s); len(runs) > maxDescents+1 {
		t.Errorf("%d runs for a gauge that is never reported", len(runs))
	}
}

// A hold outranks the runs around it: the sample is between the rate that met its hold and the one
// that did not.
func TestSampleOfHolds(t *testing.T) {
	g := target{capacity: 3100, breaks: 2850}
	runs := g.find(t, Search{SLO: bound20, Start: 1000, Length: time.Second})
	hold := func(rate float64) *record.Run {
		return g.run(-1, record.Step{Rate: rate, Length: 4 * time.Second, Hold: true})
	}
	if sample, ok, _ := Sample(append(slices.Clone(runs), hold(3000), hold(2800)), bound20); !ok || sample < 2800 || sample > 3000 {
		t.Errorf("%g is not between what held and what did not", sample)
	}
	if _, _, warnings := Sample(append(slices.Clone(runs), hold(3000)), bound20); len(warnings) != 1 || !strings.Contains(warnings[0], "no rate met the SLO in a longer run") {
		t.Errorf("warnings %q", warnings)
	}
}

func TestSearchPassesInvalidRunsOver(t *testing.T) {
	s := Search{SLO: bound20, Start: 1000, Length: time.Second}
	g := target{capacity: 3100}
	first := g.run(0, record.Step{Rate: 1000, Length: 2 * time.Second})
	disturbed := g.run(1, record.Step{Rate: 2000, Length: 2 * time.Second})
	disturbed.Invalid = "neighbours"
	disturbed.Totals.Response.P99 = 1e4
	with, _ := s.Next([]*record.Run{first, disturbed})
	without, _ := s.Next([]*record.Run{first})
	if with != without {
		t.Errorf("%+v with the invalid run, %+v without", with, without)
	}
}

// A generator that cannot send more than 6,000/s: a target above that has no measurable capacity,
// one below it has.
func TestSearchStopsAtTheGenerator(t *testing.T) {
	s := Search{SLO: bound20, Start: 1000, Length: time.Second}
	find := func(g target) []*record.Run {
		var runs []*record.Run
		for {
			step, done := s.Next(runs)
			if done {
				return runs
			}
			step.Role = record.RoleSearch
			r := g.run(0, step)
			if step.Rate > 6000 {
				r.Invalid, r.Totals.Generator.Limited = "the load generator was the limit", true
			}
			runs = append(runs, r)
		}
	}
	exp := &record.Experiment{SLO: bound20}
	exp.Runs = find(target{capacity: 20000})
	res := Summarise(exp, "")
	if res.Valid || res.Bound != BoundGenerator || !strings.Contains(res.Reason, "generator") || res.CapacityPerS > 6000 || res.CapacityPerS < 5500 {
		t.Errorf("%+v", res)
	}
	exp.Runs = find(target{capacity: 5000})
	if res := Summarise(exp, ""); !res.Valid || res.Bound != "" || math.Abs(res.CapacityPerS/5000-1) > 0.03 {
		t.Errorf("%+v", res)
	}
}

func TestSampleReportsWhyThereIsNone(t *testing.T) {
	g := target{capacity: 1}
	missed := g.find(t, Search{SLO: bound20, Start: 1e6, Length: time.Second})
	if v, ok, w := Sample(missed, bound20); ok || v != 0 || !strings.Contains(w[0], "no rate met the SLO") {
		t.Errorf("%g %v %q", v, ok, w)
	}
	if len(missed) > maxDescents+1 {
		t.Errorf("%d runs against a target that carries nothing", len(missed))
	}
	g = target{capacity: 1e9}
	met := []*record.Run{g.run(0, record.Step{Rate: 25000, Length: time.Second}), g.run(1, record.Step{Rate: 50000, Length: time.Second})}
	if v, ok, w := Sample(met, bound20); ok || v != 50000 || !strings.Contains(w[0], "met at every rate, up to 50000/s") {
		t.Errorf("%g %v %q", v, ok, w)
	}
	if _, ok, w := Sample(nil, bound20); ok || len(w) != 1 {
		t.Errorf("nothing: %v %q", ok, w)
	}
}

func TestSampleWithinABracket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		believed := rapid.Float64Range(500, 1e5).Draw(t, "believed")
		off := rapid.Float64Range(-0.15, 0.15).Draw(t, "off")
		g := target{capacity: believed * (1 + off)}
		runs := g.find(t, Search{SLO: bound20, Start: 1, Length: time.Second, Bracket: Around(believed)})
		got, ok, _ := Sample(runs, bound20)
		if !ok || math.Abs(got/g.capacity-1) > 0.045 {
			t.Fatalf("found %g (%v) of %g by %v", got, ok, g.capacity, rates(runs))
		}
		if math.Abs(off) < 0.05 && len(runs) != 2 || len(runs) > 4 {
			t.Fatalf("%d runs: %v", len(runs), rates(runs))
		}
	})
	// A wrong bracket: the search ends and reports it.
	runs := target{capacity: 10}.find(t, Search{SLO: bound20, Length: time.Second, Bracket: Around(1e4)})
	if _, ok, _ := Sample(runs, bound20); ok || len(runs) != maxSampleRuns {
		t.Errorf("%v after %d runs", ok, len(runs))
	}
}
