// Package rules decides what bounds a service: a list of rules, each of which compares signals with
// thresholds. The first that holds is the verdict.
//
// It is not for reading signals from recorded runs (package diagnose does), nor for fitting
// thresholds (bench/calibrate). It starts no goroutines.
package rules

import "slices"

// Bound is the bottleneck of a service: what limits its throughput.
type Bound string

// Bounds.
const (
	CPU     Bound = "cpu"     // computing
	GC      Bound = "gc"      // allocating and collecting
	Lock    Bound = "lock"    // waiting for a lock, or spinning on it
	Syscall Bound = "syscall" // work in the kernel on the service's behalf
	// waiting for another resource than a lock: a pool, a downstream, a disk, one consumer, a timer
	Wait        Bound = "wait"
	Generator   Bound = "generator"   // the load generator: the service could carry more
	Environment Bound = "environment" // other processes on the machine
	NotLoaded   Bound = "not-loaded"  // none yet: the service would carry more load
	Unknown     Bound = "unknown"
)

// Kinds of a bound in addition to those of waits (stacks.WaitKind).
const (
	Accepted = "accept"  // a wait for a connection to be accepted
	Refused  = "errors"  // unknown, because the target returns errors
	Threaded = "thread"  // CPU: of the one thread that runs the program's code at a time
	Called   = "network" // a wait for another process's answer
	Unseen   = "unseen"  // a wait for what cannot be seen from outside
	Spun     = "spin"    // a lock acquired so frequently that the CPU is spent acquiring it
)

// Rule is one line of the decision list: when all its conditions hold, Bound is the verdict.
type Rule struct {
	Bound Bound
	Kind  string // more precise; empty: read from the evidence
	When  []Condition
}

// Condition compares a signal with a threshold. A missing signal fulfils no condition.
type Condition struct {
	Signal    string
	Below     bool // otherwise at or above
	Threshold string
}

// All are tried in order; the first that holds gives the bound. The order matters: a generator
// that is the limit makes every other figure meaningless; waiting clients make a busy lock look
// like an idle CPU; only a service that uses all its CPU is bound by CPU, GC, lock spinning or
// system calls. The verdict CPU requires a profile, and requests that do not wait: one goroutine
// that serves them all may use most of the available CPU. Other processes are the verdict only
// where the signals show no other cause.
//
// Of programs that Go did not build, the one thread that runs their code comes first: others may
// have CPU left. It counts only if it ran most of that time, rather than waited for a CPU. Where it
// waited for much of it, several threads may have waited together, and been counted as one that is
// always busy: then requests that wait for another process, and a throughput that still grows with
// the clients, say otherwise.
var All = []Rule{
	{Unknown, Refused, []Condition{at(Failing, BarRefusing)}},
	{Generator, "", []Condition{at(GeneratorBusy, BarGeneratorBusy)}},
	{Wait, Called, []Condition{at(Calling, BarCalling), at(OneThread, BarOneThread), at(Starved, BarCrowded)}},
	{Environment, "", []Condition{at(Growth, BarScaling), at(OneThread, BarOneThread), at(Starved, BarCrowded)}},
	{CPU, Threaded, []Condition{at(OneThread, BarOneThread), below(Starved, BarStarved)}},
	{NotLoaded, "", []Condition{at(Capped, Always), at(Growth, BarGrowth), below(Utilisation, BarIdleCPU)}},
	{NotLoaded, "", []Condition{at(Capped, Always), below(Clients, BarClients), below(Utilisation, BarIdleCPU)}},
	{NotLoaded, "", []Condition{at(Capped, Always), below(Occupied, BarOccupied), below(Utilisation, BarIdleCPU)}},
	{Generator, "", []Condition{at(GeneratorLag, BarGeneratorLag), below(Utilisation, BarIdleCPU)}},
	{Wait, Called, []Condition{at(Calling, BarCalling)}},
	{Wait, Accepted, []Condition{at(AcceptQueue, BarAcceptQueue), below(Utilisation, BarIdleCPU)}},
	{Wait, Accepted, []Condition{at(AcceptFill, BarAcceptFill), below(Utilisation, BarIdleCPU)}},
	{NotLoaded, "", []Condition{below(Occupied, BarOccupied), below(Utilisation, BarIdleCPU)}},
	{Lock, "", []Condition{at(LockWait, BarLockWait)}},
	{Generator, "", []Condition{at(OnClient, BarOnClient)}},
	{Wait, "", []Condition{at(WaitTop, BarWaiting), at(SerialBusy, BarSerialBusy)}},
	{Wait, "", []Condition{at(WaitTop, BarWaiting), below(Running, BarRunning)}},
	{Lock, Spun, []Condition{at(Utilisation, BarBusyCPU), at(LockSpin, BarSpinning)}},
	{GC, "", []Condition{at(Utilisation, BarBusyCPU), at(Allocating, BarAllocating)}},
	{GC, "", []Condition{at(Utilisation, BarBusyCPU), at(Collecting, BarCollecting)}},
	{Syscall, "", []Condition{at(Utilisation, BarBusyCPU), at(Kernel, BarKernel)}},
	{CPU, "", []Condition{at(Utilisation, BarBusyCPU), below(Allocating, BarAllocating), below(WaitTop, BarWaiting)}},
	{CPU, "", []Condition{at(Utilisation, BarBusyCPU), below(Allocating, BarAllocating), at(Running, BarRunning)}},
	{CPU, "", []Condition{at(Utilisation, BarBusyCPU), at(Awake, BarOneThread), below(Starved, BarStarved)}},
	{Wait, Unseen, []Condition{at(Occupied, BarOccupied), below(Awake, BarAwake)}},
	{Wait, "", []Condition{at(WaitTop, BarWaiting)}},
	{Wait, "", []Condition{at(WorkersWait, BarWaiting)}},
	{Environment, "", []Condition{at(Neighbours, BarNeighbours), at(Delayed, BarDelayed)}},
}

func at(signal, threshold string) Condition    { return Condition{signal, false, threshold} }
func below(signal, threshold string) Condition { return Condition{signal, true, threshold} }

// Always is the threshold of a signal that is 0 or 1.
const Always = "Always"

// Value is the value of a threshold.
func (t Thresholds) Value(name string) float64 {
	if name == Always {
		return 1
	}
	return t[name].Value
}

func (c Condition) Holds(s Signals, t Thresholds) bool {
	v, seen := s[c.Signal]
	return seen && (v < t.Value(c.Threshold)) == c.Below
}

func (r Rule) Holds(s Signals, t Thresholds) bool {
	for _, c := range r.When {
		if !c.Holds(s, t) {
			return false
		}
	}
	return true
}

// Judge applies the rules. Also lists further bounds that reached their own threshold.
func (t Thresholds) Judge(s Signals) (bound Bound, rule *Rule, also []Bound) {
	bound, also = Unknown, []Bound{}
	for i := range All {
		r := &All[i]
		switch {
		case !r.Holds(s, t):
		case rule == nil:
			bound, rule = r.Bound, r
		case bound.hides() || r.Bound == bound || r.Bound == CPU || r.Bound.hides():
			// The generator and the other processes are not part of the service, and CPU is implied
			// by whatever computes.
		default:
			also = Union(also, r.Bound)
		}
	}
	return bound, rule, also
}

// hides reports whether a bound keeps the service's own from being seen.
func (b Bound) hides() bool {
	return b == Generator || b == Environment || b == NotLoaded || b == Unknown
}

// Union adds a bound to a list that does not have it.
func Union(list []Bound, b Bound) []Bound {
	if slices.Contains(list, b) {
		return list
	}
	return append(list, b)
}
