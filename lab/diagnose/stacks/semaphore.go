package stacks

import (
	"slices"
	"strings"

	"dyno/lab/record"
)

// place is a statement at which goroutines wait.
type place struct {
	function string
	line     int
}

// OfSemaphores returns traces of one process in which requests that wait for a channel which they use
// as a semaphore wait for a pool: their Reason is "semaphore". What one of the traces shows of a
// statement holds in all of them.
func OfSemaphores(all []*record.Trace) []*record.Trace {
	waits := map[place][]record.Wait{}
	for _, t := range all {
		for _, w := range t.Waits {
			if w.Reason == semaphore || onChannel(w) {
				waits[placeOf(w)] = append(waits[placeOf(w)], w)
			}
		}
	}
	slots := map[place]bool{}
	for at, there := range waits {
		slots[at] = slices.ContainsFunc(there, func(w record.Wait) bool { return isSlot(w, there) })
	}
	out := slices.Clone(all)
	for i, t := range out {
		out[i] = withSlots(t, slots)
	}
	return out
}

// withSlots returns a trace in which requests that wait at a place of a semaphore wait for it. What no
// request ends, they wait for in a select beside it.
func withSlots(t *record.Trace, slots map[place]bool) *record.Trace {
	isOne := func(w record.Wait) bool {
		return onChannel(w) && slots[placeOf(w)] && (len(w.WokenBy) == 0 || InRequest(w.WokenBy))
	}
	if !slices.ContainsFunc(t.Waits, isOne) {
		return t
	}
	out := *t
	out.Waits = slices.Clone(t.Waits)
	for i, w := range out.Waits {
		if isOne(w) {
			out.Waits[i].Reason = semaphore
		}
	}
	return &out
}

const semaphore = "semaphore"

// isSlot reports whether a request waits for a slot: what ends the wait is a request that has waited at
// the same place before, and gives the slot back. One that never does may send a message, and so may
// one that sends from the function in which it waits, other than when that ends: it may do both in turn.
func isSlot(w record.Wait, there []record.Wait) bool {
	switch {
	case w.Reason == semaphore:
		return true
	case !InRequest(w.WokenBy) || calls(w.WokenBy, "runtime.closechan"):
		return false
	case calls(w.WokenBy, waitsIn(w.Stack)) && !calls(w.WokenBy, "runtime.chanrecv1", "runtime.chanrecv2") && !closureOf(waitsIn(w.Stack), w.WokenBy):
		return false
	}
	return slices.ContainsFunc(there, func(o record.Wait) bool { return LaterThan(o.Stack, w.WokenBy) })
}

func calls(frames []record.Frame, functions ...string) bool {
	return slices.ContainsFunc(frames, func(f record.Frame) bool { return slices.Contains(functions, f.Function) })
}

// closureOf reports whether a stack has a function that was written in another, as deferred ones are:
// main.serve.func1, or main.main.func1.1 in one that has no name itself.
func closureOf(function string, frames []record.Frame) bool {
	return slices.ContainsFunc(frames, func(f record.Frame) bool { return strings.HasPrefix(f.Function, function+".") })
}

// placeOf is the statement at which a goroutine waits.
func placeOf(w record.Wait) place {
	for _, f := range w.Stack {
		if !record.Synchronises(f.Function) {
			return place{f.Function, f.Line}
		}
	}
	return place{}
}

// onChannel reports whether a request waits on a channel, or in a select.
func onChannel(w record.Wait) bool {
	kind := What(w)
	return (kind == WaitChannel || kind == WaitSelect) && InRequest(w.Stack)
}
