package usage

// misses counts the cache and TLB misses of the target's code. Reading a counter interrupts the
// processor that it counts on, so it is read once a second.
type misses struct {
	cache, tlb       *counter
	cacheSum, tlbSum smoother
}

// countMisses begins to count in a process tree's threads. The result must be closed.
func countMisses(h Source, f *processTree) *misses {
	var tids []int
	for pid := range f.members {
		tids = append(tids, h.tasks(pid)...)
	}
	return &misses{cache: openCounter(cacheMisses, tids), tlb: openCounter(tlbMisses, tids)}
}

// read returns the sums so far. A nil misses counts nothing.
func (m *misses) read(count int) (cache, tlb float64) {
	if m == nil {
		return 0, 0
	}
	if count%slowEvery == 0 {
		m.cacheSum.add(m.cache.grown(), slowEvery)
		m.tlbSum.add(m.tlb.grown(), slowEvery)
	}
	return m.cacheSum.next(), m.tlbSum.next()
}

func (m *misses) close() {
	if m != nil {
		m.cache.close()
		m.tlb.close()
	}
}
