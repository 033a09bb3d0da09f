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
	slices  int
	rate    float64 // per second
	mean    float64 // latency of a request, ms
	of      [causes]float64
	cpus    float64 // cores that the target used
	agents  int     // slices in which the target had the agent
	limited int     // slices in which the generator was the limit
}

// Causes of latency: of, in a part, is a request's time in each of them, in ms.
const (
	queueing = iota // its threads were runnable, and waited for a CPU
	locked          // blocked on mutexes; only with the agent
	paused          // stopped by the collector; only with the agent
	causes
)

var causeNames = [causes]string{"its threads' queueing for a CPU", "waiting for locks", "pauses of the garbage collector"}

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
		p.of[queueing] += 1000 * s.TargetDelay / float64(s.Served)
		p.of[locked] += 1000 * s.MutexWait / float64(s.Served)
		p.of[paused] += s.Latency.Mean * s.GCPause / s.Length.Seconds() // a request is stopped for the same share of its time
		p.cpus += s.TargetCPU / s.Length.Seconds()
		if s.Allocs >= 0 {
			p.agents++
		}
		if s.Limited != "" {
			p.limited++
		}
	}
	if n := float64(p.slices); n > 0 {
		p.rate, p.mean, p.cpus = p.rate/n, p.mean/n, p.cpus/n
		for i := range p.of {
			p.of[i] /= n
		}
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
	if 4*b.limited > b.slices {
		return text + ", and the load generator was the limit in some of the slices"
	}
	seen, unseen := causes, ""
	switch {
	case a.agents < a.slices || b.agents < b.slices:
		seen, unseen = locked, "were not seen, which takes dyno/agent" // the causes before it
	case a.of[locked]+a.of[paused]+b.of[locked]+b.of[paused] == 0: // slices of earlier versions have neither
		seen, unseen = locked, "were not recorded, or took no time"
	}
	first := queueing
	for i := range seen {
		if b.of[i]-a.of[i] > b.of[first]-a.of[first] {
			first = i
		}
	}
	if b.of[first]-a.of[first] >= most*grew {
		return text + fmt.Sprintf(", most of it %s (%.2g ms of a request's time, after %.2g)", causeNames[first], b.of[first], a.of[first])
	}
	text += fmt.Sprintf(", and %s is little of it (%.2g ms of a request's time, after %.2g, with %.2g cores in use)", causeNames[queueing], b.of[queueing], a.of[queueing], b.cpus)
	if seen == causes {
		return text + fmt.Sprintf(", as are %s (%.2g ms, after %.2g) and %s (%.2g ms, after %.2g)", causeNames[locked], b.of[locked], a.of[locked], causeNames[paused], b.of[paused], a.of[paused])
	}
	return text + "; its locks and pauses " + unseen
}
