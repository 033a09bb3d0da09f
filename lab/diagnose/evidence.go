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
	const (
		most   = 3   // goroutines of several
		mostly = 0.5 // of their time
	)
	busy := e.signals[rules.SerialBusy] >= rules.Defaults.Value(rules.ThresholdSerialBusy)
	for w := longest; len(out) < most; {
		if hops := stacks.Chain(w, e.trace); len(hops) > 0 {
			for _, hop := range hops {
				out = append(out, linkTo(hop.By, hop.Wait, hop.Wait.Seconds/e.trace.Seconds, longest))
			}
			// A goroutine that is busy most of the time waits for its next piece of work the rest of it.
			if last := out[len(out)-1].For; busy && forOthers(last) && last != stacks.WaitGroup {
				return nil
			}
			return out
		}
		next, waits := stacks.Behind(w, e.trace)
		share := stacks.ShareOf(next, e.trace)
		if !waits || busy || share < mostly {
			return nil
		}
		by, own := stacks.UserFrame(w.WokenBy)
		if !own { // it only reports that the goroutine ended
			if by, own = stacks.Entry(next.Stack); !own {
				by = next.Entry
			}
		}
		link := linkTo(by, next, share, record.Wait{})
		out = append(out, link)
		switch {
		case !forOthers(link.For) && link.At.Function != "":
			return out
		case !forOthers(link.For), !stacks.StartedWithin(next, e.trace): // the latter: perhaps for work
			return nil
		}
		w = next
	}
	return nil
}

// forOthers reports whether a wait of this kind is for other goroutines, which may have no work for it.
func forOthers(kind stacks.WaitKind) bool {
	return kind == stacks.WaitChannel || kind == stacks.WaitSelect || kind == stacks.WaitCond || kind == stacks.WaitGroup
}

// linkTo describes a goroutine that others wait for: longest is the requests' wait.
func linkTo(by record.Frame, w record.Wait, share float64, longest record.Wait) chainLink {
	h := chainLink{By: stacks.At(by), For: stacks.What(w), Share: math.Min(1, share)}
	if at, ok := stacks.UserFrame(w.Stack); ok {
		h.At = stacks.At(at)
	}
	if longest.Count > 0 { // both counts are from the trace
		h.PerRequest = float64(w.Count) / float64(longest.Count)
	}
	return h
}
