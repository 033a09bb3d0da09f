package experiment

import (
	"testing"

	"dyno/lab/record"
)

// What a job tells of itself stays beside what was seen of it, and its gauges' peaks are those of the
// measured time.
func TestJoinKeepsAJobsGauges(t *testing.T) {
	tell := func(v float64) *record.Server { return &record.Server{Gauges: map[string]float64{"depth": v}} }
	j := &join{}
	if got := j.merge(nil, &record.Server{CPU: 1}, record.PhaseMeasure); got.CPU != 1 || got.Gauges != nil || j.peaks != nil {
		t.Errorf("a target that tells nothing: %+v, peaks %v", got, j.peaks)
	}
	if got := j.merge(tell(9), nil, record.PhaseWarmup); got.Gauges["depth"] != 9 || j.peaks != nil {
		t.Errorf("in the warm-up: %+v, peaks %v", got, j.peaks)
	}
	seen := &record.Server{CPU: 2, Gauges: map[string]float64{"depth": -1, "other": 5}}
	got := j.merge(tell(-3), seen, record.PhaseMeasure)
	if got.CPU != 2 || got.Gauges["depth"] != -3 || got.Gauges["other"] != 5 {
		t.Errorf("merged to %+v", got)
	}
	j.merge(tell(-7), nil, record.PhaseMeasure)
	if j.peaks["depth"] != -3 {
		t.Errorf("peaks %v, want -3", j.peaks)
	}
}
