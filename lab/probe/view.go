package probe

import (
	"maps"
	"slices"
	"time"

	"dyno/lab/probe/usage"
	"dyno/lab/record"
)

// Server returns the target's view of the window that begins at start (ns, monotonic). It waits up
// to wait for missing readings, and then uses those that there are; nil: there are none.
func (w *Watcher) Server(start int64, wait time.Duration) *record.Server {
	k := boundary(start)
	patience := time.NewTimer(wait)
	defer patience.Stop()
	for {
		w.mu.Lock()
		s, complete := w.view(k)
		changed := w.changed
		w.mu.Unlock()
		if complete || wait <= 0 {
			return s
		}
		select {
		case <-changed:
		case <-patience.C:
			wait = 0
		}
	}
}

// view returns the view of the window between boundaries k and k+1, and whether it is complete.
// The caller holds w.mu.
func (w *Watcher) view(k int64) (s *record.Server, complete bool) {
	s, seen := &record.Server{}, false
	complete = (!w.sees.Target || w.proc.passed(k+1)) && (!w.streaming || w.samples.passed(k+1))
	if a, ok := w.samples.at(k); ok {
		if b, ok := w.samples.at(k + 1); ok {
			a.server(b, s)
			seen = true
		}
	}
	if a, ok := w.proc.at(k); ok && w.sees.Target {
		if b, ok := w.proc.at(k + 1); ok {
			a.server(b, s)
			seen = true
		}
	}
	if !seen {
		return nil, complete
	}
	return s, complete
}

// System returns what the machine and the target used between two instants (ns, monotonic). Seen is
// false if neither the target's process nor its agent can be read, since the target's work would
// then count as that of other processes. Elsewhere is true if only the agent can be read and its
// clock is not this machine's.
func (w *Watcher) System(from, to int64) record.System {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := record.System{PressureCPU: -1, PressureIO: -1, Elsewhere: !w.sees.Target && w.remote}
	a, b, ok := w.proc.span(from, to)
	if !ok || !w.sees.Machine {
		return out
	}
	per := func(before, after float64) float64 { return usage.Rate(before, after, a.At, b.At) }
	here := 0.0 // the target's CPU on this machine
	switch first, last, agent := w.samples.span(from, to); {
	case w.sees.Target:
		out.TargetCPU, out.TargetSystem = per(a.CPU, b.CPU), per(a.System, b.System)
		out.TargetDelay = per(a.Delay, b.Delay)
		out.BusiestThread, out.BusiestProcess = per(a.Thread, b.Thread), per(a.Process, b.Process)
		out.Calls, out.CallsOpen, out.CallsTo = a.Calls.Until(b.Calls)
		here = out.TargetCPU
	case agent:
		sum := func(before, after float64) float64 { return usage.Rate(before, after, first.At, last.At) }
		out.TargetCPU, out.TargetSystem = sum(first.CPU, last.CPU), sum(first.SystemCPU, last.SystemCPU)
		out.TargetDelay = sum(first.Delay, last.Delay)
		if !w.remote {
			here = out.TargetCPU
		}
	default:
		return out
	}
	out.Seen = true
	out.StealCPU = per(a.Steal, b.Steal)
	out.Peers, out.Outgoing = slices.Clone(w.peers), w.outgoing
	out.DependencyCPU = per(a.Dependencies, b.Dependencies)
	// The kernel counts busy time by ticks, and may count some of it late: no more can be busy than
	// the CPUs that are counted.
	used := per(a.Busy, b.Busy) + out.StealCPU
	if w.cpus > 0 {
		used = min(used, float64(w.cpus))
	}
	out.OthersCPU = max(0, used-here-out.DependencyCPU-per(a.Self, b.Self))
	if w.sees.PressureCPU {
		out.PressureCPU = min(1, per(a.Pressure, b.Pressure))
	}
	if w.sees.PressureIO {
		out.PressureIO = min(1, per(a.PressureIO, b.PressureIO))
	}
	// The two sums come from different clocks, and the kernel's part is counted in hundredths of a
	// second.
	out.TargetSystem = min(out.TargetSystem, out.TargetCPU)
	out.Switches, out.Preempted = per(a.Halts.Waits, b.Halts.Waits), per(a.Halts.Preemptions, b.Halts.Preemptions)
	out.BlockedIO = per(a.Halts.Blocked, b.Halts.Blocked)
	out.ListenOverflows = per(a.Overflows, b.Overflows)
	out.AcceptQueue, out.AcceptLimit = b.Accept.Length, b.Accept.Limit
	out.CacheMisses, out.TLBMisses = per(a.Cache, b.Cache), per(a.TLB, b.TLB)
	return out
}

// Totals returns the resources that the target used between two instants (ns, monotonic), in which
// it answered the given number of requests; nil: it was not observed. The agent and the timeline
// count GC pauses in buckets, at the upper bound: the p99 is up to 40% too high.
func (w *Watcher) Totals(from, to int64, requests int64) *record.ServerTotals {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := &record.ServerTotals{AllocsPerRequest: -1, BytesPerRequest: -1}
	per := func(before, after float64) float64 {
		if requests <= 0 {
			return 0
		}
		return max(0, after-before) / float64(requests)
	}
	s, t, agent := w.samples.span(from, to)
	if agent {
		out.CPUMicrosPerRequest = per(s.CPU, t.CPU) * 1e6
		out.AllocsPerRequest = per(float64(s.Allocs), float64(t.Allocs))
		out.BytesPerRequest = per(float64(s.AllocBytes), float64(t.AllocBytes))
		out.PeakGoroutines = t.Goroutines
		out.GCPauseP99Ms = t.pauses.quantile(0.99) * 1000
		out.GCPauses = t.pauses.buckets()
		out.MutexWait = usage.Rate(s.MutexWait, t.MutexWait, s.At, t.At)
		out.Gauges = maps.Clone(t.Gauges)
		if used := t.CPU - s.CPU; used > 0 {
			out.GCShare = max(0, t.GCCPU-s.GCCPU) / used
		}
	}
	a, b, proc := w.proc.span(from, to)
	if proc && w.sees.Target {
		out.CPUMicrosPerRequest = per(a.CPU, b.CPU) * 1e6
		out.PeakRSS = b.RSS
	} else if !agent {
		return nil
	}
	return out
}
