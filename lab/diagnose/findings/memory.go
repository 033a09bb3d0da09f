package findings

import (
	"cmp"
	"fmt"
	"slices"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// allocations lists the allocations of a request, by place.
func allocations(l *look) []Finding {
	if l.Profiled == nil {
		return nil
	}
	bytes, err := l.Profiled.Profile(record.ProfileHeap, record.ValueAllocBytes)
	if err != nil {
		return nil
	}
	bytes = own(bytes)
	where := places(bytes.Stacks)
	n := l.requests(bytes)
	if len(where) == 0 || where[0].Share < hotShare || n <= 0 {
		return nil
	}
	cost := l.classes[stacks.Malloc] + l.classes[stacks.GC]
	each := bytes.Total() / n
	if l.cpu != nil && cost < allocShare || l.cpu == nil && each < allocBytes {
		return nil
	}
	top := where[0]
	f := Finding{Kind: KindAllocations, Where: where, Profile: record.ProfileHeap, worth: cost * top.Share,
		InWords: fmt.Sprintf("A request allocates %s, %s of it%s", size(each), percent(top.Share), in(where)),
		Evidence: []Evidence{{"bytes_per_request", round(each), "bytes", "allocated on the heap"},
			{"site_bytes_per_request", round(each * top.Share), "bytes", "allocated on the heap in " + top.Function}},
		Next: "dyno escape ./... " + l.dir() + " joins these places with the compiler's reasons for putting them on the heap"}
	if objects, err := l.Profiled.Profile(record.ProfileHeap, record.ValueAllocObjects); err == nil {
		f.Evidence = append(f.Evidence, Evidence{"objects_per_request", round(own(objects).Total() / n), "objects", "allocated on the heap"})
	}
	if cost > 0 {
		f.InWords += fmt.Sprintf("; allocating and collecting takes %s of the CPU time", percent(cost))
		f.Evidence = append(f.Evidence, Evidence{"allocation_share", round(cost), "of CPU time", "spent allocating and collecting"})
	}
	f.InWords += "."
	return []Finding{f}
}

// heapLeak finds a live heap that grows under a constant load.
func heapLeak(l *look) []Finding {
	grew, looked, most := 0, 0, heapGrowth{}
	for _, r := range l.counted {
		if !steady(r) {
			continue
		}
		g, enough := heapOver(r)
		if !enough {
			continue
		}
		looked++
		if g.leaks {
			grew++
			if g.perRequest > most.perRequest {
				most = g
			}
		}
	}
	sites, growth, before := l.growingSites()
	switch {
	case looked > 0 && 2*grew <= looked:
		return nil
	case looked == 0 && (growth < leakBytes || growth < leakHeap*before):
		return nil
	}
	f := Finding{Kind: KindHeap, Where: sites, Profile: record.ProfileHeap, worth: 1,
		Next: fmt.Sprintf("run it ten times as long at the same rate: a cache stops growing when it is full, a leak does not; go tool pprof -sample_index=inuse_space -base %s %s shows the growth",
			l.path(record.ProfileHeapStart), l.path(record.ProfileHeap))}
	if looked > 0 {
		f.InWords = fmt.Sprintf("The live heap after a collection grew under a constant load, from %s to %s within a run (in %d of %d runs)",
			size(most.from), size(most.to), grew, looked)
		f.Evidence = append(f.Evidence, Evidence{"heap_growth", round(most.to - most.from), "bytes", "of live heap within one run"})
		if most.perRequest > 0 {
			f.InWords += fmt.Sprintf(": %s for each request", size(most.perRequest))
			f.Evidence = append(f.Evidence, Evidence{"heap_growth_per_request", round(most.perRequest), "bytes", "retained per request"})
		}
	} else {
		f.InWords = fmt.Sprintf("The live heap after a collection grew from %s to %s while profiles were taken", size(before), size(before+growth))
		f.Evidence = append(f.Evidence, Evidence{"heap_growth", round(growth), "bytes", "between two heap profiles"})
	}
	if len(sites) > 0 {
		f.InWords += fmt.Sprintf("; memory allocated%s grew most", in(sites))
	}
	f.InWords += "."
	return []Finding{f}
}

// path is the path of a profile if there is a profiled run.
func (l *look) path(kind string) string {
	if l.Profiled == nil {
		return "DIR/profiles/" + kind + ".pb.gz"
	}
	return l.file(kind)
}

type heapGrowth struct {
	leaks      bool
	from, to   float64 // bytes
	perRequest float64 // bytes
}

// heapOver reads the live heap of a run: the lowest value of each quarter, since the runtime sets
// it at each collection, and a collection during a burst of requests gives a high value. The heap
// grows when each quarter's lowest value is above the one before.
func heapOver(r *record.Run) (g heapGrowth, enough bool) {
	var live []float64
	requests := int64(0)
	for _, w := range r.Series {
		if w.Phase == record.PhaseMeasure && w.Server != nil && w.Server.HeapLive > 0 {
			live = append(live, float64(w.Server.HeapLive))
			requests += w.Client.Completed
		}
	}
	if len(live) < leastWindows || len(slices.Compact(slices.Clone(live))) < leakGCCycles {
		return g, false
	}
	var least [4]float64
	for i := range least {
		least[i] = slices.Min(live[len(live)*i/4 : len(live)*(i+1)/4])
	}
	g.from, g.to = least[0], least[3]
	rises := least[0] < least[1] && least[1] < least[2] && least[2] < least[3]
	g.leaks = rises && g.to-g.from >= leakBytes && g.to-g.from >= leakHeap*g.from
	if requests > 0 {
		// About three quarters of the run are between the two lowest values.
		g.perRequest = (g.to - g.from) / (0.75 * float64(requests))
	}
	return g, true
}

// growingSites returns the places whose live bytes grew between the two heap profiles, their total
// growth, and the live bytes before.
func (l *look) growingSites() (where []Place, growth, before float64) {
	if l.Profiled == nil {
		return nil, 0, 0
	}
	first, err := l.Profiled.Profile(record.ProfileHeapStart, record.ValueInUseBytes)
	if err != nil {
		return nil, 0, 0
	}
	last, err := l.Profiled.Profile(record.ProfileHeap, record.ValueInUseBytes)
	if err != nil {
		return nil, 0, 0
	}
	before = own(first).Total()
	where = grown(own(first).Stacks, own(last).Stacks)
	return where, own(last).Total() - before, before
}

// grown returns the places whose values rose from before to after, as shares of the total growth.
func grown(before, after []record.Stack) []Place {
	had := map[string]float64{}
	for _, s := range before {
		if f, ok := stacks.UserFrame(s.Frames); ok {
			had[f.Function] += s.Value
		}
	}
	var grew []record.Stack
	for _, s := range after {
		f, ok := stacks.UserFrame(s.Frames)
		if !ok {
			continue
		}
		taken := min(had[f.Function], s.Value)
		had[f.Function] -= taken
		if s.Value -= taken; s.Value > 0 {
			grew = append(grew, s)
		}
	}
	return places(grew)
}

// gcPauses finds pauses that form two groups.
func gcPauses(l *look) []Finding {
	pauses := map[float64]int64{}
	p99 := 0.0
	for _, r := range l.counted {
		if r.Totals.Server == nil {
			continue
		}
		for _, b := range r.Totals.Server.GCPauses {
			pauses[b.UpToMs] += b.Count
		}
		if p := r.SLO.Observed(r.Totals).P99; p > 0 && (p99 == 0 || p < p99) {
			p99 = p
		}
	}
	var all []record.PauseBucket
	for upTo, n := range pauses {
		all = append(all, record.PauseBucket{UpToMs: upTo, Count: n})
	}
	slices.SortFunc(all, func(a, b record.PauseBucket) int { return cmp.Compare(a.UpToMs, b.UpToMs) })
	short, long, two := modes(all)
	if !two || long.ms < pauseShare*p99 {
		return nil
	}
	f := Finding{Kind: KindGCPauses, worth: pauseShare,
		InWords: fmt.Sprintf("The pauses of the garbage collector fall into two groups: %d of up to %s, and %d of up to %s.",
			short.count, micros(short.ms*1000), long.count, micros(long.ms*1000)),
		Evidence: []Evidence{{"gc_pause_short", round(short.ms), "ms", "most frequent length in the first group"},
			{"gc_pause_long", round(long.ms), "ms", "most frequent length in the second group"},
			{"gc_pause_long_share", round(float64(long.count) / float64(short.count+long.count)), "of the pauses", "in the second group"}},
		Profile: record.ProfileHeap,
		Next:    "compare the live heap by place: go tool pprof -sample_index=inuse_space -top " + l.path(record.ProfileHeap) + "; then try GOGC=200 and see whether the second group shrinks"}
	if ratio := float64(long.count) / float64(short.count); ratio > 2.0/3 && ratio < 1.5 {
		f.InWords += " The groups are about equally large, so they may be the two pauses of every cycle."
	} else {
		f.InWords += " A possible cause is a second class of long-lived objects, or goroutines that could not be stopped immediately."
	}
	return []Finding{f}
}
