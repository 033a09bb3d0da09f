package diagnose

import (
	"fmt"
	"math"
	"strings"
)

// Move is what a step of a ladder measured against the step before it.
type Move struct {
	Ratio     float64 // of the capacities
	Low, High float64 // its 95% interval; both 0: there is none
	// What a request costs, before and after; 0: not known.
	CPU    [2]float64 // us
	Allocs [2]float64
	Bytes  [2]float64
}

// moved reports whether the interval shows a difference; without one, a fifth counts.
func (m Move) moved() bool {
	if m.Low == 0 && m.High == 0 {
		return math.Abs(m.Ratio-1) >= 0.2
	}
	return m.Low > 1 || m.High < 1
}

// Explain says in words why a step moved the capacity or did not: what bound the service before, what the
// step changed of that, and what bounds it now. Nil diagnoses are not known.
func Explain(before, after *Diagnosis, m Move) string {
	if before == nil || after == nil || m.Ratio <= 0 {
		return ""
	}
	costs := m.costs()
	was, is := before.bounded(), after.bounded()
	same := before.Bound == after.Bound && before.Kind == after.Kind
	var text string
	switch {
	case !m.moved() && before.Bound == Wait && costs != "":
		text = fmt.Sprintf("%s although %s: the step before is bound not by what a request costs, but by %s.", m.still(), costs, was)
	case before.Bound == Unknown && m.moved():
		text = m.change() + "; what bounded the step before is not known."
		if costs != "" {
			text += " Meanwhile " + costs + "."
		}
	case !m.moved() && costs != "":
		text = fmt.Sprintf("%s although %s: that is less than this measurement can tell, or not where the bound lies: %s.", m.still(), costs, was)
	case !m.moved():
		text = fmt.Sprintf("%s: the step changes neither what a request costs nor what bounds it: %s.", m.still(), was)
	case !same:
		text = fmt.Sprintf("%s because what bound it is out of the way: before it was %s; now it is %s.", m.change(), was, is)
		if costs != "" {
			text += " Meanwhile " + costs + "."
		}
	case costs != "" && before.Bound != Wait:
		text = fmt.Sprintf("%s because %s, and that is what bounds it, before and after: %s.", m.change(), costs, was)
	default:
		text = fmt.Sprintf("%s while it stays bound by %s.", m.change(), is)
		if costs != "" {
			text += " Meanwhile " + costs + "."
		}
	}
	if after.Bound != Unknown && !same && !m.moved() {
		text += " It is now bound by " + is + "."
	}
	return text
}

func (m Move) change() string {
	if m.Ratio >= 1 {
		return fmt.Sprintf("It carries %.2fx as much", m.Ratio)
	}
	return fmt.Sprintf("It carries only %.2fx as much", m.Ratio)
}

// still says of a step that did not move: it was shown to carry as much, or nothing was decided.
func (m Move) still() string {
	const equal = 0.02 // how far from 1 the whole interval may be for that
	if m.Low >= 1-equal && m.High > 0 && m.High <= 1+equal {
		return "It carries as much (within 2%)"
	}
	return "It is not decided whether it carries more"
}

// costs says what a request costs less or more, where that is a tenth at least.
func (m Move) costs() string {
	const worthSaying = 0.1
	var said []string
	say := func(what string, v [2]float64, unit string) {
		if v[0] <= 0 || v[1] <= 0 || math.Abs(v[1]/v[0]-1) < worthSaying {
			return
		}
		way := "falls"
		if v[1] > v[0] {
			way = "rises"
		}
		said = append(said, fmt.Sprintf("%s per request %s from %s to %s%s", what, way, figure(v[0]), figure(v[1]), unit))
	}
	say("CPU", m.CPU, " us")
	say("the number of allocations", m.Allocs, "")
	if len(said) < 2 {
		say("what is allocated", m.Bytes, " B")
	}
	return strings.Join(said, " and ")
}

// bounded names a bound within a sentence.
func (d *Diagnosis) bounded() string {
	used := ""
	if u, seen := d.Signals[Utilisation]; seen {
		used = fmt.Sprintf(", at %s of the CPU it can have", percent(math.Min(u, 1)))
	}
	switch d.Bound {
	case CPU:
		return "the CPU" + used
	case GC:
		return "allocation and garbage collection" + used
	case Lock:
		return "a lock" + used
	case Syscall:
		return "system calls" + used
	case Wait:
		what := "waiting"
		if words := kinds[d.Kind]; words != "" {
			what += " " + words
		}
		return what + used
	}
	return "something unknown" + used
}

func figure(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.2g", v)
	}
	return count(v)
}
