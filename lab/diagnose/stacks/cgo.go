package stacks

import (
	"slices"

	"dyno/lab/record"
)

// calledC names the function with which a goroutine called C code, in which it is; empty: it is not.
func calledC(frames []record.Frame) string {
	at := slices.IndexFunc(frames, func(f record.Frame) bool { return f.Function == "runtime.cgocall" })
	back := slices.IndexFunc(frames, func(f record.Frame) bool { return f.Function == "runtime.cgocallbackg" })
	if at < 0 || at+1 == len(frames) || back >= 0 && back < at {
		return ""
	}
	return frames[at+1].Function
}

// computingInC returns a trace in which the time that goroutines computed in C is running time. The
// runtime sees a call to C as a system call, with the caller as the leaf; the CPU profile shows which
// function called C and how much that computed. While it did, its thread also queued for a CPU.
func computingInC(t *record.Trace, r *record.Run) *record.Trace {
	inCall := func(w record.Wait) bool { return w.Reason == "system call" && len(w.Stack) > 0 }
	if !slices.ContainsFunc(t.Waits, inCall) {
		return t
	}
	p, err := r.Profile(record.ProfileCPU, record.ValueCPU)
	if err != nil || p.Seconds <= 0 {
		return t
	}
	computed, all := map[string]float64{}, 0.0 // seconds within the trace
	for _, s := range p.Stacks {
		if f := calledC(s.Frames); f != "" {
			computed[f] += s.Value / 1e9 / p.Seconds * t.Seconds
			all += s.Value / 1e9 / p.Seconds * t.Seconds
		}
	}
	waited := map[string]float64{}
	for _, w := range t.Waits {
		if inCall(w) {
			waited[w.Stack[0].Function] += w.Seconds
		}
	}
	out := *t
	out.Waits = slices.Clone(t.Waits)
	for i, w := range out.Waits {
		if !inCall(w) || computed[w.Stack[0].Function] == 0 || w.Seconds <= 0 {
			continue
		}
		f, part := w.Stack[0].Function, w.Seconds/waited[w.Stack[0].Function]
		ran := min(w.Seconds, part*computed[f])
		queued := min(w.Seconds-ran, part*r.System.TargetDelay*t.Seconds*computed[f]/all)
		out.Waits[i].Seconds -= ran + queued
		out.Running += ran
		out.Runnable += queued
		out.Syscall = max(0, out.Syscall-ran-queued)
	}
	return &out
}
