package diagnose

import (
	"cmp"
	"errors"
	"math"
	"strings"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// evidence is what was read from a subject's runs, in addition to single figures.
type evidence struct {
	signals    rules.Signals
	cores      float64         // available to the target
	processors float64         // GOMAXPROCS or, if that is unknown, the machine's cores; at most the cgroup's quota
	cpu        *record.Profile // nil: none
	unprofiled error           // why cpu is nil
	trace      *record.Trace   // nil: none
	waits      map[stacks.WaitKind][]record.Wait
	top        stacks.WaitKind // the kind of wait, locks excluded, that took most of the requests' time
	taken      *stacks.Holder  // of what requests take from the pool for which they wait; nil: not seen
	holder     *stacks.Holder  // of the lock that bounds it; nil: not seen
	waker      []record.Frame  // stack of the one goroutine for which the requests wait
	itself     bool            // requests wait for answers of other requests to the same process
	disturbed  bool            // other processes may have contributed
	nonGo      string          // description of a process that Go did not build
	one        string          // the thread that alone runs its code; empty: several do
	unseen     []string

	ofVerdict
}

func (s Subject) read() evidence {
	e := evidence{signals: rules.Signals{}, waits: map[stacks.WaitKind][]record.Wait{}}
	main := cmp.Or(s.last(), s.Profiled)
	if main == nil {
		return e
	}
	e.disturbed = Disturbed(main)
	procs := facts.Procs(main, s.Profiled)
	e.cores = facts.Available(main, procs)
	e.processors = float64(max(1, cmp.Or(procs, main.Machine.Cores)))
	if quota := main.Target.Quota; quota > 0 {
		e.processors = min(e.processors, quota)
	}
	e.load(s, main)
	e.machine(main)
	if main.Target.NotGo && !main.Target.Pprof {
		readNonGo(e.signals, main)
		e.one = oneThread(main.Target)
	}
	if s.Profiled != nil {
		e.profile(s.Profiled)
		e.traced(s.Profiled)
	}
	e.locks(main)
	if chain := e.behind(); len(chain) > 0 && chain[len(chain)-1].For == stacks.WaitDisk {
		e.signals[rules.Syncing] = chain[len(chain)-1].Share
	}
	if e.signals[rules.WaitTop] >= rules.Defaults.Value(rules.ThresholdWaiting) {
		// Connections queue because the connections before them wait for another resource.
		delete(e.signals, rules.AcceptQueue)
		delete(e.signals, rules.AcceptFill)
	}
	e.noteUnseen(main, s.Profiled)
	return e
}

// load reads the generator's figures.
func (e *evidence) load(s Subject, r *record.Run) {
	sig, t := e.signals, r.Totals
	x, c, units := facts.PerSecond(r), facts.InFlight(r), float64(max(r.Load.Units, 1)) // of work in a request
	sig[rules.Throughput], sig[rules.Clients] = x, c
	sig[rules.Failing] = facts.Failing(r)
	sig[rules.GeneratorBusy] = t.Generator.BusiestThread
	// while other processes disturb the run, any generator lags
	if lag := t.Lag.P99 / 1000; lag > 1 && t.Response.P99 > 0 && !Disturbed(r) {
		sig[rules.GeneratorLag] = lag / t.Response.P99
	}
	if r.Spec.Role == record.RoleProfile {
		return // its latency is not usable
	}
	if clients := float64(r.Load.Connections); clients > 0 && r.SLO.On != record.OnDelivery {
		sig[rules.Occupied] = waitingClients(r) / units / clients
	}
	sig[rules.Capped] = 0
	if r.Spec.Capped {
		sig[rules.Capped] = 1
	}
	if r.Load.Model != "closed" {
		return
	}
	// What is refused with more clients shows a limit, even if the throughput rose up to there.
	if g := growth(s.carried()); !math.IsInf(g, 0) && s.sheds() == "" {
		sig[rules.Growth] = g
	}
	peak := 0.0
	for _, r := range s.Saturated {
		peak = max(peak, facts.PerSecond(r))
	}
	if first := s.Saturated[0]; first.Spec.Connections == 1 {
		sig[rules.Serial] = peak / units * facts.Took(first) / 1000
	}
}

// waitingClients is the mean number of clients that wait for a response. In a closed loop it is
// the mean backlog, which is right even if hardly any response came within the run; otherwise it
// is throughput times mean time (Little's law).
func waitingClients(r *record.Run) float64 {
	sum, n := 0.0, 0.0
	for _, w := range r.Series {
		if w.Phase == record.PhaseMeasure {
			sum, n = sum+float64(w.Client.Backlog), n+1
		}
	}
	if r.Load.Model == "closed" && !r.SelfDriven() && n > 0 {
		return sum / n
	}
	return r.Totals.ThroughputPerS * facts.Took(r) / 1000
}

// machine reads the resources used by the target and by its machine.
func (e *evidence) machine(r *record.Run) {
	sig, around := e.signals, r.System
	if !around.Seen || r.Machine.Cores == 0 {
		return
	}
	sig[rules.Cores] = around.TargetCPU
	sig[rules.Utilisation] = around.TargetCPU / e.cores
	sig[rules.Neighbours] = around.OthersCPU / float64(r.Machine.Cores)
	sig[rules.Delayed] = around.TargetDelay
	if around.TargetCPU > 0 {
		sig[rules.System] = around.TargetSystem / around.TargetCPU
	}
	if x := sig[rules.Throughput]; x > 0 {
		sig[rules.AcceptFull] = around.ListenOverflows / x
	}
	if c := sig[rules.Clients]; c > 0 {
		sig[rules.AcceptQueue] = float64(around.AcceptQueue) / c
	}
	if around.AcceptLimit > 0 {
		sig[rules.AcceptFill] = float64(around.AcceptQueue) / float64(around.AcceptLimit)
	}
	if server := r.Totals.Server; server != nil && r.Target.Agent {
		sig[rules.GCShare] = server.GCShare
	}
}

func (e *evidence) profile(r *record.Run) {
	p, err := r.Profile(record.ProfileCPU, record.ValueCPU)
	if err != nil {
		if system, seen := e.signals[rules.System]; seen && e.one == "" {
			e.signals[rules.Kernel] = system
		}
		e.unprofiled = err
		if !r.Target.NotGo { // noteUnseen describes such a process
			e.unseen = append(e.unseen, err.Error())
		}
		return
	}
	shares := stacks.ClassShares(p)
	if shares == nil && r.Target.NotGo {
		e.unprofiled = errors.New("it used hardly any CPU while it was sampled")
		return
	}
	if shares == nil {
		e.unseen = append(e.unseen, "the CPU profile holds no samples of the service's own")
		return
	}
	e.cpu = p
	sig := e.signals
	if r.Target.NotGo && !r.Target.Pprof {
		if e.one == "" {
			sig[rules.Kernel] = shares[stacks.Syscall] // the other classes are those of Go's runtime
		}
		return
	}
	sig[rules.Collecting] = shares[stacks.GC]
	sig[rules.Allocating] = shares[stacks.GC] + shares[stacks.Malloc]
	sig[rules.LockSpin] = shares[stacks.Lock]
	sig[rules.Kernel] = shares[stacks.Syscall]
	if _, seen := sig[rules.Utilisation]; !seen && p.Seconds > 0 {
		// The samples, each of which stands for its time, are the only source of the process's CPU
		// use.
		sig[rules.Cores] = p.Total() / 1e9 / p.Seconds
		sig[rules.Utilisation] = sig[rules.Cores] / e.cores
	}
}

// traced reads from the execution trace how the requests spent their time.
func (e *evidence) traced(r *record.Run) {
	t, works, err := stacks.TraceOrMoments(r)
	if err != nil && !r.Target.Pprof {
		return // described for the whole target
	}
	if err != nil || t.Seconds <= 0 {
		e.unseen = append(e.unseen, "neither an execution trace nor profiles of goroutines are available: where requests wait is unknown")
		return
	}
	e.trace = t
	if whole := float64(t.Procs) * t.Seconds; whole > 0 {
		e.signals[rules.Running] = math.Min(1, t.Running/whole) // C code needs no processor of Go's
	} else if share := works / e.processors; share >= rules.Defaults.Value(rules.ThresholdRunning) {
		e.signals[rules.Running] = math.Min(1, share) // the requests wait for goroutines that compute
	}
	sums := map[stacks.WaitKind]float64{}
	all, top, onClient := 0.0, 0.0, 0.0
	e.itself = callsItself(r.System.Outgoing, t)
	sessions := r.Axis() == record.AxisSessions
	for _, w := range t.Waits {
		kind := stacks.KindOf(w)
		if kind == stacks.WaitIdle || kind == stacks.WaitBackground || e.itself && kind == stacks.WaitNetwork || sessions && stacks.BetweenMessages(w) {
			continue
		}
		all += w.Seconds
		if stacks.OnClient(w) {
			onClient += w.Seconds
			continue
		}
		e.waits[kind] = append(e.waits[kind], w)
		sums[kind] += w.Seconds
		if kind != stacks.WaitLock && kind != stacks.WaitGC && sums[kind] > top {
			e.top, top = kind, sums[kind]
		}
	}
	if all == 0 && !serves(t) {
		e.unseen = append(e.unseen, "no goroutine was recognised as working for a request (the handlers of net/http, gRPC and fasthttp are): what requests wait for is unknown")
		if r.SLO.On == record.OnDelivery {
			e.workers(t)
		}
		return
	}
	if ready, kind := e.runnableWait(t, sums); ready > 0 {
		sums[kind] += ready
		if sums[kind] > top {
			e.top, top = kind, sums[kind]
		}
		e.signals[rules.RunnableWait] = ready
	}
	if spent := requestTime(facts.InFlight(r)*t.Seconds, all, t); spent > 0 {
		e.signals[rules.Waiting] = math.Min(1, all/spent)
		e.signals[rules.WaitTop] = math.Min(1, top/spent)
		e.signals[rules.LockWait] = math.Min(1, sums[stacks.WaitLock]/spent)
		if e.disturbed {
			e.signals[rules.Unqueued] = top / (all + t.Running)
		}
		e.signals[rules.OnClient] = math.Min(1, onClient/spent)
		if ready, seen := e.signals[rules.RunnableWait]; seen {
			e.signals[rules.RunnableWait] = math.Min(1, ready/spent)
		}
	}
	if r.SLO.On == record.OnDelivery {
		e.workers(t)
	}
	for _, w := range e.waits[e.top] {
		if w.Wakers == 1 && w.Seconds > top/2 {
			e.signals[rules.SerialBusy], e.waker = w.WakerBusy, w.WokenBy
			if e.signals[rules.Utilisation] >= rules.Defaults.Value(rules.ThresholdBusyCPU) {
				// it waits for a CPU like all other goroutines, which does not make it the serial part
				e.signals[rules.SerialBusy] -= w.WakerReady
			}
		}
	}
}

// runnableWait returns the goroutine-seconds in which goroutines were runnable although there was
// CPU left, and the kind of wait that caused them: a goroutine that blocks in a system call keeps
// its processor (one of GOMAXPROCS) until the scheduler notices, some 20 us to 10 ms later. The
// runnable goroutines wait for the call as well.
func (e *evidence) runnableWait(t *record.Trace, sums map[stacks.WaitKind]float64) (seconds float64, kind stacks.WaitKind) {
	kind = stacks.WaitDisk
	if sums[stacks.WaitSyscall] > sums[kind] {
		kind = stacks.WaitSyscall
	}
	const (
		material = 0.5 // least share of the processors' time in such calls
		working  = 0.7 // share of running above which the CPU is the cause
	)
	whole := float64(t.Procs) * t.Seconds
	u, seen := e.signals[rules.Utilisation]
	if e.disturbed {
		return 0, kind // a thread that queues for a CPU behind other processes looks the same
	}
	if !seen || u >= rules.Defaults.Value(rules.ThresholdIdleCPU) || sums[kind] < material*whole || t.Running > working*whole {
		return 0, kind
	}
	return t.Runnable, kind
}

// requestTime is the goroutine-seconds of requests in a trace: their waits, plus what ran or was
// runnable. It excludes the time on the way from and to the client, and is at most the time of all
// clients.
func requestTime(clients, waits float64, t *record.Trace) float64 {
	if clients == 0 {
		return waits + t.Running + t.Runnable
	}
	return math.Min(clients, waits+t.Running+t.Runnable)
}

// serves reports whether a trace shows goroutines of a server whose handlers are known.
func serves(t *record.Trace) bool {
	for _, g := range t.Groups {
		for _, known := range []string{"net/http.", "golang.org/x/net/http2.", "google.golang.org/grpc", "github.com/valyala/fasthttp"} {
			if strings.HasPrefix(g.Entry.Function, known) {
				return true
			}
		}
	}
	return false
}

// workers looks for the goroutines that do the work after the response: the group that spends its
// time in one kind of wait other than waiting for work. A service that receives more than it
// carries always has work for them, so a group that waits for work is not the bottleneck.
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
				continue // goroutines wait for work in this way
			}
			if share := seconds / whole; share > best && seconds > e.signals[rules.WaitTop]*t.Seconds {
				best, of, e.top = share, entry, kind
			}
		}
	}
	if best == 0 {
		return
	}
	e.signals[rules.WorkersWait] = math.Min(1, best)
	for _, w := range t.Waits {
		if w.Entry == of && stacks.What(w) == e.top {
			e.waits[e.top] = append(e.waits[e.top], w)
		}
	}
	for _, g := range t.Groups {
		if g.Entry == of {
			e.signals[rules.Workers] = float64(g.Goroutines)
		}
	}
}

// locks takes the runtime's sum of mutex waits over the run if it exceeds what the trace shows,
// which covers only a moment.
func (e *evidence) locks(r *record.Run) {
	c := e.signals[rules.Clients]
	server := r.Totals.Server
	if server == nil || !r.Target.Agent || c <= 0 {
		return
	}
	// The runtime's figure covers the whole process. If the trace shows hardly any of it in
	// requests, other goroutines contend.
	const hardly = 0.1 // of the runtime's figure
	reported := server.MutexWait / c
	seen, ok := e.signals[rules.LockWait]
	if ok && seen < hardly*reported {
		return
	}
	// The runtime counts a wait when it has ended, so it misses most of the waits that are as long
	// as the run.
	e.signals[rules.LockWait] = max(reported, seen)
}
