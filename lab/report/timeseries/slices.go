package timeseries

import (
	"maps"
	"slices"
	"time"

	"dyno/lab/record"
)

// ofSlices returns the series of variants that took turns, with a point at the end of each slice,
// and the time of the last point. What is left out has no result.
func ofSlices(e *record.Experiment) (all []Series, last time.Time) {
	by := map[string]*rows{}
	for i := range e.Slices {
		s := &e.Slices[i]
		if s.Invalid != "" || s.Length <= 0 {
			continue
		}
		// The label run keeps apart what a graph must not join: two kinds of load, and the
		// baseline's control.
		run := s.Kind + " slices"
		if s.Role == record.RoleControl {
			run += " of the twin"
		}
		r := by[s.Variant+" "+run]
		if r == nil {
			r = &rows{labels: map[string]string{"experiment": e.Name, "service": e.Service, "run": run, "variant": s.Variant, "role": s.Role}, by: map[string]*Series{}}
			by[s.Variant+" "+run] = r
		}
		began := s.At
		if began.IsZero() { // of an earlier version, and earlier than it was by the time until the first slice
			began = e.Started.Add(time.Duration(s.Start - e.Slices[0].Start))
		}
		r.at = began.Add(s.Length)
		r.slice(s)
		last = r.at
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		all = append(all, by[key].all()...)
	}
	return all, last
}

func (r *rows) slice(s *record.Slice) {
	per := func(n int64) float64 { return float64(n) / s.Length.Seconds() }
	r.add("dyno_offered_per_second", per(s.Offered))
	r.add("dyno_completed_per_second", per(s.Served+s.Failed))
	r.add("dyno_failed_per_second", per(s.Failed))
	r.add("dyno_generator_cpu_cores", s.GeneratorCPU/s.Length.Seconds())
	if s.TargetCPU > 0 {
		r.add("dyno_target_cpu_cores", s.TargetCPU/s.Length.Seconds())
	}
	if s.RSS > 0 {
		r.add("dyno_target_resident_bytes", float64(s.RSS))
	}
	if s.Kind != record.SliceSLO {
		return
	}
	if s.Served+s.Failed > 0 {
		r.add("dyno_response_seconds", s.Latency.P50/1e3, "quantile", "0.5")
		r.add("dyno_response_seconds", s.Latency.P99/1e3, "quantile", "0.99")
	}
	if s.Inconclusive == "" {
		met := 0.0
		if s.Met {
			met = 1
		}
		r.add("dyno_slo_met", met)
	}
	for name, value := range s.Gauges {
		r.add("dyno_target_gauge", value, "gauge", name)
	}
}
