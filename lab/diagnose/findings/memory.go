package findings

import (
	"cmp"
	"fmt"
	"slices"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// allocations lists the allocations of a request, by place.
func allocations(l *figures) []Finding {
	if l.Profiled == nil {
		return nil
	}
	bytes, err := l.Profiled.Profile(record.ProfileHeap, record.ValueAllocBytes)
	if err != nil {
		return nil
	}
	bytes = stacks.Unprofiled(bytes)
	where := stacks.Sites(bytes.Stacks)
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
	f := Finding{Kind: KindAllocations, Sites: where, Profile: record.ProfileHeap, worth: cost * top.Share,
		Removes: whatif.Removal{CPU: cost * top.Share, CPUOf: "spent allocating and collecting what " + top.String() + " allocates, in proportion to its bytes"},
		Text:    fmt.Sprintf("A request allocates %s, %s of it%s", size(each), percent(top.Share), in(where)),
		Evidence: []Evidence{{"bytes_per_request", round(each), "bytes", "allocated on the heap"},
			{"site_bytes_per_request", round(each * top.Share), "bytes", "allocated on the heap in " + top.Function}},
		Next: "dyno escape ./... " + l.dir() + " joins these places with the compiler's reasons for putting them on the heap"}
	if objects, err := l.Profiled.Profile(record.ProfileHeap, record.ValueAllocObjects); err == nil {
		f.Evidence = append(f.Evidence, Evidence{"objects_per_request", round(stacks.Unprofiled(objects).Total() / n), "objects", "allocated on the heap"})
	}
	if cost > 0 {
		f.Text += fmt.Sprintf("; allocating and collecting takes %s of the CPU time", percent(cost))
		f.Evidence = append(f.Evidence, Evidence{"allocation_share", round(cost), "of CPU time", "spent allocating and collecting"})
	}
	f.Text += "."
	return []Finding{f}
}

// heapLeak finds a live heap that grows under a constant load.
func heapLeak(l *figures) []Finding {
	grew, looked, most := 0, 0, facts.HeapGrowth{}
	for _, r := range l.counted {
		if !steady(r) {
			continue
		}
		g, enough := facts.Heap(r)
		if !enough {
			continue
		}
		looked++
		if by := g.To - g.From; g.Rises && by >= leakBytes && by >= leakHeap*g.From {
			grew++
			if g.PerRequest > most.PerRequest || grew == 1 {
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
	f := Finding{Kind: KindHeap, Sites: sites, Profile: record.ProfileHeap, worth: 1,
		Next: fmt.Sprintf("run it ten times as long at the same rate: a cache stops growing when it is full, a leak does not; go tool pprof -sample_index=inuse_space -base %s %s shows the growth",
			l.path(record.ProfileHeapStart), l.path(record.ProfileHeap))}
	if looked > 0 {
		f.Text = fmt.Sprintf("The live heap after a collection grew under a constant load, from %s to %s within a run (in %d of %d runs)",
			size(most.From), size(most.To), grew, looked)
		f.Evidence = append(f.Evidence, Evidence{"heap_growth", round(most.To - most.From), "bytes", "of live heap within one run"})
		if most.PerRequest > 0 {
			f.Text += fmt.Sprintf(": %s for each request", size(most.PerRequest))
			f.Evidence = append(f.Evidence, Evidence{"heap_growth_per_request", round(most.PerRequest), "bytes", "retained per request"})
		}
	} else {
		f.Text = fmt.Sprintf("The live heap after a collection grew from %s to %s while profiles were taken", size(before), size(before+growth))
		f.Evidence = append(f.Evidence, Evidence{"heap_growth", round(growth), "bytes", "between two heap profiles"})
	}
	if len(sites) > 0 {
		f.Text += fmt.Sprintf("; memory allocated%s grew most", in(sites))
	}
	f.Text += "."
	return []Finding{f}
}

// path is the path of a profile, for a command; a pattern of it if no run was profiled.
func (l *figures) path(kind string) string {
	if l.Profiled == nil {
		return "DIR/profiles/" + kind + ".pb.gz"
	}
	return l.file(kind)
}

// growingSites returns the places whose live bytes grew between the two heap profiles, their total
// growth, and the live bytes before.
func (l *figures) growingSites() (where []stacks.Site, growth, before float64) {
	first, last, ok := l.pair(record.ProfileHeapStart, record.ProfileHeap, record.ValueInUseBytes)
	if !ok {
		return nil, 0, 0
	}
	first, last = stacks.Unprofiled(first), stacks.Unprofiled(last)
	return stacks.Grown(first.Stacks, last.Stacks), last.Total() - first.Total(), first.Total()
}

// gcPauses finds garbage collection pauses whose lengths form two groups, if the longer ones may
// affect the p99.
func gcPauses(l *figures) []Finding {
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
	short, long, two := facts.Modes(all)
	if !two || long.Ms < pauseShare*p99 {
		return nil
	}
	f := Finding{Kind: KindGCPauses, worth: pauseShare,
		Text: fmt.Sprintf("The pauses of the garbage collector fall into two groups: %d of up to %s, and %d of up to %s.",
			short.Count, micros(short.Ms*1000), long.Count, micros(long.Ms*1000)),
		Evidence: []Evidence{{"gc_pause_short", round(short.Ms), "ms", "most frequent length in the first group"},
			{"gc_pause_long", round(long.Ms), "ms", "most frequent length in the second group"},
			{"gc_pause_long_share", round(float64(long.Count) / float64(short.Count+long.Count)), "of the pauses", "in the second group"}},
		Profile: record.ProfileHeap,
		Next:    "compare the live heap by place: go tool pprof -sample_index=inuse_space -top " + l.path(record.ProfileHeap) + "; then try GOGC=200 and see whether the second group shrinks"}
	if ratio := float64(long.Count) / float64(short.Count); ratio > 2.0/3 && ratio < 1.5 {
		f.Text += " The groups are about equally large, so they may be the two pauses of every cycle."
	} else {
		f.Text += " A possible cause is a second class of long-lived objects, or goroutines that could not be stopped immediately."
	}
	return []Finding{f}
}
