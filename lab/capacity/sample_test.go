package capacity

import (
	"math"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"

	"pgregory.net/rapid"
)

// target answers steps without noise: it carries capacity, and at 5% more it is saturated.
type target struct {
	capacity float64
	breaks   float64 // holds above this rate miss; 0: none
}

var bound20 = record.SLO{Latency: map[string]float64{"p99": 20}}

func (g target) run(step record.Step) *record.Run {
	saturation := 1.05 * g.capacity
	headroom := max((saturation-step.Rate)/(saturation-g.capacity), 0.02)
	p99 := 20 / headroom
	if step.Hold && g.breaks > 0 && step.Rate > g.breaks {
		p99 = 25
	}
	completed := int64(min(step.Rate, saturation) * step.Length.Seconds())
	return &record.Run{Step: step, Load: record.Load{Model: "open"}, Length: step.Length, Totals: record.Totals{
		Offered: int64(step.Rate * step.Length.Seconds()), OfferedPerS: step.Rate,
		Ended: completed, Completed: completed, AchievedPerS: min(step.Rate, saturation),
		Response: record.Quantiles{P99: p99}}}
}

// at runs five seconds at each of some rates.
func (g target) at(rates ...float64) (runs []*record.Run) {
	for _, rate := range rates {
		runs = append(runs, g.run(record.Step{Rate: rate, Length: 5 * time.Second}))
	}
	return runs
}

// The sample is near the rate at which the SLO is just met, wherever the rates around it were.
func TestSampleBetweenRates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := target{capacity: rapid.Float64Range(500, 1e5).Draw(t, "capacity")}
		below, above := rapid.Float64Range(0.94, 0.99).Draw(t, "below"), rapid.Float64Range(1.01, 1.04).Draw(t, "above")
		if got, ok, _ := Sample(g.at(below*g.capacity, above*g.capacity), bound20); !ok || math.Abs(got/g.capacity-1) > 0.045 {
			t.Fatalf("found %g (%v) of %g", got, ok, g.capacity)
		}
	})
}

// A hold outranks the runs around it: the sample is between the rate that met its hold and the one
// that did not.
func TestSampleOfHolds(t *testing.T) {
	g := target{capacity: 3100, breaks: 2850}
	with := func(holds ...float64) []*record.Run {
		runs := g.at(2900, 3050, 3200)
		for _, rate := range holds {
			runs = append(runs, g.run(record.Step{Rate: rate, Length: 4 * time.Second, Hold: true}))
		}
		return runs
	}
	if sample, ok, _ := Sample(with(3000, 2800), bound20); !ok || sample < 2800 || sample > 3000 {
		t.Errorf("%g is not between what held and what did not", sample)
	}
	if _, _, warnings := Sample(with(3000), bound20); len(warnings) != 1 || !strings.Contains(warnings[0], "no rate met the SLO in a longer run") {
		t.Errorf("warnings %q", warnings)
	}
}

// A generator that cannot send more than 6,000/s: a target above that has no measurable capacity,
// one below it has.
func TestSampleEndsAtTheGenerator(t *testing.T) {
	find := func(g target, rates ...float64) *record.Experiment {
		exp := &record.Experiment{SLO: bound20, Runs: g.at(rates...)}
		for _, r := range exp.Runs {
			if r.Step.Role = record.RoleSearch; r.Step.Rate > 6000 {
				r.Invalid, r.Totals.Generator.Limited = "the load generator was the limit", true
			}
		}
		return exp
	}
	if res := Summarise(find(target{capacity: 20000}, 4000, 5800, 6400, 6400), ""); res.Valid || res.Bound != BoundGenerator || !strings.Contains(res.Reason, "generator") || res.CapacityPerS != 5800 {
		t.Errorf("%+v", res)
	}
	if res := Summarise(find(target{capacity: 5000}, 4850, 5150, 6400), ""); !res.Valid || res.Bound != "" || math.Abs(res.CapacityPerS/5000-1) > 0.03 {
		t.Errorf("%+v", res)
	}
}

func TestSampleReportsWhyThereIsNone(t *testing.T) {
	if v, ok, w := Sample(target{capacity: 1}.at(1e6, 1e5), bound20); ok || v != 0 || !strings.Contains(w[0], "no rate met the SLO") {
		t.Errorf("%g %v %q", v, ok, w)
	}
	if v, ok, w := Sample(target{capacity: 1e9}.at(25000, 50000), bound20); ok || v != 50000 || !strings.Contains(w[0], "met at every rate, up to 50000/s") {
		t.Errorf("%g %v %q", v, ok, w)
	}
	if _, ok, w := Sample(nil, bound20); ok || len(w) != 1 {
		t.Errorf("nothing: %v %q", ok, w)
	}
}
