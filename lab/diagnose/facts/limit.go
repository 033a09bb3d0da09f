package facts

import "dyno/lab/record"

// MemoryLimit is a limit of memory (GOMEMLIMIT) near which a process is.
type MemoryLimit struct {
	Bytes int64 // 0: there is none, or it is far
	// Perhaps is true if it is not known that the limit makes the garbage collector run more often than
	// GOGC does: without the agent, memory that is not of the heap, such as mapped files, counts too.
	Perhaps bool
}

// AtMemoryLimit returns the limit of memory that makes the garbage collector of a run's target run more
// often than GOGC does: the size of the heap at which the next collection starts is near it, and below
// what GOGC gives.
func AtMemoryLimit(r *record.Run) MemoryLimit {
	const (
		near  = 0.8 // of the limit
		below = 1.8 // times the live heap: GOGC's default starts the next collection at twice that, and stacks
	)
	limit := r.Target.MemoryLimit
	if limit <= 0 {
		return MemoryLimit{}
	}
	seen, at := 0, 0 // windows with the figures of the agent, and those in which the limit decides
	for _, w := range r.Series {
		if w.Server == nil || w.Server.HeapGoal <= 0 || w.Server.HeapLive <= 0 {
			continue
		}
		seen++
		if goal := float64(w.Server.HeapGoal); goal >= near*float64(limit) && goal < below*float64(w.Server.HeapLive) {
			at++
		}
	}
	switch t := r.Totals.Server; {
	case seen > 0 && 2*at >= seen:
		return MemoryLimit{Bytes: limit}
	case seen == 0 && t != nil && float64(t.PeakRSS) >= near*float64(limit):
		return MemoryLimit{Bytes: limit, Perhaps: true}
	}
	return MemoryLimit{}
}
