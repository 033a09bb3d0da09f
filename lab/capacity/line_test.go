package capacity

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTrendOfLines(t *testing.T) {
	line := func(n int, f func(float64) float64) (x, y []float64) {
		for i := range n {
			s := float64(i) / 10
			x, y = append(x, s), append(y, f(s))
		}
		return x, y
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]struct {
		n     int
		f     func(float64) float64
		slope float64
		clear bool
	}{
		"noiseless":     {20, func(s float64) float64 { return 3 + 2*s }, 2, true},
		"falling":       {20, func(s float64) float64 { return 30 - 4*s }, -4, true},
		"flat":          {20, func(float64) float64 { return 7 }, 0, false},
		"too few":       {9, func(s float64) float64 { return 3 + 2*s }, 0, false},
		"in noise":      {20, func(s float64) float64 { return 10 + 10*s + rng.NormFloat64() }, 10, true},
		"lost in noise": {20, func(s float64) float64 { return 10 + 0.1*s + 5*rng.NormFloat64() }, 0.1, false},
	} {
		got := trendOf(line(c.n, c.f))
		if got.Clear != c.clear || math.Abs(got.PerSecond-c.slope) > 0.15*math.Abs(c.slope)+5*b2f(!c.clear) {
			t.Errorf("%s: %+v, want slope %g, clear %v", name, got, c.slope, c.clear)
		}
	}
}
