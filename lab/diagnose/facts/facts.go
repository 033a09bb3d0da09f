// Package facts computes figures of single runs, so that verdicts, findings and reports state the
// same ones: the throughput, the requests in flight, the available cores, gauges, what grew over
// the run, the groups of pauses.
//
// It is not for judging them. It starts no goroutines.
package facts

import "dyno/lab/record"

// InFlight is the mean number of requests in flight: in a closed loop its clients, and otherwise,
// or if the clients are sessions, which pause, throughput times mean time (Little's law). Without
// a usable latency, it is the mean backlog while profiles were taken.
func InFlight(r *record.Run) float64 {
	if r.Load.Model == "closed" && r.Axis() != record.AxisSessions {
		return float64(r.Spec.Connections)
	}
	t, units := r.Totals, float64(max(r.Load.Units, 1))
	if mean := max(t.Service.Mean, r.SLO.Observed(t).Mean); mean > 0 {
		return t.ThroughputPerS * mean / 1000 / units
	}
	sum, n := 0.0, 0.0
	for _, w := range r.Series {
		if w.Phase == record.PhaseProfile {
			sum, n = sum+float64(w.Client.Backlog), n+1
		}
	}
	return sum / max(n, 1) / units
}

// Took is the mean time of a request from when it was sent, in ms. For a job that does not report
// it separately, it is the mean time of a unit.
func Took(r *record.Run) float64 {
	if r.SelfDriven() && r.Totals.Service.Mean == 0 {
		return r.Totals.Response.Mean
	}
	return r.Totals.Service.Mean
}

// Failing is the share of responses that were errors or failed a check.
func Failing(r *record.Run) float64 {
	if r.Totals.Ended == 0 {
		return 0
	}
	return float64(r.Totals.Failed) / float64(r.Totals.Ended)
}

// PerSecond is the throughput: deliveries where the SLO counts those, else good responses. Rejected
// requests do not count.
func PerSecond(r *record.Run) float64 {
	t := r.Totals
	switch {
	case r.SLO.On == record.OnDelivery:
		return t.DeliveredPerS
	case t.Completed <= 0:
		return t.ThroughputPerS
	}
	return t.ThroughputPerS * float64(max(0, t.Ended-t.Failed)) / float64(t.Completed)
}

// Available is how many cores were available to a target: its GOMAXPROCS (0: unknown), its cgroup's
// quota, and at most what the lab's own generator and dependencies, and all other processes, left
// of the machine. It is at least what the target used.
func Available(r *record.Run, procs int) float64 {
	const least = 0.25 // cores; on a machine that the lab fills, the target still gets its share
	cores := float64(r.Machine.Cores)
	if r.System.Elsewhere && procs > 0 {
		return float64(procs) // of another machine
	}
	if quota := r.Target.Quota; quota > 0 && r.Target.Shared {
		cores = min(cores, quota)
	}
	if s := r.Length.Seconds(); s > 0 {
		cores -= r.Totals.Generator.CPUSeconds / s
	}
	cores -= r.System.DependencyCPU + r.System.OthersCPU
	if quota := r.Target.Quota; quota > 0 && !r.Target.Shared {
		cores = min(cores, quota)
	}
	if procs > 0 {
		cores = min(cores, float64(procs))
	}
	return max(least, cores, r.System.TargetCPU) // the times of the others are not of the same instants
}

// Procs is the target's GOMAXPROCS, as reported by its agent or by the execution trace of
// profiled, a run under profiles (nil: none); 0: unknown.
func Procs(r, profiled *record.Run) int {
	if r.Target.Procs > 0 || profiled == nil {
		return r.Target.Procs
	}
	t, err := profiled.Trace()
	if err != nil {
		return 0
	}
	return t.Procs
}
