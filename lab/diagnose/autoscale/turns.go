package autoscale

import "dyno/lab/record"

// Missed returns the slices in which a variant missed the SLO, each as a run of one window, which
// is too short for more than one decision. like is a run of the variant: it supplies what slices
// do not record, such as the machine.
func Missed(e *record.Experiment, variant string, like *record.Run) []*record.Run {
	var out []*record.Run
	for _, s := range e.SlicesOf(record.SliceSLO, func(s *record.Slice) bool {
		return s.Variant == variant && s.Role == record.RoleMeasure && !s.Met &&
			s.Invalid == "" && s.Inconclusive == "" && s.Limited == "" && s.TargetCPU > 0 && s.Length > 0
	}) {
		r, seconds := *like, s.Length.Seconds()
		r.Begin, r.Length, r.SLO = s.Start, s.Length, e.SLO
		r.Totals = record.Totals{ThroughputPerS: s.PerS(), Response: s.Latency, Delivery: s.Latency}
		r.Totals.Generator.CPUSeconds = s.GeneratorCPU
		r.System.DependencyCPU = s.DependencyCPU / seconds
		r.System.OthersCPU = (s.Others + s.Steal) * float64(r.Machine.Cores)
		r.Series = []record.Window{{Start: s.Start, Phase: record.PhaseMeasure,
			Server: &record.Server{CPU: s.TargetCPU / seconds, Gauges: s.Gauges}}}
		out = append(out, &r)
	}
	return out
}
