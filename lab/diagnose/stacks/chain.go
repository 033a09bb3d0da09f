package stacks

import (
	"math"
	"slices"

	"dyno/lab/record"
)

// Hop is a goroutine that others wait for, and that waits itself.
type Hop struct {
	By   record.Frame // deepest function, of the service's own, in which it both ends their waits and waits
	Wait record.Wait
}

// Chain follows a wait from goroutine to goroutine. The first hop is a goroutine that ends w and
// itself waits at one place for half of the trace or more; the next hop is one that ends that
// wait, and so on. If none does, it may be one that waits at the same rate. The chain ends at a
// goroutine that works, at requests, at a place where several goroutines wait, since the trace does
// not show which of them it is, and at a cycle. In a trace made of goroutine profiles, which has no
// GOMAXPROCS, waits are not counted.
func Chain(w record.Wait, t *record.Trace) (out []Hop) {
	least := 0.5 // of the trace
	if t.Procs == 0 {
		least = 0.25
	}
	for first := w; len(w.WokenBy) > 0 && !InRequest(w.WokenBy) || len(out) > 0 && What(w) == WaitNetwork; {
		next, depth := Hop{}, 0
		for _, other := range t.Waits {
			by, d, ok := meet(w.WokenBy, other, t)
			switch {
			case !ok, other.Goroutines != 1, other.Count == 0 && t.Procs > 0, other.Seconds < least*t.Seconds, What(other) == WaitIdle, InRequest(other.Stack):
			case d > depth, d == depth && other.Seconds > next.Wait.Seconds: // the more they have in common, the surer it is the same goroutine
				next, depth = Hop{by, other}, d
			}
		}
		if last := len(out) - 1; depth == 0 && passesOn(first) && (last < 0 || What(out[last].Wait) == WaitNetwork) {
			next, depth = atTheSameRate(first, t)
		}
		known := slices.ContainsFunc(out, func(h Hop) bool { return h.By.Function == next.By.Function })
		if depth == 0 || known {
			return out
		}
		out, w = append(out, next), next.Wait
	}
	return out
}

// passesOn reports whether what ends a wait only passes something on: a library that hardly computes.
func passesOn(w record.Wait) bool {
	const hardly = 0.5 // of the time
	return w.WakerBusy < hardly && !slices.ContainsFunc(w.WokenBy, Own)
}

// atTheSameRate finds the goroutine for which requests wait where what ends their wait only passes
// an answer on, as a client's reader does, from a goroutine of the same process: the only one that
// sleeps or calls the system nearly all the time, once for each of their waits. depth is 0 if there
// is none, or several.
func atTheSameRate(w record.Wait, t *record.Trace) (found Hop, depth int) {
	const nearlyAll, alike = 0.8, 0.25 // of the trace; of the number of waits
	for _, other := range t.Waits {
		by, own := UserFrame(other.Stack)
		switch kind := What(other); {
		case reasonOf(other) != "sleep" && kind != WaitDisk && kind != WaitSyscall:
		case !own, InRequest(other.Stack), other.Goroutines != 1, other.Seconds < nearlyAll*t.Seconds:
		case w.Count < 10, math.Abs(float64(other.Count)/float64(w.Count)-1) > alike:
		case depth > 0:
			return Hop{}, 0
		default:
			found, depth = Hop{by, other}, 1
		}
	}
	return found, depth
}

// meet compares the stack of a waker with that of a waiting goroutine from their roots. It returns the
// deepest function of the service's own that they have in common, and its depth; false: there is
// none. If there are but functions of dependencies, the goroutine must be the only one that was
// started with its first function, and that must be in common: a program may be all dependencies, but
// many goroutines may run within one function of a library.
func meet(a []record.Frame, other record.Wait, t *record.Trace) (at record.Frame, depth int, ok bool) {
	b, own, alone := other.Stack, false, false
	for i := 1; i <= min(len(a), len(b)); i++ {
		f := b[len(b)-i]
		if a[len(a)-i].Function != f.Function {
			break
		}
		alone = alone || f.Function == other.Entry.Function && started(f.Function, t) <= few
		if Own(f) || !own && !Standard(f.Function) {
			at, depth, ok, own = unwrapped(f), i, true, own || Own(f)
		}
	}
	return at, depth, ok && (own || alone)
}

// few is the most goroutines of one first function that are taken for one another.
const few = 2

// started is the number of goroutines that were started with a function.
func started(function string, t *record.Trace) int {
	n := 0
	for _, g := range t.Groups {
		if g.Entry.Function == function {
			n += g.Goroutines
		}
	}
	return n
}
