// Package rules decides what bounds a service: a list of rules, each of which compares signals with
// thresholds. The first that holds is the verdict.
//
// It is not for reading signals from recorded runs (package diagnose does), nor for fitting
// thresholds (bench/calibrate). It starts no goroutines.
package rules

import (
	"maps"
	"slices"
)

// Bottleneck is the bottleneck of a service: what limits its throughput.
type Bottleneck string

// Bottlenecks.
const (
	CPU     Bottleneck = "cpu"     // computing
	GC      Bottleneck = "gc"      // allocating and collecting
	Lock    Bottleneck = "lock"    // waiting for a lock, or spinning on it
	Syscall Bottleneck = "syscall" // work in the kernel on the service's behalf
	// waiting for another resource than a lock: a pool, a downstream, a disk, one consumer, a timer
	Wait        Bottleneck = "wait"
	Generator   Bottleneck = "generator"   // the load generator: the service could carry more
	Environment Bottleneck = "environment" // other processes on the machine
	NotLoaded   Bottleneck = "not-loaded"  // none yet: the service would carry more load
	Unknown     Bottleneck = "unknown"
)

// Kinds of a bottleneck in addition to those of waits (stacks.WaitKind).
const (
	Accepted = "accept"  // a wait for a connection to be accepted
	Refused  = "errors"  // unknown, because the target returns errors
	Threaded = "thread"  // CPU: of the one thread that runs the program's code at a time
	Called   = "network" // a wait for another process's answer
	Unseen   = "unseen"  // a wait for what cannot be seen from outside
	Spun     = "spin"    // a lock acquired so frequently that the CPU is spent acquiring it
)

// Rule is one line of the decision list: if all its conditions hold, Bottleneck is the verdict.
type Rule struct {
	Bottleneck Bottleneck
	Kind       string // more precise; empty: read from the evidence
	When       []Condition
}

// Condition compares a signal with a threshold. If the signal is missing, only Missing holds.
type Condition struct {
	Signal    string
	Below     bool // otherwise at or above
	Threshold string
	Missing   bool // holds only if the signal is missing; there is no threshold
}

