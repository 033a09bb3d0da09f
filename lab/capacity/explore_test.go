package capacity

import (
	"fmt"
	"math"
	"testing"
	"time"

	"dyno/lab/record"

	"gonum.org/v1/gonum/stat"
)

func TestExplore(t *testing.T) {
	explore(t)
}

func explore(t *testing.T) {
	for _, c := range []struct {
		name string
		s    service
		ms   float64
	}{
		{"mm2 0.5ms loose", service{servers: 2, mean: 500 * time.Microsecond}, 20},
		{"mm2 0.5ms tight", service{servers: 2, mean: 500 * time.Microsecond}, 5},
		{"mm2 noisy", service{servers: 2, mean: 500 * time.Microsecond, perRun: 0.02, drift: 0.005, burst: 0.1, burstFor: 100 * time.Millisecond}, 20},
		{"mm2 noisy tight", service{servers: 2, mean: 500 * time.Microsecond, perRun: 0.02, drift: 0.005, burst: 0.1, burstFor: 100 * time.Millisecond}, 5},
		{"mm8 4ms", service{servers: 8, mean: 4 * time.Millisecond}, 30},
		{"md1 fast", service{servers: 1, mean: 100 * time.Microsecond, constant: true, perRun: 0.02, burst: 0.1, burstFor: 100 * time.Millisecond}, 5},
	} {
		slo := record.SLO{Latency: map[string]float64{"p99": c.ms}}
		s := Search{SLO: slo, Start: 500, Length: 1500 * time.Millisecond, Warmup: 500 * time.Millisecond}
		truth := newBench(c.s, 1).truth(slo, s.Length, s.Warmup)
		var runs, a, dn, d1 []float64
		for seed := range uint64(60) {
			bn := newBench(c.s, seed)
			rs := bn.search(s)
			runs = append(runs, float64(len(rs)))
			a = append(a, math.Log(one(rs, slo)/truth))
			s2 := s
			s2.Bracket = [2]float64{truth / 1.12, truth * 1.12}
			rs = bn.search(s2)
			dn = append(dn, float64(len(rs)))
			if v := one(rs, slo); !math.IsNaN(v) {
				d1 = append(d1, math.Log(v/truth))
			}
		}
		f := func(x []float64) string {
			m, sd := stat.MeanStdDev(x, nil)
			return fmt.Sprintf("%+.1f%%±%.1f%%", m*100, sd*100)
		}
		t.Logf("%-16s truth %6.0f (sat %.0f) runs %.1f %s | datum runs %.1f n %d %s", c.name, truth, float64(c.s.servers)/c.s.mean.Seconds(), stat.Mean(runs, nil), f(a), stat.Mean(dn, nil), len(d1), f(d1))
	}
}

func one(rs []*record.Run, slo record.SLO) float64 {
	v, ok, _ := Datum(rs, slo)
	if !ok {
		return math.NaN()
	}
	return v
}
