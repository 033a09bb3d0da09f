package runs

import (
	"testing"

	"dyno/lab/record"
)

// The gauges that a job reports are merged with the target's readings; their peaks are those in
// the measured time.
func TestJoinKeepsAJobsGauges(t *testing.T) {
	report := func(v float64) *record.Server { return &record.Server{Gauges: map[string]float64{"depth": v}} }
	j := &join{}
	if got := j.merge(nil, &record.Server{CPU: 1}, record.PhaseMeasure); got.CPU != 1 || got.Gauges != nil || j.peaks != nil {
		t.Errorf("a target that reports nothing: %+v, peaks %v", got, j.peaks)
	}
	if got := j.merge(report(9), nil, record.PhaseWarmup); got.Gauges["depth"] != 9 || j.peaks != nil {
		t.Errorf("in the warm-up: %+v, peaks %v", got, j.peaks)
	}
	seen := &record.Server{CPU: 2, Gauges: map[string]float64{"depth": -1, "other": 5}}
	got := j.merge(report(-3), seen, record.PhaseMeasure)
	if got.CPU != 2 || got.Gauges["depth"] != -3 || got.Gauges["other"] != 5 {
		t.Errorf("merged to %+v", got)
	}
	j.merge(report(-7), nil, record.PhaseMeasure)
	if j.peaks["depth"] != -3 {
		t.Errorf("peaks %v, want -3", j.peaks)
	}
}