// All are tried in order; the first that holds gives the verdict. The order matters: if the
// generator is the limit, every other figure is meaningless; goroutines that wait for a lock leave
// the CPU idle; only a service that uses all its CPU is bound by CPU, GC, lock spinning or system
// calls. The verdict CPU requires a profile, and requests that do not wait: one goroutine that
// serves them all may use most of the available CPU. Where the running time is unknown, a wait that
// explains most of the requests' time comes before what the CPU is used for. Other processes are
// the verdict only where the signals show no other cause.
//
// For programs that Go did not build, the rules about the one thread that runs their code come
// early, since such a program can be bound while CPU is left. The thread is the bottleneck only if
// it mostly ran rather than waited for a CPU. If threads waited for a CPU much of the time,
// several that waited simultaneously may look like one that is always busy. Then requests that
// wait for another process, or a throughput that still rises with the clients, decide.
var All = []Rule{
	{Unknown, Refused, []Condition{at(Failing, ThresholdRefusing)}},
	{Generator, "", []Condition{at(GeneratorBusy, ThresholdGeneratorBusy)}},
	{Wait, Called, []Condition{at(Calling, ThresholdCalling), at(OneThread, ThresholdOneThread), at(Starved, ThresholdCrowded)}},
	{Environment, "", []Condition{at(Growth, ThresholdScaling), at(OneThread, ThresholdOneThread), at(Starved, ThresholdCrowded)}},
	{CPU, Threaded, []Condition{at(OneThread, ThresholdOneThread), below(Starved, ThresholdStarved)}},
	{NotLoaded, "", []Condition{at(Capped, Always), at(Growth, ThresholdGrowth), below(Utilisation, ThresholdIdleCPU)}},
	{NotLoaded, "", []Condition{at(Capped, Always), below(Clients, ThresholdClients), below(Utilisation, ThresholdIdleCPU)}},
	{NotLoaded, "", []Condition{at(Capped, Always), below(Occupied, ThresholdOccupied), below(Utilisation, ThresholdIdleCPU)}},
	{Generator, "", []Condition{at(GeneratorLag, ThresholdGeneratorLag), below(Utilisation, ThresholdIdleCPU)}},
	{Wait, Called, []Condition{at(Calling, ThresholdCalling)}},
	{Wait, Accepted, []Condition{at(AcceptQueue, ThresholdAcceptQueue), below(Utilisation, ThresholdIdleCPU)}},
	{Wait, Accepted, []Condition{at(AcceptFill, ThresholdAcceptFill), below(Utilisation, ThresholdIdleCPU)}},
	{NotLoaded, "", []Condition{below(Occupied, ThresholdOccupied), below(Utilisation, ThresholdIdleCPU)}},
	{Lock, "", []Condition{at(LockWait, ThresholdLockWait)}},
	{Generator, "", []Condition{at(OnClient, ThresholdOnClient)}},
	{Wait, "", []Condition{at(WaitTop, ThresholdWaiting), at(SerialBusy, ThresholdSerialBusy)}},
	{Wait, "", []Condition{at(Unqueued, ThresholdWaiting), at(SerialBusy, ThresholdSerialBusy)}},
	{Wait, "", []Condition{at(WaitTop, ThresholdWaiting), below(Running, ThresholdRunning)}},
	{Wait, "", []Condition{at(WaitTop, ThresholdWaiting), missing(Running)}},
	// While a log is synced, nothing is applied; then everything that has gathered is applied, and the
	// CPU seems used up.
	{Wait, "", []Condition{at(WaitTop, ThresholdPartly), at(Syncing, ThresholdWaiting)}},
	// A service to which other processes leave little CPU uses it up, whatever else limits it. If its
	// requests also wait for another resource, the signals do not show which of the two bounds it.
	{Environment, "", []Condition{at(Neighbours, ThresholdSqueezed), at(Delayed, ThresholdDelayed), at(WaitTop, ThresholdPartly), below(WaitTop, ThresholdWaiting)}},
	{Lock, Spun, []Condition{at(Utilisation, ThresholdBusyCPU), at(LockSpin, ThresholdSpinning)}},
	{GC, "", []Condition{at(Utilisation, ThresholdBusyCPU), at(Allocating, ThresholdAllocating)}},
	{GC, "", []Condition{at(Utilisation, ThresholdBusyCPU), at(Collecting, ThresholdCollecting)}},
	{Syscall, "", []Condition{at(Utilisation, ThresholdBusyCPU), at(Kernel, ThresholdKernel)}},
	{CPU, "", []Condition{at(Utilisation, ThresholdBusyCPU), below(Allocating, ThresholdAllocating), below(WaitTop, ThresholdWaiting)}},
	{CPU, "", []Condition{at(Utilisation, ThresholdBusyCPU), below(Allocating, ThresholdAllocating), at(Running, ThresholdRunning)}},
	{CPU, "", []Condition{at(Utilisation, ThresholdBusyCPU), at(Awake, ThresholdOneThread), below(Starved, ThresholdStarved)}},
	{Wait, Unseen, []Condition{at(Occupied, ThresholdOccupied), below(Awake, ThresholdAwake)}},
	{Wait, "", []Condition{at(WaitTop, ThresholdWaiting)}},
	{Wait, "", []Condition{at(WorkersWait, ThresholdWaiting)}},
	// While other programs run, what is available to a service is not known well. If goroutines have
	// the processors all the time, and requests hardly wait for anything else, they wait for a CPU.
	{GC, "", append(squeezed(), at(Allocating, ThresholdAllocating))},
	{GC, "", append(squeezed(), at(Collecting, ThresholdCollecting))},
	{CPU, "", append(squeezed(), below(Kernel, ThresholdKernel), below(LockSpin, ThresholdSpinning))},
	{Environment, "", []Condition{at(Neighbours, ThresholdNeighbours), at(Delayed, ThresholdDelayed)}},
}

