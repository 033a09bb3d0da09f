package compare

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestRatio(t *testing.T) {
	for name, c := range map[string]struct {
		metric  string
		a, b    []float64
		ratio   float64
		verdict string
		warning string
	}{
		"more capacity":    {MetricCapacity, []float64{100, 101, 99, 100, 102, 98}, []float64{120, 121, 118, 121, 122, 118}, 1.2, Faster, ""},
		"less capacity":    {MetricCapacity, []float64{120, 121, 118, 121, 122, 118}, []float64{100, 101, 99, 100, 102, 98}, 1 / 1.2, Slower, ""},
		"more latency":     {MetricP99, []float64{100, 101, 99, 100, 102, 98}, []float64{120, 121, 118, 121, 122, 118}, 1.2, Slower, ""},
		"less CPU":         {MetricCPU, []float64{120, 121, 118, 121, 122, 118}, []float64{100, 101, 99, 100, 102, 98}, 1 / 1.2, Faster, ""},
		"no difference":    {MetricCapacity, []float64{100, 101, 99, 100, 102, 98}, []float64{101, 99, 100, 102, 98, 100}, 1, NotDecided, ""},
		"the same":         {MetricCapacity, []float64{5, 5, 5, 5, 5, 5}, []float64{5, 5, 5, 5, 5, 5}, 1, Equal, ""},
		"too few":          {MetricCapacity, []float64{100, 100, 100}, []float64{200, 201, 199}, 2, NotDecided, "only 3 pairs count"},
		"none":             {MetricCapacity, nil, nil, 0, Invalid, "no pair"},
		"unpaired":         {MetricCapacity, []float64{1, 2}, []float64{1}, 0, Invalid, "cannot be paired"},
		"an unknown thing": {"joy", []float64{1}, []float64{1}, 0, Invalid, `no metric is called "joy"`},
		"a hole":           {MetricCapacity, []float64{100, 101, 0, 99, 100, 102, 98}, []float64{120, 121, 5, 118, 121, 122, 118}, 1.2, Faster, "pair 3 is left out"},
		"level drift":      {MetricCapacity, []float64{100, 110, 120, 130, 140, 150}, []float64{101, 109, 121, 129, 141, 149}, 1, Equal, "both sides changed by"},
		"ratio drift":      {MetricCapacity, []float64{100, 100, 100, 100, 100, 100}, []float64{100, 110, 120, 130, 140, 150}, 1.24, Faster, "the ratio itself changed by"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Ratio(c.metric, c.a, c.b)
			if got.Verdict != c.verdict || math.Abs(got.Ratio-c.ratio) > 0.01 {
				t.Errorf("%+v, want ratio %g and %q", got, c.ratio, c.verdict)
			}
			if (got.Interval == nil) != (got.Samples < MinSamples) {
				t.Errorf("interval %v of %d pairs", got.Interval, got.Samples)
			}
			if words := strings.Join(got.Warnings, "\n"); !strings.Contains(words, c.warning) || c.warning == "" && words != "" {
				t.Errorf("warnings %q, want %q", got.Warnings, c.warning)
			}
		})
	}
}

// Student's t with 5 degrees of freedom, computed by hand: mean of ln 1.00 .. ln 1.05.
func TestRatioInterval(t *testing.T) {
	a := []float64{100, 100, 100, 100, 100, 100}
	got := Ratio(MetricCapacity, a, []float64{100, 101, 102, 103, 104, 105})
	// mean 0.024554, deviation 0.018255, t 2.570582, half-width 0.019158
	if got.Interval == nil || math.Abs(got.Interval[0]-1.00541) > 1e-5 || math.Abs(got.Interval[1]-1.04468) > 1e-5 {
		t.Errorf("%v", got.Interval)
	}
}

