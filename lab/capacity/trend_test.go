package capacity

import (
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
)

// A steady queue wanders, more so near saturation, and must not count as a queue that never drains;
// a queue that never drains must be detected before its latency has reached the bound.
func TestTrendTellsWanderingFromFilling(t *testing.T) {
	slo := record.SLO{Latency: map[string]float64{"p99": 500}}
	const tries = 150
	growing := func(load float64, length time.Duration) (share float64) {
		b := newBench(service{servers: 2, mean: 500 * time.Microsecond}, 5)
		n := 0
		for range tries {
			r := b.run(record.RunSpec{Rate: load * 4000, Length: length}, slo, 500*time.Millisecond)
			if v := checkSLO(r, slo, 0); strings.Contains(strings.Join(v.Misses, "; "), " grows by ") {
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

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
