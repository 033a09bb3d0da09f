package stacks

import (
	"slices"

	"dyno/lab/record"
)

// ofSemaphores returns a trace in which requests that wait for a channel which they use as a semaphore
// wait for a pool: their Reason is "semaphore".
func ofSemaphores(t *record.Trace) *record.Trace {
	slots := map[string]bool{} // functions that wait for one
	for _, w := range t.Waits {
		if function := waitsIn(w.Stack); !slots[function] && isSlot(w, t) {
			slots[function] = true
		}
	}
	if len(slots) == 0 {
		return t
	}
	out := *t
	out.Waits = slices.Clone(t.Waits)
	for i, w := range out.Waits {
		if onChannel(w) && slots[waitsIn(w.Stack)] {
			out.Waits[i].Reason = semaphore
		}
	}
	return &out
}

const semaphore = "semaphore"

// isSlot reports whether a request waits for a slot: what ends the wait, other than by closing the
// channel, is a request that has waited in the same function before. One that never does may send a
// message.
func isSlot(w record.Wait, t *record.Trace) bool {
	closes := func(f record.Frame) bool { return f.Function == "runtime.closechan" }
	return onChannel(w) && InRequest(w.WokenBy) && !slices.ContainsFunc(w.WokenBy, closes) &&
		slices.ContainsFunc(t.Waits, func(o record.Wait) bool {
			return waitsIn(o.Stack) == waitsIn(w.Stack) && LaterThan(o.Stack, w.WokenBy)
		})
}

// onChannel reports whether a request waits on a channel, or in a select.
func onChannel(w record.Wait) bool {
	kind := What(w)
	return (kind == WaitChannel || kind == WaitSelect) && InRequest(w.Stack)
}
