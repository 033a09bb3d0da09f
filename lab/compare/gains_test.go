package compare

import (
	"math"
	"testing"
	"time"

	"dyno/lab/record"
)

// A gain is above 0 for more work and for less CPU, in blocks and in rounds.
func TestGains(t *testing.T) {
	turns := &record.Experiment{Kind: record.KindCompare}
	for block := 1; block <= 3; block++ {
		for _, s := range []record.Slice{{Variant: "a", Served: 1000, TargetCPU: 1}, {Variant: "b", Served: 2000, TargetCPU: 1}} {
			s.Kind, s.Role, s.Generation, s.Block, s.Length = record.SliceWork, record.RoleMeasure, 1, block, time.Second
			turns.Slices = append(turns.Slices, s)
		}
	}
	turns.Slices[5].Invalid = "the target stopped"
	runs := &record.Experiment{Kind: record.KindCompare}
	for round := 1; round <= 2; round++ {
		for _, v := range []string{"a", "b"} {
			runs.Runs = append(runs.Runs, &record.Run{Spec: record.RunSpec{Role: record.RoleMeasure, Variant: v, Round: round}})
		}
	}
	sample := func(_, variant string, round int) (float64, bool) {
		return map[string]float64{"a": 10, "b": 5}[variant], round == 1
	}
	for _, c := range []struct {
		exp    *record.Experiment
		metric string
		n      int
	}{{turns, MetricWork, 2}, {turns, MetricCPU, 2}, {runs, MetricCPU, 1}} {
		got := Gains(c.exp, c.metric, "a", "b", sample)
		if len(got) != c.n || math.Abs(got[0]-math.Log(2)) > 1e-9 {
			t.Errorf("%s: %v, want %d of log 2", c.metric, got, c.n)
		}
	}
}
