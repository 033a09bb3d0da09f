package diagnose

import (
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// callsItself reports whether requests wait for answers that come from other requests of the same
// process, as those of a gateway do that is served by the process behind it. What bounds such a
// program is what the inner requests wait for. Without a connection that leads elsewhere, each
// answer comes from the process itself, over loopback or a pipe. With both kinds, the waits of
// inner requests must explain most of the outer ones'.
func callsItself(opened *record.Outgoing, t *record.Trace) bool {
	const most = 0.7 // of the outer requests' waits
	outer, inner := 0.0, 0.0
	for _, w := range t.Waits {
		switch stacks.KindOf(w) {
		case stacks.WaitIdle, stacks.WaitBackground:
		case stacks.WaitNetwork:
			outer += w.Seconds
		default:
			inner += w.Seconds
		}
	}
	switch {
	case opened == nil || outer == 0:
		return false
	case opened.Others == 0 && opened.Own > 0:
		return true
	case opened.Others == 0 || opened.Own > 0:
		return inner >= most*outer
	}
	return false
}