// squeezed are the conditions of a service that waits for hardly anything but a CPU while other
// programs run.
func squeezed() []Condition {
	return []Condition{at(Neighbours, ThresholdNeighbours), at(Delayed, ThresholdDelayed), at(Running, ThresholdRunning), at(Utilisation, ThresholdWorking),
		below(WaitTop, ThresholdPartly), below(Unqueued, ThresholdWaiting), below(LockWait, ThresholdPartly)}
}

func at(signal, threshold string) Condition {
	return Condition{Signal: signal, Threshold: threshold}
}

func below(signal, threshold string) Condition {
	return Condition{Signal: signal, Below: true, Threshold: threshold}
}

func missing(signal string) Condition { return Condition{Signal: signal, Missing: true} }

// Always is the threshold of a signal that is 0 or 1.
const Always = "Always"

// Value is the value of a threshold.
func (t Thresholds) Value(name string) float64 {
	if name == Always {
		return 1
	}
	return t[name].Value
}

// Holds reports whether the condition holds for these signals.
func (c Condition) Holds(s Signals, t Thresholds) bool {
	v, seen := s[c.Signal]
	if c.Missing {
		return !seen
	}
	return seen && (v < t.Value(c.Threshold)) == c.Below
}

// Holds reports whether all of the rule's conditions hold.
func (r Rule) Holds(s Signals, t Thresholds) bool {
	for _, c := range r.When {
		if !c.Holds(s, t) {
			return false
		}
	}
	return true
}

// Decide applies the rules. also lists further bottlenecks of which a rule holds. The verdicts of
// refuted rules are left out, and so are the signals on which they rest: the next rule decides.
func (t Thresholds) Decide(s Signals, refuted ...*Rule) (bound Bottleneck, rule *Rule, also []Bottleneck) {
	bound, also = Unknown, []Bottleneck{}
	s = s.without(refuted)
	for i := range All {
		r := &All[i]
		switch {
		case slices.ContainsFunc(refuted, r.sameVerdict), !r.Holds(s, t):
		case rule == nil:
			bound, rule = r.Bottleneck, r
		case bound.hides() || r.Bottleneck == bound || r.Bottleneck == CPU || r.Bottleneck.hides():
			// The generator and other processes are not part of the service, and GC, spinning and system
			// calls use CPU anyway.
		default:
			also = Union(also, r.Bottleneck)
		}
	}
	return bound, rule, also
}

func (r *Rule) sameVerdict(o *Rule) bool { return r.Bottleneck == o.Bottleneck && r.Kind == o.Kind }

// without returns signals in which those of refuted verdicts are 0: a wait that does not bound a
// service is no evidence against another bottleneck.
func (s Signals) without(refuted []*Rule) Signals {
	if len(refuted) == 0 {
		return s
	}
	s = maps.Clone(s)
	for _, r := range refuted {
		for _, signal := range r.waits() {
			if _, seen := s[signal]; seen {
				s[signal] = 0
			}
		}
	}
	return s
}

// waits are the signals of the wait or lock that a rule's verdict names.
func (r *Rule) waits() []string {
	switch {
	case r.Bottleneck == Lock && r.Kind == "":
		return []string{LockWait}
	case r.Bottleneck == Wait && r.Kind == "":
		return []string{WaitTop, Unqueued, WorkersWait, Syncing}
	case r.Bottleneck == Wait && r.Kind == Called:
		return []string{Calling}
	}
	return nil
}

// hides reports whether a verdict does not name a bottleneck of the service's own.
func (b Bottleneck) hides() bool {
	return b == Generator || b == Environment || b == NotLoaded || b == Unknown
}

// Union adds a bottleneck to a list unless the list has it.
func Union(list []Bottleneck, b Bottleneck) []Bottleneck {
	if slices.Contains(list, b) {
		return list
	}
	return append(list, b)
}
