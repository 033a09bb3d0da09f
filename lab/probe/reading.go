package probe

import "dyno/lab/record"

// reading holds the figures from /proc at one boundary. Figures in seconds are sums.
type reading struct {
	at         int64   // ns, monotonic
	cpu        float64 // s, the target
	delay      float64 // s that the target's threads waited for a CPU
	companions float64 // s
	self       float64 // s, the lab
	busy       float64 // s, the whole machine, without steal
	steal      float64 // s
	pressure   float64 // s in which some task waited for a CPU
	rss        int64   // bytes, the target; for a span: the peak

	system     float64     // s of cpu spent in the kernel
	halts      halts       // halts of the target's threads
	pressureIO float64     // s in which some task waited for a disk
	overflows  float64     // connections refused because their accept queue was full
	accept     acceptQueue // the target's longest; for a span: the longest at any time
	cache, tlb float64     // misses of the target
}

func (r reading) when() int64 { return r.at }

func (r reading) between(next reading, at int64) reading {
	share := float64(at-r.at) / float64(next.at-r.at)
	mid := func(a, b float64) float64 { return a + (b-a)*share }
	return reading{
		at: at, rss: next.rss, accept: next.accept,
		cpu: mid(r.cpu, next.cpu), system: mid(r.system, next.system), delay: mid(r.delay, next.delay),
		companions: mid(r.companions, next.companions), self: mid(r.self, next.self),
		busy: mid(r.busy, next.busy), steal: mid(r.steal, next.steal),
		pressure: mid(r.pressure, next.pressure), pressureIO: mid(r.pressureIO, next.pressureIO),
		halts: halts{
			waits:       mid(r.halts.waits, next.halts.waits),
			preemptions: mid(r.halts.preemptions, next.halts.preemptions),
			blocked:     mid(r.halts.blocked, next.halts.blocked),
		},
		overflows: mid(r.overflows, next.overflows),
		cache:     mid(r.cache, next.cache), tlb: mid(r.tlb, next.tlb),
	}
}

func (r reading) followedBy(next reading) reading {
	next.rss = max(r.rss, next.rss)
	if r.accept.length > next.accept.length {
		next.accept = r.accept
	}
	return next
}

// rate returns the growth of a sum per second between two instants (ns). A sum that fell belongs
// to a restarted process; its rate is 0.
func rate(before, after float64, from, to int64) float64 {
	if to <= from || after < before {
		return 0
	}
	return (after - before) / float64(to-from) * 1e9
}

// server fills in the figures from /proc for the window between two readings.
func (r reading) server(next reading, s *record.Server) {
	s.CPU = rate(r.cpu, next.cpu, r.at, next.at)
	s.Delay = rate(r.delay, next.delay, r.at, next.at)
	s.RSS = next.rss
}
