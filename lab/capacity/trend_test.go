package capacity

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"dyno/lab/record"
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

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// A steady queue wanders, more so near saturation, and must not count as a queue that never drains;
// a queue that never drains must be detected before its latency has reached the bound.
func TestTrendTellsWanderingFromFilling(t *testing.T) {
	slo := record.SLO{Latency: map[string]float64{"p99": 500}}
	const tries = 150
	growing := func(load float64, length time.Duration) (share float64) {
		b := newBench(service{servers: 2, mean: 500 * time.Microsecond}, 5)
		n := 0
		for range tries {
			r := b.run(record.Step{Rate: load * 4000, Length: length}, slo, 500*time.Millisecond)
			if v := judge(r, slo, 0); v.Worst == "latency trend" {
				n++
			}
		}
		return float64(n) / tries
	}
	for _, load := range []float64{0.5, 0.8, 0.9, 0.95, 0.97} {
		if share := growing(load, 2*time.Second); share > 0.03 {
			t.Errorf("at %.0f%% load %.1f%% of the steady runs are said to grow", load*100, share*100)
		} else {
			t.Logf("at %.0f%% load %.1f%% of the steady runs are said to grow", load*100, share*100)
		}
	}
	if share := growing(1.1, 2*time.Second); share < 0.95 {
		t.Errorf("at 110%% only %.0f%% of the runs are said to grow", share*100)
	} else {
		t.Logf("at 110%% %.0f%%", share*100)
	}
}
