package diagnose

import (
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// callsItself reports whether requests wait for answers that come from other requests of the same
// process, as those of a gateway do that is served by the process behind it. What bounds such a
// program is what the inner requests wait for. The inner requests, which have another handler, must
// explain most of the outer ones' waits by what they wait and run; and the process must have a
// connection to itself, or none that leads elsewhere: then it calls itself through a pipe.
func callsItself(opened *record.Outgoing, t *record.Trace) bool {
	if opened == nil || opened.Own == 0 && opened.Others > 0 {
		return false
	}
	outer, calling := 0.0, map[string]bool{} // by handler
	for _, w := range t.Waits {
		if stacks.KindOf(w) == stacks.WaitNetwork {
			outer += w.Seconds
			calling[handlerOf(w)] = true
		}
	}
	inner := t.Running + t.Runnable
	for _, w := range t.Waits {
		switch stacks.KindOf(w) {
		case stacks.WaitIdle, stacks.WaitBackground, stacks.WaitNetwork:
		default:
			if !calling[handlerOf(w)] {
				inner += w.Seconds
			}
		}
	}
	const most = 0.7 // of the outer requests' waits
	return outer > 0 && inner >= most*outer
}

// handlerOf names the service's own function that a waiting request runs first.
func handlerOf(w record.Wait) string {
	f, _ := stacks.Entry(w.Stack)
	return f.Function
}
