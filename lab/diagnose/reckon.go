package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// reckon sets the facts for what-if estimates, and the estimate for the bottleneck itself.
func (d *Diagnosis) reckon(s Subject, e evidence) {
	run := cmp.Or(s.last(), s.Profiled)
	if run == nil {
		return
	}
	d.facts = whatif.Facts{Bound: d.Bound, Kind: d.Kind, Name: causeText(d.Bound, d.Kind), CPU: whatif.CPUOf(run, facts.Procs(run, s.Profiled)),
		Rising: d.Signals[rules.Growth] >= rules.Defaults.Value(rules.BarGrowth), Others: e.limits(s, d), Sessions: run.Axis() == record.AxisSessions}
	if s.last() == nil { // a ladder's peak is that of its turns
		d.facts.CPU = d.facts.CPU.At(whatif.LoadOf(s.Peak))
	}
	d.facts.UsedUp = slices.Contains([]rules.Bound{rules.Wait, rules.Unknown, rules.Environment}, d.Bound) && d.facts.CPU.UsedUp() &&
		d.Signals[rules.SerialBusy] < rules.Defaults.Value(rules.BarSerialBusy)
	if d.Bound == rules.Wait && d.Signals[rules.WorkersWait] > d.Signals[rules.WaitTop] {
		d.facts.WorkersWait = d.Signals[rules.WorkersWait]
	}
	estimate := d.facts.Without(d.removal(run, e).OrMissing())
	d.WhatIf = &estimate
}

// limits are the resources, besides the bottleneck, that serve one request at a time.
func (e *evidence) limits(s Subject, d *Diagnosis) (out []whatif.Limit) {
	const contended = 0.05 // of the requests' time: less, and it may be several locks
	if d.Bound != rules.Lock && s.Profiled != nil && d.Signals[rules.LockWait] >= contended {
		if h, ok := stacks.HolderOf(s.Profiled, e.trace, e.waits[stacks.WaitLock]); ok && h.Busy > 0 {
			out = append(out, whatif.Limit{Name: "the lock that " + h.Name() + " holds", Busy: h.Busy, Computes: h.Computes})
		}
	}
	if busy, at := d.Signals[rules.SerialBusy], ""; busy > 0 && d.Bound != rules.Wait {
		if f, ok := stacks.Entry(e.waker); ok {
			at = " (" + f.Function + ")"
		}
		out = append(out, whatif.Limit{Name: "the one goroutine that requests wait for" + at, Busy: busy, Computes: busy})
	}
	if below := d.Downstream; below != nil && below.Bound == rules.CPU && d.Kind != string(stacks.WaitNetwork) {
		out = append(out, whatif.Limit{Name: "the CPU of " + below.Variant + ", which it calls,", Busy: min(1, below.Signals[rules.Utilisation])})
	}
	return out
}

// removal is the bottleneck, or the largest part of it that has a place.
func (d *Diagnosis) removal(run *record.Run, e evidence) whatif.Removal {
	switch {
	case d.Bound == rules.Lock && d.Kind == rules.Spun:
		return whatif.Removal{CPU: d.Signals[rules.LockSpin], CPUOf: "spent acquiring and releasing locks"}
	case d.Bound == rules.Lock:
		r := whatif.Removal{Waits: []string{string(stacks.WaitLock)}}
		if h := e.holder; h != nil && h.Costs != nil {
			r.Part, r.PartOf = h.Costs.Share, "at "+h.Costs.Location()
			if h.Calls != "" {
				r.PartOf = fmt.Sprintf("in %s, called %s", h.Calls, r.PartOf)
			}
		}
		return r
	case d.Bound == rules.Wait:
		r := whatif.Removal{Waits: []string{d.Kind}}
		if d.Kind == string(stacks.WaitNetwork) {
			for _, p := range run.System.Peers {
				r.Beside += p.CPU
			}
		}
		return r
	case d.Bound == rules.GC:
		return whatif.Removal{CPU: d.Signals[rules.Allocating], CPUOf: "spent allocating and collecting"}
	case d.Bound == rules.Syscall:
		return whatif.Removal{CPU: d.Signals[rules.Kernel], CPUOf: "spent in system calls"}
	case d.Bound == rules.CPU && len(d.Where) > 0:
		p := d.Where[0]
		r := whatif.Removal{CPU: p.Share, CPUOf: "in " + p.String()}
		if p.Cumulative {
			r.CPUOf += " and what it calls"
		}
		return r
	case d.Bound == rules.CPU:
		return whatif.Removal{Missing: "a CPU profile that shows what computes"}
	}
	return whatif.Removal{}
}

// Facts are the figures from which estimates are reckoned.
func (d *Diagnosis) Facts() whatif.Facts { return d.facts }

// BoundWords name what bounds the service, within a sentence.
func (d *Diagnosis) BoundWords() string { return causeText(d.Bound, d.Kind) }
