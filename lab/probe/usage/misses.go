package usage

// misses counts the cache and TLB misses of the target outside the kernel. It reads its counters
// only once a second, since a reading interrupts the CPU that counts.
type misses struct {
	cache, tlb       *counter
	cacheSum, tlbSum smoother
}

// countMisses begins to count in the threads of a process tree. The caller must close the result.
func countMisses(h Source, f *processTree) *misses {
	var tids []int
	for pid := range f.members {
		tids = append(tids, h.tasks(pid)...)
	}
	return &misses{cache: openCounter(cacheMisses, tids), tlb: openCounter(tlbMisses, tids)}
}

// read returns the sums so far, and zeros if m is nil.
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
