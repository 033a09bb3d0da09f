// Package facts reads from single runs what verdicts and findings both speak of, so that the two never state
// different figures for the same thing: how much was carried, how many requests were under way, how many cores
// there were to be had. It is not for judging any of it. It starts no goroutines.
package facts

import "dyno/lab/record"

// InFlight is how many requests were under way at a time: the clients of a closed loop, or by Little's law.
// A run whose latency counts for nothing still tells how many of its offers were not answered yet.
func InFlight(r *record.Run) float64 {
	if r.Load.Model == "closed" {
		return float64(r.Step.Connections)
	}
	t := r.Totals
	if mean := max(t.Service.Mean, r.SLO.Observed(t).Mean); mean > 0 {
		return t.AchievedPerS * mean / 1000
	}
	sum, n := 0.0, 0.0
	for _, w := range r.Series {
		if w.Phase == record.PhaseProfile {
			sum, n = sum+float64(w.Client.Backlog), n+1
		}
	}
	return sum / max(n, 1)
}

// Took is how long a request took on average from when it was sent, in ms. A job need not tell that apart from how
// long its unit took.
func Took(r *record.Run) float64 {
	if r.Load.Kind == record.KindJobs && r.Totals.Service.Mean == 0 {
		return r.Totals.Response.Mean
	}
	return r.Totals.Service.Mean
}

// Failing is the share of what ended that was no good answer: errors, and answers that failed a check.
func Failing(r *record.Run) float64 {
	if r.Totals.Ended == 0 {
		return 0
	}
	return float64(r.Totals.Failed) / float64(r.Totals.Ended)
}

// PerSecond is the throughput: deliveries where the SLO counts those, else good answers. A service that
// turns requests away quickly carries no more for it.
func PerSecond(r *record.Run) float64 {
	t := r.Totals
	switch {
	case r.SLO.On == record.OnDelivery:
		return t.DeliveredPerS
	case t.Completed <= 0:
		return t.AchievedPerS
	}
	return t.AchievedPerS * float64(max(0, t.Ended-t.Failed)) / float64(t.Completed)
}

// Available is how many cores a target could have had: its GOMAXPROCS (0: not known), its cgroup's quota, and
// no more than what the lab's own generator and companions, and everybody else, left of the machine.
func Available(r *record.Run, procs int) float64 {
	const least = 0.25 // of a core; a machine that the lab fills alone leaves the target its turns
	cores := float64(r.Machine.Cores)
	if r.Environment.Elsewhere && procs > 0 {
		return float64(procs) // of another machine
	}
	if quota := r.Target.Quota; quota > 0 && r.Target.Shared {
		cores = min(cores, quota)
	}
	if s := r.Length.Seconds(); s > 0 {
		cores -= r.Totals.Generator.CPUSeconds / s
	}
	cores -= r.Environment.CompanionCPU + r.Environment.NoiseCPU
	if quota := r.Target.Quota; quota > 0 && !r.Target.Shared {
		cores = min(cores, quota)
	}
	if procs > 0 {
		cores = min(cores, float64(procs))
	}
	return max(least, cores)
}

// Procs is the target's GOMAXPROCS, as its agent or the execution trace of a run under profiles (nil: there is
// none) tells; 0: it is not known.
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
