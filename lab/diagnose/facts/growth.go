package facts

import (
	"slices"

	"dyno/lab/record"
)

// What a run needs to show a growth.
const (
	leastWindows = 40
	leastCycles  = 8 // of the collector, as distinct values of the live heap: two in each quarter of the run
)

// Goroutines is the mean number of goroutines in the first and the last third of a run, if it
// rose from third to third; otherwise both values are that of the first. Seen is false for a run
// too short to show it.
func Goroutines(r *record.Run) (from, to float64, seen bool) {
	var counts []float64
	for _, w := range r.Series {
		if (w.Phase == record.PhaseMeasure || w.Phase == record.PhaseProfile) && w.Server != nil && w.Server.Goroutines > 0 {
			counts = append(counts, float64(w.Server.Goroutines))
		}
	}
	if len(counts) < leastWindows {
		return 0, 0, false
	}
	var thirds [3]float64
	for i := range thirds {
		part := counts[len(counts)*i/3 : len(counts)*(i+1)/3]
		for _, n := range part {
			thirds[i] += n / float64(len(part))
		}
	}
	if thirds[0] < thirds[1] && thirds[1] < thirds[2] {
		return thirds[0], thirds[2], true
	}
	return thirds[0], thirds[0], true
}

// HeapGrowth is the live heap at the beginning of a run and at its end.
type HeapGrowth struct {
	From, To   float64 // bytes
	Rises      bool    // throughout the run
	PerRequest float64 // bytes
}

// Heap reads the live heap of a run: the lowest value of each quarter, since the runtime sets
// it at each collection, and a collection during a burst of requests gives a high value. The heap
// grows when each quarter's lowest value is above the one before.
func Heap(r *record.Run) (g HeapGrowth, seen bool) {
	var live []float64
	requests := int64(0)
	for _, w := range r.Series {
		if w.Phase == record.PhaseMeasure && w.Server != nil && w.Server.HeapLive > 0 {
			live = append(live, float64(w.Server.HeapLive))
			requests += w.Client.Ended
		}
	}
	if len(live) < leastWindows || len(slices.Compact(slices.Clone(live))) < leastCycles {
		return g, false
	}
	var least [4]float64
	for i := range least {
		least[i] = slices.Min(live[len(live)*i/4 : len(live)*(i+1)/4])
	}
	g.From, g.To = least[0], least[3]
	g.Rises = least[0] < least[1] && least[1] < least[2] && least[2] < least[3]
	if requests > 0 {
		// About three quarters of the run are between the two lowest values.
		g.PerRequest = (g.To - g.From) / (0.75 * float64(requests))
	}
	return g, true
}
