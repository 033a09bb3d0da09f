package diagnose

// Rule is one line of the decision list: when all its conditions hold, the bound is this.
type Rule struct {
	Bound Bound
	Kind  string // more precisely; empty: the evidence says
	When  []Condition
}

// Condition compares a signal with a threshold. A signal that was not seen fulfils no condition.
type Condition struct {
	Signal    string
	Below     bool // else: at or above
	Threshold string
}

// Rules are tried in order; the first that holds gives the bound. The order matters: a generator that is
// the limit makes every other figure meaningless, waiting clients make a busy lock look like an idle CPU,
// and only what uses all of the CPU can be asked what it uses it for. That it computes takes a profile to know,
// and that its requests do not wait: one goroutine that serves them all may use most of what CPU there is.
// Neighbours are the answer only where the signals show nothing else.
var Rules = []Rule{
	{Unknown, refused, []Condition{at(Failing, refusing)}},
	{Generator, "", []Condition{at(GeneratorBusy, generatorBusy)}},
	{NotLoaded, "", []Condition{at(Capped, Always), at(Growth, growing), below(Utilisation, idleCPU)}},
	{NotLoaded, "", []Condition{at(Capped, Always), below(Clients, alone), below(Utilisation, idleCPU)}},
	{NotLoaded, "", []Condition{at(Capped, Always), below(Occupied, occupiedLeast), below(Utilisation, idleCPU)}},
	{Generator, "", []Condition{at(GeneratorLag, generatorLag), below(Utilisation, idleCPU)}},
	{Wait, accepted, []Condition{at(AcceptQueue, accepting), below(Utilisation, idleCPU)}},
	{Wait, accepted, []Condition{at(AcceptFill, filled), below(Utilisation, idleCPU)}},
	{NotLoaded, "", []Condition{below(Occupied, occupiedLeast), below(Utilisation, idleCPU)}},
	{Lock, "", []Condition{at(LockWait, lockWaiting)}},
	{Generator, "", []Condition{at(OnClient, unready)}},
	{Wait, "", []Condition{at(WaitTop, waiting), at(SerialBusy, serial)}},
	{Wait, "", []Condition{at(WaitTop, waiting), below(Running, running)}},
	{Lock, spun, []Condition{at(Utilisation, busyCPU), at(LockSpin, spinning)}},
	{GC, "", []Condition{at(Utilisation, busyCPU), at(Allocating, allocating)}},
	{GC, "", []Condition{at(Utilisation, busyCPU), at(Collecting, collecting)}},
	{Syscall, "", []Condition{at(Utilisation, busyCPU), at(Kernel, kernel)}},
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

// value is where a threshold lies.
func (t Thresholds) value(name string) float64 {
	if name == Always {
		return 1
	}
	return t[name].Value
}

// Holds reports whether the condition is fulfilled.
func (c Condition) Holds(s Signals, t Thresholds) bool {
	v, seen := s[c.Signal]
	return seen && (v < t.value(c.Threshold)) == c.Below
}

// Holds reports whether all of the rule's conditions are fulfilled.
func (r Rule) Holds(s Signals, t Thresholds) bool {
	for _, c := range r.When {
		if !c.Holds(s, t) {
			return false
		}
	}
	return true
}

// Judge applies the rules. Also lists further bounds whose own bar was passed.
func (t Thresholds) Judge(s Signals) (bound Bound, rule *Rule, also []Bound) {
	bound, also = Unknown, []Bound{}
	for i := range Rules {
		r := &Rules[i]
		switch {
		case !r.Holds(s, t):
		case rule == nil:
			bound, rule = r.Bound, r
		case bound.hides() || r.Bound == bound || r.Bound == CPU || r.Bound.hides():
			// What the generator or the neighbours did says nothing of the service, and that it computes
			// is said by what it computes.
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
