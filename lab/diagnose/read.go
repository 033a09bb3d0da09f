package diagnose

import (
	"math"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// evidence is what was read from a subject's runs, beyond single figures.
type evidence struct {
	signals Signals
	cpu     *record.Profile // nil: none was taken
	trace   *record.Trace   // nil: none was taken
	waits   map[stacks.WaitKind][]record.Wait
	top     stacks.WaitKind // the kind of wait, locks left out, that took most of the requests' time
	unseen  []string
}

// read reads the signals of a subject.
func (s Subject) read() evidence {
	e := evidence{signals: Signals{}, waits: map[stacks.WaitKind][]record.Wait{}}
	main := s.last()
	if main == nil {
		main = s.Profiled
	}
	if main == nil {
		return e
	}
	e.load(s, main)
	e.machine(main)
	if s.Profiled != nil {
		e.profile(s.Profiled)
		e.traced(s.Profiled)
	}
	e.locks(main)
	e.blind(main, s.Profiled)
	return e
}

// inFlight is how many requests were under way at a time: the clients of a closed loop, or by Little's law.
// A run whose latency counts for nothing still tells how many of its offers were not answered yet.
func inFlight(r *record.Run) float64 {
	if r.Load.Model == "closed" {
		return float64(r.Step.Connections)
	}
	t := r.Totals
	if mean := max(t.Service.Mean, r.SLO.Observed(t).Mean); mean > 0 {
		return t.AchievedPerS * mean / 1000
	}
	sum, n := 0.0, 0.0
	for _, w := range r.Series {
		if w.Phase == record.PhaseProfile {
			sum, n = sum+float64(w.Client.Backlog), n+1
		}
	}
	return sum / max(n, 1)
}

// perSecond is the throughput as the SLO counts it.
func perSecond(r *record.Run) float64 {
	if r.SLO.On == record.OnDelivery {
		return r.Totals.DeliveredPerS
	}
	return r.Totals.AchievedPerS
}

// load reads what the generator saw.
func (e *evidence) load(s Subject, r *record.Run) {
	sig, t := e.signals, r.Totals
	x, c := perSecond(r), inFlight(r)
	sig[Throughput], sig[Clients] = x, c
	sig[GeneratorBusy] = t.Generator.BusiestThread
	if lag := t.Lag.P99 / 1000; lag > 1 && t.Response.P99 > 0 {
		sig[GeneratorLag] = lag / t.Response.P99
	}
	if r.Step.Role == record.RoleProfile {
		return // its latency counts for nothing
	}
	if clients := float64(r.Load.Connections); clients > 0 && r.SLO.On != record.OnDelivery {
		sig[Occupied] = x * t.Service.Mean / 1000 / clients
	}
	sig[Capped] = 0
	if r.Step.Capped {
		sig[Capped] = 1
	}
	if r.Load.Model != "closed" {
		return
	}
	sig[Growth] = growth(s.Saturated)
	peak := 0.0
	for _, r := range s.Saturated {
		peak = max(peak, perSecond(r))
	}
	if first := s.Saturated[0]; first.Step.Connections == 1 {
		sig[Serial] = peak * first.Totals.Service.Mean / 1000
	}
}

// machine reads what the target and its surroundings used.
func (e *evidence) machine(r *record.Run) {
	sig, around := e.signals, r.Around
	if !around.Seen || r.Machine.Cores == 0 {
		return
	}
	sig[Cores] = around.TargetCPU
	sig[Utilisation] = around.TargetCPU / available(r)
	sig[Neighbours] = around.OthersCPU / float64(r.Machine.Cores)
	sig[Delayed] = around.TargetDelay
	if around.TargetCPU > 0 {
		sig[System] = around.TargetSystem / around.TargetCPU
	}
	if x := sig[Throughput]; x > 0 {
		sig[AcceptFull] = around.ListenOverflows / x
	}
	if c := sig[Clients]; c > 0 {
		sig[AcceptQueue] = float64(around.AcceptQueue) / c
	}
	if around.AcceptLimit > 0 {
		sig[AcceptFill] = float64(around.AcceptQueue) / float64(around.AcceptLimit)
	}
	if server := r.Totals.Server; server != nil && r.Target.Agent {
		sig[GCShare] = server.GCShare
	}
}

// available is how many cores the target could have had: its GOMAXPROCS, and no more than what the lab's
// own generator and companions, and everybody else, left of the machine.
func available(r *record.Run) float64 {
	const least = 0.25 // of a core; a machine that the lab fills alone leaves the target its turns
	cores := float64(r.Machine.Cores)
	if s := r.Length.Seconds(); s > 0 {
		cores -= r.Totals.Generator.CPUSeconds / s
	}
	cores = max(least, cores-r.Around.CompanionCPU-r.Around.OthersCPU)
	if procs := float64(r.Target.Procs); procs > 0 {
		cores = min(cores, procs)
	}
	return cores
}

// profile reads the CPU profile.
func (e *evidence) profile(r *record.Run) {
	p, err := r.Profile(record.ProfileCPU, record.ValueCPU)
	if err != nil {
		if system, seen := e.signals[System]; seen {
			e.signals[Kernel] = system
		}
		e.unseen = append(e.unseen, err.Error())
		return
	}
	e.cpu = p
	shares := stacks.Shares(p)
	sig := e.signals
	sig[Collecting] = shares[stacks.GC]
	sig[Allocating] = shares[stacks.GC] + shares[stacks.Malloc]
	sig[LockSpin] = shares[stacks.Lock]
	sig[Kernel] = shares[stacks.Syscall]
	if _, seen := sig[Utilisation]; !seen && p.Seconds > 0 {
		// Nothing else says what the process used: the samples do, each of which stands for its time.
		sig[Cores] = p.Total() / 1e9 / p.Seconds
		sig[Utilisation] = sig[Cores] / available(r)
	}
}

// traced reads the execution trace: where the requests' time went.
func (e *evidence) traced(r *record.Run) {
	t, err := r.Trace()
	if err != nil && !r.Target.Pprof {
		return // which is said of the target as a whole
	}
	if err != nil || t.Seconds <= 0 {
		e.unseen = append(e.unseen, "no execution trace was taken: where requests wait is not known")
		return
	}
	e.trace = t
	sums := map[stacks.WaitKind]float64{}
	all, top := 0.0, 0.0
	for _, w := range t.Waits {
		kind := stacks.KindOf(w)
		if kind == stacks.WaitIdle || kind == stacks.WaitBackground {
			continue
		}
		e.waits[kind] = append(e.waits[kind], w)
		sums[kind] += w.Seconds
		all += w.Seconds
		if kind != stacks.WaitLock && kind != stacks.WaitGC && sums[kind] > top {
			e.top, top = kind, sums[kind]
		}
	}
	if ready, kind := e.held(t, sums); ready > 0 {
		sums[kind] += ready
		if sums[kind] > top {
			e.top, top = kind, sums[kind]
		}
		e.signals[HeldBack] = ready
	}
	if spent := requestTime(inFlight(r)*t.Seconds, all, t); spent > 0 {
		e.signals[Waiting] = math.Min(1, all/spent)
		e.signals[WaitTop] = math.Min(1, top/spent)
		e.signals[LockWait] = math.Min(1, sums[stacks.WaitLock]/spent)
		if ready, seen := e.signals[HeldBack]; seen {
			e.signals[HeldBack] = math.Min(1, ready/spent)
		}
	}
	if r.SLO.On == record.OnDelivery {
		e.workers(t)
	}
	for _, w := range e.waits[e.top] {
		if w.Wakers == 1 && w.Seconds > top/2 {
			e.signals[SerialBusy] = w.WakerBusy
		}
	}
}

// held returns the goroutine-seconds in which goroutines were ready to run although there was CPU left, and
// what for: a goroutine that blocks in a system call keeps its processor (one of GOMAXPROCS) until the
// scheduler notices, some 20 us to 10 ms later. Those that could run meanwhile wait for the call as well.
func (e *evidence) held(t *record.Trace, sums map[stacks.WaitKind]float64) (seconds float64, kind stacks.WaitKind) {
	kind = stacks.WaitDisk
	if sums[stacks.WaitSyscall] > sums[kind] {
		kind = stacks.WaitSyscall
	}
	u, seen := e.signals[Utilisation]
	if !seen || u >= Defaults.value(idleCPU) || sums[kind] == 0 {
		return 0, kind
	}
	return t.Runnable, kind
}

// requestTime is the goroutine-seconds that a trace shows of requests: their waits, and what ran or could
// have run. It leaves out what the requests spent outside, on the way from and to the client, and is never
// more than what all clients have.
func requestTime(clients, waits float64, t *record.Trace) float64 {
	if clients == 0 {
		return waits + t.Running + t.Runnable
	}
	return math.Min(clients, waits+t.Running+t.Runnable)
}

// workers looks for the goroutines that do the work after a request was answered: the group whose time goes
// into one kind of wait, and which does not wait for work. Offered more than it carries, a service always
// has work for them, so a group that waits for some is not what bounds it.
func (e *evidence) workers(t *record.Trace) {
	groups := map[record.Frame]float64{}
	for _, g := range t.Groups {
		groups[g.Entry] = float64(g.Goroutines) * t.Seconds
	}
	spent := map[record.Frame]map[stacks.WaitKind]float64{}
	for _, w := range t.Waits {
		if stacks.KindOf(w) != stacks.WaitBackground {
			continue
		}
		if spent[w.Entry] == nil {
			spent[w.Entry] = map[stacks.WaitKind]float64{}
		}
		spent[w.Entry][stacks.What(w)] += w.Seconds
	}
	best := 0.0
	var of record.Frame
	for entry, kinds := range spent {
		whole := groups[entry]
		if whole <= 0 || stacks.Standard(entry.Function) {
			continue
		}
		for kind, seconds := range kinds {
			switch kind {
			case stacks.WaitChannel, stacks.WaitSelect, stacks.WaitCond, stacks.WaitTimer, stacks.WaitIdle, stacks.WaitUnknown:
				continue // this is how work is waited for
			}
			if share := seconds / whole; share > best && seconds > e.signals[WaitTop]*t.Seconds {
				best, of, e.top = share, entry, kind
			}
		}
	}
	if best == 0 {
		return
	}
	e.signals[WorkersWait] = math.Min(1, best)
	for _, w := range t.Waits {
		if w.Entry == of && stacks.What(w) == e.top {
			e.waits[e.top] = append(e.waits[e.top], w)
		}
	}
	for _, g := range t.Groups {
		if g.Entry == of {
			e.signals[Workers] = float64(g.Goroutines)
		}
	}
}

// locks prefers what the runtime counts of waits for mutexes to what the trace shows of a moment.
func (e *evidence) locks(r *record.Run) {
	c := e.signals[Clients]
	if server := r.Totals.Server; server != nil && r.Target.Agent && c > 0 {
		e.signals[LockWait] = server.MutexWait / c
	}
}

// blind notes what could not be looked at.
func (e *evidence) blind(main, profiled *record.Run) {
	switch t := main.Target; {
	case t.Agent:
	case t.Pprof:
		e.unseen = append(e.unseen, "the target has net/http/pprof but not the agent: the runtime's own figures on GC and mutexes, and gauges, were not seen; "+
			"contention by call site shows only if the program sets runtime.SetMutexProfileFraction; importing dyno/agent would add them")
	case main.Around.Seen && e.cpu != nil:
		e.unseen = append(e.unseen, "the target was seen from outside only: what it spends its CPU on was sampled by the kernel, but what its requests wait for and what they allocate is not known; "+
			"net/http/pprof on its debug address (--debug URL) would show that, dyno/agent more")
	case main.Around.Seen:
		e.unseen = append(e.unseen, "the target was seen from outside only: what it spends its CPU on and what it waits for is not known; "+
			"net/http/pprof on its debug address (--debug URL) would show that, dyno/agent more")
	default:
		e.unseen = append(e.unseen, "neither the target's process nor its debug address could be seen: name one with --pid or --debug")
	}
	if profiled != nil {
		for _, p := range profiled.Profiles {
			if p.Why != "" {
				e.unseen = append(e.unseen, p.Kind+" profile: "+p.Why)
			}
		}
	}
}
