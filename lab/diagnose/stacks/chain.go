package stacks

import (
	"math"
	"slices"
	"strings"

	"dyno/lab/record"
)

// Hop is a goroutine that others wait for, and that waits itself.
type Hop struct {
	By   record.Frame // deepest function, of the service's own, in which it both ends their waits and waits
	Wait record.Wait
}

// Chain follows a wait from goroutine to goroutine. The first hop is a goroutine that ends w and
// itself waits in one function for half of the trace or more; the next hop is one that ends that
// wait, and so on. If there is none, a hop may be a goroutine that waits at the same rate. The chain
// ends at a goroutine that works, at requests, at a place where several goroutines wait together, since
// the trace does not show which of them it is, and at a cycle. A trace made of goroutine profiles, which
// has no GOMAXPROCS, does not count waits.
func Chain(w record.Wait, t *record.Trace) (out []Hop) {
	least := 0.5 // of the trace
	if t.Procs == 0 {
		least = 0.25
	}
	for first := w; len(w.WokenBy) > 0 && !InRequest(w.WokenBy) || len(out) > 0 && What(w) == WaitNetwork; {
		next, depth := Hop{}, 0
		for _, other := range waitsBehind(w, t) {
			d := other.depth
			if other.Wait.Seconds >= least*t.Seconds && (d > depth || d == depth && other.Wait.Seconds > next.Wait.Seconds) {
				next, depth = other.Hop, d // the more they have in common, the surer it is the same goroutine
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

// meeting is a hop, with the number of functions that it has in common with the stack that ended a wait.
type meeting struct {
	Hop
	depth int
}

// waitsBehind returns the waits of goroutines that may have ended a wait. Those for what is outside of the
// program, at several places of one function, count as one: a log may sync two files, one after the
// other.
func waitsBehind(w record.Wait, t *record.Trace) (out []meeting) {
	for _, other := range t.Waits {
		by, depth, ok := meet(w.WokenBy, other, t)
		kind := What(other)
		if !ok || !oneAtATime(other) || other.Count == 0 && t.Procs > 0 || kind == WaitIdle || InRequest(other.Stack) {
			continue
		}
		i := slices.IndexFunc(out, func(m meeting) bool {
			return (kind == WaitDisk || kind == WaitSyscall || kind == WaitNetwork) && What(m.Wait) == kind &&
				m.By.Function == by.Function && m.Wait.Seconds+other.Seconds <= t.Seconds
		})
		if i < 0 {
			out = append(out, meeting{Hop{by, other}, depth})
			continue
		}
		out[i].Wait.Seconds += other.Seconds
	}
	return out
}

// oneAtATime reports whether one goroutine waits at a place or, as with one that is started for each
// batch, several that follow each other.
func oneAtATime(w record.Wait) bool {
	const hardly = 1.1 // times the time in which any waits: they overlap no more
	return w.Goroutines == 1 || w.Seconds <= hardly*w.Any
}

// passesOn reports whether the goroutine that ends a wait only passes an answer on: it runs the code
// of a library, and hardly computes.
func passesOn(w record.Wait) bool {
	const hardly = 0.5 // of the time
	return w.WakerBusy < hardly && !slices.ContainsFunc(w.WokenBy, Own)
}

// atTheSameRate finds the goroutine that makes the answers for which requests wait, if the goroutine
// that ends their waits only passes these on, such as a client's reader: the only goroutine of the
// process that sleeps, or is in a system call, nearly all the time and once for each of the waits.
// depth is 0 if there is none, or several.
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
// deepest function of the service's own that both have, and its depth; false: there is none. A
// function of a dependency takes its place if both have the waiting goroutine's first function, with
// which at most few goroutines were started: a program may consist of dependencies alone, but many
// goroutines may run within one function of a library. (A goroutine that is started with a method value
// has a first function of its own, name-fm, which stacks leave out.)
func meet(a []record.Frame, other record.Wait, t *record.Trace) (at record.Frame, depth int, ok bool) {
	b, own, alone := other.Stack, false, false
	for i := 1; i <= min(len(a), len(b)); i++ {
		f := b[len(b)-i]
		if a[len(a)-i].Function != f.Function {
			break
		}
		alone = alone || f.Function == strings.TrimSuffix(other.Entry.Function, "-fm") && started(other.Entry.Function, t) <= few
		if Own(f) || !own && !Standard(f.Function) {
			at, depth, ok, own = unwrapped(f), i, true, own || Own(f)
		}
	}
	return at, depth, ok && (own || alone)
}

// few is the largest number of goroutines, started with one function, that count as one goroutine.
const few = 2

// started is the number of goroutines that were started with a function: of those that also end within
// the trace, as many as there are at any moment.
func started(function string, t *record.Trace) int {
	n := 0
	for _, g := range t.Groups {
		switch lived := livedIn(g); {
		case g.Entry.Function != function:
		case g.Started > 0 && lived > 0:
			n += int(math.Ceil(lived / t.Seconds))
		default:
			n += g.Goroutines
		}
	}
	return n
}

// livedIn is the time of a group's goroutines within the trace, s.
func livedIn(g record.Group) float64 { return g.Running + g.Runnable + g.Waiting + g.Syscall }

// ShareOf is the share of their time within the trace that goroutines started with the same function
// spend in a wait.
func ShareOf(w record.Wait, t *record.Trace) float64 {
	whole := float64(max(w.Goroutines, 1)) * t.Seconds
	if g, ok := groupOf(w, t); ok && livedIn(g) > 0 {
		whole = livedIn(g)
	}
	return min(1, w.Seconds/whole)
}

// StartedWithin reports whether most goroutines with a wait were started within the trace: each is for
// one request or batch, and does not wait for more work.
func StartedWithin(w record.Wait, t *record.Trace) bool {
	g, ok := groupOf(w, t)
	return ok && 2*g.Started > g.Goroutines
}

func groupOf(w record.Wait, t *record.Trace) (record.Group, bool) {
	i := slices.IndexFunc(t.Groups, func(g record.Group) bool { return g.Entry.Function == w.Entry.Function })
	if i < 0 {
		return record.Group{}, false
	}
	return t.Groups[i], true
}
