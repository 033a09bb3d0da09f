package usage

import (
	"dyno/agent/monotonic"
	"dyno/lab/probe/procfs"
)

// Meter reads, at each call, the CPU time that a target, its dependencies, the lab and the machine
// have used so far. It is for loads that are too short for readings at a steady interval. It is not
// safe for concurrent use.
type Meter struct {
	sampler *Sampler
	cores   int
}

// Sum holds CPU times in seconds, counted from an arbitrary moment: only differences have a
// meaning.
type Sum struct {
	At                         int64   // ns, monotonic
	Target, Dependencies, Self float64 // with their children; Self: the lab without children, and its generators with theirs
	Busy, Steal                float64 // of the whole machine; Busy excludes Steal
	Delay                      float64 // time in which the target's present threads waited for a CPU
}

// NewMeter returns a meter of processes.
func NewMeter(p Processes) *Meter {
	s := NewSampler(Source{Root: "/", Clock: processClock}, p)
	return &Meter{sampler: s, cores: max(1, len(s.cpus))}
}

// FindPeers looks for processes that the target calls, so that they count as its dependencies. It
// reads every socket of the machine, so it must not run during a load.
func (m *Meter) FindPeers() {
	now := monotonic.Now()
	m.sampler.search(now)
	m.sampler.findPeers(now)
}

// Read returns the sums so far.
func (m *Meter) Read() Sum {
	return promptly(m.read, func(u *Sum, late int64) { u.At += late })
}

func (m *Meter) read(now int64) Sum {
	s, u := m.sampler, Sum{At: now}
	if u.At-s.searched >= searchAge {
		s.search(u.At)
	}
	if s.target != nil {
		u.Target, u.Delay = s.target.cpuTimes(s.from, false).cpu, s.from.delayed(s.target)
	}
	for _, f := range s.dependencies {
		u.Dependencies += f.cpuTimes(s.from, false).cpu
	}
	for _, p := range s.peers {
		u.Dependencies += p.cpuTimes(s.from, false).cpu
	}
	if s.self > 0 {
		if now, ok := s.from.cpuTimes(s.self, false); ok {
			u.Self = now.cpu
		}
	}
	for _, h := range s.generators {
		u.Self += h.cpuTimes(s.from, false).cpu
	}
	if b, err := s.from.read("stat"); err == nil {
		u.Busy, u.Steal, _ = procfs.CPUTimes(b, s.cpus)
	}
	return u
}

// RSS returns the target's resident memory, in bytes; 0: it cannot be read.
func (m *Meter) RSS() int64 {
	if m.sampler.target == nil {
		return 0
	}
	return m.sampler.target.resident(m.sampler.from)
}

// Since returns the differences between an earlier Sum and u.
func (u Sum) Since(before Sum) Sum {
	return Sum{
		At: u.At - before.At, Target: max(0, u.Target-before.Target), Dependencies: max(0, u.Dependencies-before.Dependencies),
		Self: max(0, u.Self-before.Self), Busy: max(0, u.Busy-before.Busy), Steal: max(0, u.Steal-before.Steal),
		Delay: max(0, u.Delay-before.Delay),
	}
}

// Shares returns the shares of the machine that the hypervisor and that other processes took, from
// the result of Since. The kernel counts the time of the machine in hundredths of a second: over
// 0.3 s, a share can be wrong by up to 3%.
func (m *Meter) Shares(within Sum) (steal, others float64) {
	if m.sampler.target == nil { // the target's own work would count as that of others
		within.Busy = 0
	}
	capacity := float64(within.At) / 1e9 * float64(m.cores)
	if capacity <= 0 {
		return 0, 0
	}
	known := within.Target + within.Dependencies + within.Self
	busy := min(within.Busy, capacity-within.Steal) // the kernel may count some of it late
	return min(1, within.Steal/capacity), max(0, busy-known) / capacity
}
