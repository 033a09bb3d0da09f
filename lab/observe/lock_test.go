package observe

import (
	"math"
	"math/rand/v2"
	"testing"
)

// simulated serves one at a time, in the order of arrival. It returns the share of the time in which
// it serves, and the share in which at least one waits.
func simulated(between, holding func() float64, n int) (held, waiting float64) {
	now, free, from := 0.0, 0.0, 0.0 // from: until when a wait has been counted
	for range n {
		now += between()
		begin := max(now, free)
		if begin > now {
			waiting += begin - max(now, from)
			from = begin
		}
		length := holding()
		held += length
		free = begin + length
	}
	return held / free, waiting / free
}

// The range holds for locks that are held for any time, when their takers come at random or in
// bursts.
func TestRangeOfALock(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	holding := map[string]func() float64{
		"steady": func() float64 { return 1 },
		"random": rng.ExpFloat64,
		"varied": func() float64 {
			if rng.Float64() < 0.1 {
				return 6 * rng.ExpFloat64()
			}
			return 0.4 * rng.ExpFloat64()
		},
	}
	for _, load := range []float64{0.05, 0.2, 0.5, 0.8, 0.95} {
		for name, hold := range holding {
			for _, burst := range []int{1, 5} {
				i := 0
				between := func() float64 {
					if i++; i%burst != 0 {
						return 0
					}
					return float64(burst) * rng.ExpFloat64() / load
				}
				held, waiting := simulated(between, hold, 200_000)
				if low, high := waiting, steady(waiting); held < low || held > high+0.01 {
					t.Errorf("%s, %v, bursts of %d: held %.3f, range %.3f to %.3f", name, load, burst, held, low, high)
				}
			}
		}
	}
}

func TestSteady(t *testing.T) {
	for _, u := range []float64{0, 0.1, 0.5, 0.9, 1} {
		if got := steady(1 - (1-u)*math.Exp(u)); math.Abs(got-u) > 1e-6 {
			t.Errorf("%v: %v", u, got)
		}
	}
	for _, u := range []float64{0.05, 0.3, 0.5, 0.9} {
		for _, c2 := range []float64{0, 1, 3} {
			if got := utilisation(u*u*(1+c2)/2/(1-u), c2); math.Abs(got-u) > 1e-9 {
				t.Errorf("u %v, c^2 %v: %v", u, c2, got)
			}
		}
	}
}
