package diagnose

import (
	"math"
	"slices"

	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// explain lists the signals that were measured with their meanings.
func (e *evidence) explain(t rules.Thresholds) []findings.Evidence {
	out := []findings.Evidence{}
	for _, m := range meanings {
		if v, seen := e.signals[m.Signal]; seen {
			means := e.serialText(v)
			if m.Means != nil {
				means = m.Means(v, t)
			}
			out = append(out, findings.Evidence{Signal: m.Signal, Value: rounded(v), Unit: m.Unit, Means: means})
		}
	}
	return out
}

// serialText describes the peak throughput times the response time of a single client.
func (e *evidence) serialText(v float64) string {
	switch {
	case v >= rules.OneAtATime:
		return "requests served concurrently: the peak throughput times the response time of a single client (about the number of cores: computing; much more: waiting)"
	case e.cores < rules.OneAtATime:
		return "requests are served one at a time with one core available to the service (equal to the number of cores: computing)"
	}
	return "requests are served one at a time (about the number of cores would be computing, much more would be waiting)"
}

// spends finds where the one goroutine that requests wait for spends its CPU time, if that is not
// its first function; nil: not seen.
func (e *evidence) spends() *stacks.Site {
	entry, of := e.serial()
	if p, ok := stacks.HalfSite(of, stacks.Sum(of)); ok && p.Function != entry.Function {
		return &p
	}
	return nil
}

// serial returns the CPU profile's stacks of the one goroutine that requests wait for, and the
// function of the service's own that it runs.
func (e *evidence) serial() (entry record.Frame, of []record.Stack) {
	entry, ok := stacks.Entry(e.waker)
	if !ok || e.cpu == nil {
		return entry, nil
	}
	for _, s := range e.cpu.Stacks {
		if slices.ContainsFunc(s.Frames, func(f record.Frame) bool { return f.Function == entry.Function }) {
			of = append(of, s)
		}
	}
	return entry, of
}

// behind follows the longest wait of the kind that took most of the requests' time.
func (e *evidence) behind() (out []chainLink) {
	var longest record.Wait
	for _, w := range e.waits[e.top] {
		if w.Seconds > longest.Seconds {
			longest = w
		}
	}
	if e.trace == nil {
		return nil
	}
	for _, hop := range stacks.Chain(longest, e.trace) {
		h := chainLink{By: stacks.At(hop.By), For: stacks.What(hop.Wait), Share: math.Min(1, hop.Wait.Seconds/e.trace.Seconds)}
		if at, ok := stacks.UserFrame(hop.Wait.Stack); ok {
			h.At = stacks.At(at)
		}
		if longest.Count > 0 { // both counts are from the trace
			h.PerRequest = float64(hop.Wait.Count) / float64(longest.Count)
		}
		out = append(out, h)
	}
	if n := len(out); n > 0 {
		// A goroutine that is busy most of the time waits for its next piece of work the rest of it.
		forWork := out[n-1].For == stacks.WaitChannel || out[n-1].For == stacks.WaitSelect || out[n-1].For == stacks.WaitCond
		if forWork && e.signals[rules.SerialBusy] >= rules.Defaults.Value(rules.ThresholdSerialBusy) {
			return nil
		}
		return out
	}
	by, own := stacks.UserFrame(longest.WokenBy)
	if w, waits := stacks.Behind(longest, e.trace); own && waits && e.signals[rules.SerialBusy] < rules.Defaults.Value(rules.ThresholdSerialBusy) {
		h := chainLink{By: stacks.At(by), For: stacks.What(w), Share: math.Min(1, w.Seconds/e.trace.Seconds/float64(max(w.Goroutines, 1)))}
		if at, ok := stacks.UserFrame(w.Stack); ok {
			h.At = stacks.At(at)
		}
		const mostly = 0.5 // of the time
		switch h.For {
		case stacks.WaitChannel, stacks.WaitSelect, stacks.WaitCond, stacks.WaitGroup: // perhaps for work
		default:
			if h.Share >= mostly && h.At.Function != "" {
				out = append(out, h)
			}
		}
	}
	return out
}
