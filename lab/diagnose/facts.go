package diagnose

import "dyno/lab/record"

// inFlight is how many requests were under way at a time: the clients of a closed loop, or by Little's law.
// A run whose latency counts for nothing still tells how many of its offers were not answered yet.
func inFlight(r *record.Run) float64 {
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

// failing is the share of what ended that was no good answer: errors, and answers that failed a check.
func failing(r *record.Run) float64 {
	if r.Totals.Ended == 0 {
		return 0
	}
	return float64(r.Totals.Failed) / float64(r.Totals.Ended)
}

// perSecond is the throughput: deliveries where the SLO counts those, else good answers. A service that
// turns requests away quickly carries no more for it.
func perSecond(r *record.Run) float64 {
	t := r.Totals
	switch {
	case r.SLO.On == record.OnDelivery:
		return t.DeliveredPerS
	case t.Completed <= 0:
		return t.AchievedPerS
	}
	return t.AchievedPerS * float64(max(0, t.Ended-t.Failed)) / float64(t.Completed)
}

// available is how many cores a target could have had: its GOMAXPROCS (0: not known), its cgroup's quota, and
// no more than what the lab's own generator and companions, and everybody else, left of the machine.
func available(r *record.Run, procs int) float64 {
	const least = 0.25 // of a core; a machine that the lab fills alone leaves the target its turns
	cores := float64(r.Machine.Cores)
	if r.Around.Elsewhere && procs > 0 {
		return float64(procs) // of another machine
	}
	if quota := r.Target.Quota; quota > 0 && r.Target.Shared {
		cores = min(cores, quota)
	}
	if s := r.Length.Seconds(); s > 0 {
		cores -= r.Totals.Generator.CPUSeconds / s
	}
	cores -= r.Around.CompanionCPU + r.Around.OthersCPU
	if quota := r.Target.Quota; quota > 0 && !r.Target.Shared {
		cores = min(cores, quota)
	}
	if procs > 0 {
		cores = min(cores, float64(procs))
	}
	return max(least, cores)
}

// procs is the target's GOMAXPROCS, as its agent or its execution trace tells; 0: it is not known.
func (s Subject) procs(r *record.Run) int {
	if r.Target.Procs > 0 {
		return r.Target.Procs
	}
	if s.Profiled != nil {
		if t, err := s.Profiled.Trace(); err == nil {
			return t.Procs
		}
	}
	return 0
}
