package probe

// misses counts what the target's code wanted and was not in the processor's caches. Reading a counter
// interrupts the processor that it counts on, so it is read once a second.
type misses struct {
	cache, tlb       *counter
	cacheSum, tlbSum drip
}

// countMisses begins to count in a family's threads. It must be closed.
func countMisses(h host, f *family) *misses {
	var tids []int
	for pid := range f.members {
		tids = append(tids, h.tasks(pid)...)
	}
	return &misses{cache: openCounter(cacheMisses, tids), tlb: openCounter(tlbMisses, tids)}
}

// read returns how many there have been. A nil misses has seen none.
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
