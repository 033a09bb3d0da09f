package facts

import "dyno/lab/record"

// AtMemoryLimit returns the limit of memory (GOMEMLIMIT) that makes the garbage collector of a run's
// target run more often than GOGC does, in bytes: the process's memory, or the size at which the next
// collection starts, is near it. 0: there is none, or it is far.
func AtMemoryLimit(r *record.Run) int64 {
	const near = 0.8 // of the limit
	limit := r.Target.MemoryLimit
	if limit <= 0 {
		return 0
	}
	used := int64(0)
	if t := r.Totals.Server; t != nil {
		used = t.PeakRSS
	}
	for _, w := range r.Series {
		if w.Server != nil {
			used = max(used, w.Server.HeapGoal)
		}
	}
	if float64(used) < near*float64(limit) {
		return 0
	}
	return limit
}
