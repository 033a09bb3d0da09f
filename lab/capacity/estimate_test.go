package capacity

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyno/parts/quicktest"
)

// logistic is a simulated target whose slices meet their SLO with the logistic curve's probability.
type logistic struct {
	rate50, s float64
	flipped   float64 // share of trials that are inverted
	rng       *rand.Rand
}

func (l logistic) trial(rate float64) Trial {
	met := l.rng.Float64() < 1/(1+math.Pow(rate/l.rate50, 1/l.s))
	if l.rng.Float64() < l.flipped {
		met = !met
	}
	return Trial{rate, met}
}

// take returns n trials, at the rates that NextRate returns.
func (l logistic) take(n int, peak, limit float64) []Trial {
	var trials []Trial
	for range n {
		trials = append(trials, l.trial(NextRate(trials, peak, limit, l.rng.Float64())))
	}
	return trials
}

// Repeated experiments find the rate at 50% without bias, and their intervals contain it as often as
// their confidence says, for any width of the curve and any number of trials, also when other
// processes cause one trial of twenty. All seeds are fixed. -v prints the results.
func TestEstimatesHoldTheTruth(t *testing.T) {
	const cases, peak = 100, 1000.0
	type sums struct{ bias, squares, width, covered, bias95, covered95 float64 }
	for _, flipped := range []float64{0, 0.05} {
		for _, s := range []float64{0.01, 0.03, 0.08} {
			if !quicktest.All() && s != 0.03 {
				continue
			}
			t.Run(fmt.Sprintf("s %g, %g flipped", s, flipped), func(t *testing.T) {
				t.Parallel()
				found := map[int]*sums{12: {}, 24: {}, 48: {}}
				for seed := range uint64(cases) {
					rng := rand.New(rand.NewPCG(seed, 3))
					l := logistic{rate50: peak * math.Exp(-0.25+0.25*rng.NormFloat64()), s: s, flipped: flipped, rng: rng}
					rate95 := l.rate50 * math.Pow(rate95Odds, -s)
					trials := l.take(48, peak, 0)
					for n, x := range found {
						e := FitTrials(trials[:n], peak)
						off := math.Log(e.Rate50 / l.rate50)
						x.bias += off / cases
						x.squares += off * off / cases
						x.width += math.Log(e.Rate50Interval[1]/e.Rate50Interval[0]) / 2 / cases
						x.covered += within(e.Rate50Interval, l.rate50) / cases
						x.bias95 += math.Log(e.Rate95/rate95) / cases
						x.covered95 += within(e.Rate95Interval, rate95) / cases
					}
				}
				for _, n := range slices.Sorted(maps.Keys(found)) {
					x := found[n]
					t.Logf("%2d trials: rate at 50%% %+.1f%%, spread %.1f%%, interval +-%.1f%%, holds it in %.0f%%; rate at 95%% %+.1f%%, %.0f%%",
						n, x.bias*100, math.Sqrt(x.squares)*100, x.width*100, x.covered*100, x.bias95*100, x.covered95*100)
					if math.Abs(x.bias) > 0.02 || x.covered < 0.9 || x.covered95 < 0.8 {
						t.Errorf("%d trials: %+v", n, *x)
					}
				}
			})
		}
	}
}

// within is 1 for a value in an interval, else 0.
func within(in *[2]float64, x float64) float64 {
	if in[0] <= x && x <= in[1] {
		return 1
	}
	return 0
}

// Trials that a single rate separates give a rate at 50% between them, and an interval as wide as
// their gap.
func TestAnEstimateOfSeparatedTrials(t *testing.T) {
	trials := []Trial{{400, true}, {800, true}, {1000, false}, {700, true}, {900, false}, {790, true}}
	e := FitTrials(trials, 1100)
	if e.Rate50 < 800 || e.Rate50 > 900 || e.Rate50Interval[0] > 800 || e.Rate50Interval[1] < 900 || e.Rate95 >= e.Rate50 || e.Trials != 6 || e.Met != 4 || e.Missed != 2 {
		t.Errorf("%+v", e)
	}
	if e := FitTrials(nil, 1000); e.Rate50Interval != nil || e.Rate50 != 0 {
		t.Errorf("no trials: %+v", e)
	}
	if e := FitTrials([]Trial{{500, true}, {2000, true}}, 0); !e.AtLeast() || e.AtMost() || !(e.Rate50 > 2000) {
		t.Errorf("all met: %+v", e)
	}
	if e := FitTrials([]Trial{{500, false}, {20, false}}, 1000); e.AtLeast() || !e.AtMost() || !(e.Rate50 < 500) {
		t.Errorf("all missed: %+v", e)
	}
}

// A thousand trials at one rate do not underflow.
func TestAnEstimateOfManyTrials(t *testing.T) {
	var trials []Trial
	for i := range 2000 {
		trials = append(trials, Trial{1000, i%2 == 0})
	}
	if e := FitTrials(trials, 1500); math.Abs(e.Rate50/1000-1) > 0.02 {
		t.Errorf("%+v", e)
	}
}

func TestNextRate(t *testing.T) {
	if a, b := NextRate(nil, 1000, 0, 0.1), NextRate(nil, 1000, 0, 0.9); !(a < b && b <= 1000 && a > 20) {
		t.Errorf("the first rates are not spread below the peak: %g, %g", a, b)
	}
	if rate := NextRate(nil, 1000, 300, 0.9); rate > 300 {
		t.Errorf("%g is above the limit", rate)
	}
	if rate := NextRate(nil, 0, 0, 0.5); !(rate > 0) {
		t.Errorf("without a peak: %g", rate)
	}
	trials := logistic{rate50: 600, s: 0.02, rng: rand.New(rand.NewPCG(1, 1))}.take(30, 1000, 0)
	past, near95 := NextRate(trials, 1000, 0, 0.5), NextRate(append(trials, Trial{600, true}), 1000, 0, 0.5)
	if past < 590 || past > 640 || near95 < 540 || near95 >= past {
		t.Errorf("after 30 trials around 600: %g, then %g", past, near95)
	}
	if again := NextRate(trials, 1000, 0, 0.5); again != past || RoundRate(past) != past {
		t.Errorf("%g, and again %g", past, again)
	}
	// A target whose peak work rate is far from its capacity is still found.
	for _, rate50 := range []float64{60, 2000} {
		e := FitTrials(logistic{rate50: rate50, s: 0.03, rng: rand.New(rand.NewPCG(2, 2))}.take(24, 1000, 0), 1000)
		if math.Abs(math.Log(e.Rate50/rate50)) > 0.06 {
			t.Errorf("a rate at 50%% of %g is estimated at %+v", rate50, e)
		}
	}
}
