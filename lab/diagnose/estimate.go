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

// estimate sets the facts for what-if estimates, and the estimate for the bottleneck itself.
func (d *Diagnosis) estimate(s Subject, e evidence) {
	run := cmp.Or(s.last(), s.Profiled)
	if run == nil {
		return
	}
	d.facts = whatif.Facts{Bottleneck: d.Bottleneck, Kind: d.Kind, Name: causeText(d.Bottleneck, d.Kind), CPU: whatif.CPUOf(run, facts.Procs(run, s.Profiled)),
		Rising: d.Signals[rules.Growth] >= rules.Defaults.Value(rules.ThresholdGrowth), Others: e.limits(s, d), Sessions: run.Axis() == record.AxisSessions}
	if e.cpu != nil {
		shares := stacks.ClassShares(e.cpu)
		d.facts.Computes = shares[stacks.Other] + shares[stacks.Malloc] + shares[stacks.GC]
	}
	if s.last() == nil { // a ladder has no saturated run: its peak is in the slices
		d.facts.CPU = d.facts.CPU.At(whatif.CPUUseOf(s.Peak))
	}
	d.facts.UsedUp = slices.Contains([]rules.Bottleneck{rules.Wait, rules.Unknown, rules.Environment}, d.Bottleneck) && d.facts.CPU.UsedUp() &&
		d.Signals[rules.SerialBusy] < rules.Defaults.Value(rules.ThresholdSerialBusy)
	if d.Bottleneck == rules.Wait && d.Signals[rules.WorkersWait] > d.Signals[rules.WaitTop] {
		d.facts.WorkersWait = d.Signals[rules.WorkersWait]
	}
	estimate := d.facts.Without(d.removal(run, e).OrMissing())
	d.WhatIf = &estimate
}

// limits are the resources, besides the bottleneck, that serve one request at a time.
func (e *evidence) limits(s Subject, d *Diagnosis) (out []whatif.Limit) {
	const contended = 0.05 // of the requests' time: a smaller share may be of several locks
	if d.Bottleneck != rules.Lock && s.Profiled != nil && d.Signals[rules.LockWait] >= contended {
		if h, ok := stacks.HolderOf(s.Profiled, e.trace, e.waits[stacks.WaitLock]); ok && h.Busy > 0 {
			out = append(out, whatif.Limit{Name: "the lock that " + h.Name() + " holds", Busy: h.Busy, Computes: h.Computes})
		}
	}
	if busy, at := d.Signals[rules.SerialBusy], ""; busy > 0 && d.Bottleneck != rules.Wait {
		if f, ok := stacks.Entry(e.waker); ok {
			at = " (" + f.Function + ")"
		}
		out = append(out, whatif.Limit{Name: "the one goroutine that requests wait for" + at, Busy: busy, Computes: busy})
	}
	if below := d.Downstream; below != nil && below.Bottleneck == rules.CPU && d.Kind != string(stacks.WaitNetwork) {
		out = append(out, whatif.Limit{Name: "the CPU of " + below.Variant + ", which it calls,", Busy: min(1, below.Signals[rules.Utilisation])})
	}
	return out
}

// removal is the bottleneck, or the largest part of it that has a place.
func (d *Diagnosis) removal(run *record.Run, e evidence) whatif.Removal {
	switch {
	case d.Bottleneck == rules.Lock && d.Kind == rules.Spun:
		return whatif.Removal{CPU: d.Signals[rules.LockSpin], CPUOf: "spent acquiring and releasing locks"}
	case d.Bottleneck == rules.Lock:
		r := whatif.Removal{Waits: []string{string(stacks.WaitLock)}}
		if h := e.holder; h != nil && h.Costs != nil {
			r.Part, r.PartOf = h.Costs.Share, "at "+h.Costs.Location()
			if h.Calls != "" {
				r.PartOf = fmt.Sprintf("in %s, called %s", h.Calls, r.PartOf)
			}
		}
		return r
	case d.Bottleneck == rules.Wait:
		r := whatif.Removal{Waits: []string{d.Kind}}
		if _, of := e.serial(); d.Signals[rules.SerialBusy] >= rules.Defaults.Value(rules.ThresholdSerialBusy) && len(of) > 0 {
			// What that goroutine does, and those that it starts, may not be needed: the most is without it.
			elsewhere := slices.DeleteFunc(slices.Clone(e.cpu.Stacks), func(s record.Stack) bool { return stacks.InRequest(s.Frames) })
			r.CPU, r.CPUOf = stacks.Sum(elsewhere)/e.cpu.Total(), "outside of the requests, in the one goroutine for which they wait and those that it starts"
		}
		return r
	case d.Bottleneck == rules.GC:
		return whatif.Removal{CPU: d.Signals[rules.Allocating], CPUOf: "spent allocating and collecting"}
	case d.Bottleneck == rules.Syscall:
		return whatif.Removal{CPU: d.Signals[rules.Kernel], CPUOf: "spent in system calls"}
	case d.Bottleneck == rules.CPU && d.unbranched:
		return whatif.Removal{Missing: "a place with much of the CPU time, which is spread over many functions"}
	case d.Bottleneck == rules.CPU && len(d.Sites) > 0:
		p := d.Sites[0]
		r := whatif.Removal{CPU: p.Share, CPUOf: "in " + p.String()}
		if p.Cumulative {
			r.CPUOf += " and what it calls"
		}
		return r
	case d.Bottleneck == rules.CPU:
		return whatif.Removal{Missing: "a CPU profile that shows what computes"}
	}
	return whatif.Removal{}
}

// Facts are the figures from which estimates are made.
func (d *Diagnosis) Facts() whatif.Facts { return d.facts }

// BottleneckText names what bounds the service, within a sentence.
func (d *Diagnosis) BottleneckText() string { return causeText(d.Bottleneck, d.Kind) }
