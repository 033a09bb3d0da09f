package diagnose

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

// Rules are tried in order; the first that holds gives the bound. The order matters: a generator
// that is the limit makes every other figure meaningless; waiting clients make a busy lock look
// like an idle CPU; only a service that uses all its CPU is bound by CPU, GC, lock spinning or
// system calls. The verdict CPU requires a profile, and requests that do not wait: one goroutine
// that serves them all may use most of the available CPU. Other processes are the verdict only
// where the signals show no other cause.
var Rules = []Rule{
	{Unknown, refused, []Condition{at(Failing, refusing)}},
	{Generator, "", []Condition{at(GeneratorBusy, generatorBusy)}},
	{NotLoaded, "", []Condition{at(Capped, Always), at(Growth, growthPerDoubling), below(Utilisation, idleCPU)}},
	{NotLoaded, "", []Condition{at(Capped, Always), below(Clients, minClients), below(Utilisation, idleCPU)}},
	{NotLoaded, "", []Condition{at(Capped, Always), below(Occupied, occupiedLeast), below(Utilisation, idleCPU)}},
	{Generator, "", []Condition{at(GeneratorLag, generatorLag), below(Utilisation, idleCPU)}},
	{Wait, accepted, []Condition{at(AcceptQueue, acceptQueueWait), below(Utilisation, idleCPU)}},
	{Wait, accepted, []Condition{at(AcceptFill, acceptQueueFill), below(Utilisation, idleCPU)}},
	{NotLoaded, "", []Condition{below(Occupied, occupiedLeast), below(Utilisation, idleCPU)}},
	{Lock, "", []Condition{at(LockWait, lockWaiting)}},
	{Generator, "", []Condition{at(OnClient, unready)}},
	{Wait, "", []Condition{at(WaitTop, waiting), at(SerialBusy, serialBusy)}},
	{Wait, "", []Condition{at(WaitTop, waiting), below(Running, running)}},
	{Lock, spun, []Condition{at(Utilisation, busyCPU), at(LockSpin, spinning)}},
	{GC, "", []Condition{at(Utilisation, busyCPU), at(Allocating, allocating)}},
	{GC, "", []Condition{at(Utilisation, busyCPU), at(Collecting, collecting)}},
	{Syscall, "", []Condition{at(Utilisation, busyCPU), at(Kernel, kernelShare)}},
	{CPU, "", []Condition{at(Utilisation, busyCPU), below(Allocating, allocating), below(WaitTop, waiting)}},
	{CPU, "", []Condition{at(Utilisation, busyCPU), below(Allocating, allocating), at(Running, running)}},
	{Wait, "", []Condition{at(WaitTop, waiting)}},
	{Wait, "", []Condition{at(WorkersWait, waiting)}},
	{Environment, "", []Condition{at(Neighbours, neighbours), at(Delayed, delayed)}},
}

func at(signal, threshold string) Condition    { return Condition{signal, false, threshold} }
func below(signal, threshold string) Condition { return Condition{signal, true, threshold} }

// Always is the threshold of a signal that is 0 or 1.
const Always = "Always"

// value is the value of a threshold.
func (t Thresholds) value(name string) float64 {
	if name == Always {
		return 1
	}
	return t[name].Value
}

func (c Condition) Holds(s Signals, t Thresholds) bool {
	v, seen := s[c.Signal]
	return seen && (v < t.value(c.Threshold)) == c.Below
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
	for i := range Rules {
		r := &Rules[i]
		switch {
		case !r.Holds(s, t):
		case rule == nil:
			bound, rule = r.Bound, r
		case bound.hides() || r.Bound == bound || r.Bound == CPU || r.Bound.hides():
			// The generator and the other processes are not part of the service, and CPU is implied
			// by whatever computes.
		default:
			also = appendNew(also, r.Bound)
		}
	}
	return bound, rule, also
}

// hides reports whether a bound keeps the service's own from being seen.
func (b Bound) hides() bool {
	return b == Generator || b == Environment || b == NotLoaded || b == Unknown
}

func appendNew(list []Bound, b Bound) []Bound {
	for _, have := range list {
		if have == b {
			return list
		}
	}
	return append(list, b)
}
