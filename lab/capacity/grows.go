package capacity

import (
	"fmt"

	"dyno/lab/record"
)

// farBelow is the share of the peak work rate below which the capacity under the SLO is said to be
// far below it: latency grows long before the work does not fit any more.
const farBelow = 0.7

// part is the mean over the slices at some rates.
type part struct {
	slices      int
	rate        float64 // per second
	mean, delay float64 // ms of a request: its latency, and the time in which its threads queued for a CPU
	cpus        float64 // cores that the target used
	limited     int     // slices in which the generator was the limit
}

// partOf reads the SLO slices with rates between two bounds.
func partOf(all []record.Slice, mine func(*record.Slice) bool, from, to float64) (p part) {
	for i := range all {
		s := &all[i]
		if s.Kind != record.SliceSLO || !mine(s) || s.Invalid != "" || s.Rate < from || s.Rate > to || s.Served == 0 || s.Length <= 0 {
			continue
		}
		p.slices++
		p.rate += s.Rate
		p.mean += s.Latency.Mean
		p.delay += 1000 * s.TargetDelay / float64(s.Served)
		p.cpus += s.TargetCPU / s.Length.Seconds()
		if s.Limited != "" {
			p.limited++
		}
	}
	if n := float64(p.slices); n > 0 {
		p.rate, p.mean, p.delay, p.cpus = p.rate/n, p.mean/n, p.delay/n, p.cpus/n
	}
	return p
}

// grows says which part of the latency grows first, if the capacity under the SLO is far below the
// peak work rate: it compares the slices near the capacity with those well below it. Empty: it is
// near the peak, or there are too few slices.
func (res *Result) grows(all []record.Slice, mine func(*record.Slice) bool) string {
	const (
		low        = 0.75       // the slices well below the capacity: up to this share of it
		near, over = 0.85, 1.05 // the slices at the capacity: between these shares of it
		most       = 0.5        // of the growth of the mean latency
		least      = 2          // slices
	)
	if !res.Valid || res.PeakWorkPerS <= 0 || res.CapacityPerS >= farBelow*res.PeakWorkPerS {
		return ""
	}
	a, b := partOf(all, mine, 0, low*res.CapacityPerS), partOf(all, mine, near*res.CapacityPerS, over*res.CapacityPerS)
	grew := b.mean - a.mean
	if a.slices < least || b.slices < least || grew <= 0 {
		return ""
	}
	text := fmt.Sprintf("the SLO ends at %.0f%% of the peak work rate: from %s to %s the mean latency grows from %.2g to %.2g ms", 100*res.CapacityPerS/res.PeakWorkPerS, PerS(a.rate), PerS(b.rate), a.mean, b.mean)
	waits := b.delay - a.delay
	switch {
	case 4*b.limited > b.slices:
		return text + ", and the load generator was the limit in some of the slices"
	case waits >= most*grew:
		return text + fmt.Sprintf(", most of it its threads' queueing for a CPU (%.2g ms of a request's time, after %.2g)", b.delay, a.delay)
	}
	return text + fmt.Sprintf(", and its threads' queueing for a CPU is little of it (%.2g ms of a request's time, after %.2g, with %.2g cores in use)", b.delay, a.delay, b.cpus)
}