func TestComparisonJSON(t *testing.T) {
	b, err := json.Marshal(Ratio(MetricCapacity, []float64{1}, []float64{2}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema":"dyno.comparison/1","metric":"capacity","a":"","b":"","ratio":2,"interval":null,"pairs":1,"floor":null,` +
		`"verdict":"not decided","warnings":["only 1 pair counts; an interval needs 4"]}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

// machine draws what successive runs of one program measure, as ln(value).
type machine func(rng *rand.Rand) func() float64

// machines are shapes of noise found in measurements.
var machines = map[string]machine{
	"independent": func(rng *rand.Rand) func() float64 {
		return func() float64 { return 0.03 * rng.NormFloat64() }
	},
	"drifting like a random walk": func(rng *rand.Rand) func() float64 {
		level := 0.0
		return func() float64 { level += 0.03 * rng.NormFloat64(); return level + 0.01*rng.NormFloat64() }
	},
	"autocorrelated": func(rng *rand.Rand) func() float64 {
		level := 0.0
		return func() float64 { level = 0.9*level + 0.02*rng.NormFloat64(); return level + 0.02*rng.NormFloat64() }
	},
	"warming up": func(rng *rand.Rand) func() float64 {
		n := 0.0
		return func() float64 { n++; return 0.01*n + 0.02*rng.NormFloat64() }
	},
	"neighbours come and go": func(rng *rand.Rand) func() float64 {
		return func() float64 {
			if rng.Float64() < 0.15 {
				return -0.2 * rng.Float64()
			}
			return 0.02 * rng.NormFloat64()
		}
	},
	"skewed": func(rng *rand.Rand) func() float64 {
		return func() float64 { return -0.03 * rng.ExpFloat64() }
	},
}

// measure takes pairs of two variants in rotated order from a machine.
func measure(next func() float64, rounds int, effect float64) (a, b []float64) {
	r := Rotation{Variants: []string{"a", "b"}, Rounds: rounds}
	for round := 1; round <= rounds; round++ {
		for _, slot := range r.order(round) {
			if v := next(); slot.Variant == "a" {
				a = append(a, math.Exp(v))
			} else {
				b = append(b, math.Exp(v+math.Log(effect)))
			}
		}
	}
	return a, b
}

// A variant compared with itself comes out different in at most 5% of cases, for any noise. With
// 1,000 cases and three standard deviations of the binomial that is at most 70. All seeds are
// fixed.
func TestSameAgainstSame(t *testing.T) {
	const cases = 1000
	limit := int(0.05*cases + 3*math.Sqrt(cases*0.05*0.95))
	for name, m := range machines {
		for _, pairs := range []int{6, 10, 20} {
			different := 0
			for seed := range uint64(cases) {
				a, b := measure(m(rand.New(rand.NewPCG(seed, uint64(pairs)))), pairs, 1)
				if v := Ratio(MetricCapacity, a, b).Verdict; v == Faster || v == Slower {
					different++
				}
			}
			t.Logf("%-28s %2d pairs: different in %.1f%%", name, pairs, 100*float64(different)/cases)
			if different > limit {
				t.Errorf("%s, %d pairs: different in %d of %d, more than %d", name, pairs, different, cases, limit)
			}
		}
	}
}

// The interval covers a true ratio as often as its confidence says.
func TestIntervalCoversTheTruth(t *testing.T) {
	const cases = 1000
	for _, truth := range []float64{0.5, 1.05, 3} {
		covered := 0
		for seed := range uint64(cases) {
			a, b := measure(machines["independent"](rand.New(rand.NewPCG(seed, 77))), 8, truth)
			if in := Ratio(MetricCapacity, a, b).Interval; in[0] <= truth && truth <= in[1] {
				covered++
			}
		}
		if covered < 930 || covered > 970 {
			t.Errorf("ratio %g is covered in %d of %d", truth, covered, cases)
		}
	}
}

// A change of 5% is found in 10 pairs where samples scatter by 2%, as on a quiet machine, and in
// most cases where they scatter by 3%. One of 30% is found with any noise.
func TestATrueChangeIsFound(t *testing.T) {
	const cases = 300
	found := func(m machine, effect float64) (share float64) {
		n := 0
		for seed := range uint64(cases) {
			a, b := measure(m(rand.New(rand.NewPCG(seed, 5))), 10, effect)
			if Ratio(MetricCapacity, a, b).Verdict == Faster {
				n++
			}
		}
		return float64(n) / cases
	}
	quiet := func(rng *rand.Rand) func() float64 { return func() float64 { return 0.02 * rng.NormFloat64() } }
	if share := found(quiet, 1.05); share < 0.98 {
		t.Errorf("5%% on a quiet machine is found in %.0f%%", share*100)
	}
	if share := found(machines["independent"], 1.05); share < 0.8 {
		t.Errorf("5%% in 3%% of noise is found in %.0f%%", share*100)
	}
	for name, m := range machines {
		if share := found(m, 1.3); share < 0.97 {
			t.Errorf("%s: 30%% is found in %.0f%%", name, share*100)
		}
	}
}
