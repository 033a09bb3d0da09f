package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// Diagnose finds the bottleneck of each diagnosed variant of an experiment, in the order of its
// variants. The caller adds a capacity if one was measured.
func Diagnose(e *record.Experiment) []Diagnosis {
	var out []Diagnosis
	for _, name := range e.VariantNames() {
		s := NewSubject(name, e.Runs)
		if s.Profiled == nil && s.last() == nil {
			continue
		}
		s.Peak = Peak(e, name)
		d := s.Diagnose(rules.Defaults)
		d.Warnings = append(d.Warnings, e.Warnings...)
		about := findings.Subject{Experiment: e, Variant: name, Saturated: s.Saturated, Profiled: s.Profiled, Other: s.Other}
		for _, f := range findings.Find(about) {
			estimate := d.facts.Without(f.Removes.OrMissing())
			f.WhatIf = &estimate
			d.Findings = append(d.Findings, f)
		}
		d.lead()
		d.Unseen = append(d.Unseen, findings.Unseen(about)...)
		out = append(out, d)
	}
	return out
}

// Peak returns the slices of peak work of a variant.
func Peak(e *record.Experiment, variant string) []*record.Slice {
	return e.SlicesOf(record.SliceWork, func(s *record.Slice) bool {
		return s.Variant == variant && s.Role == record.RoleMeasure && s.Invalid == ""
	})
}

// Diagnose applies the rules with these thresholds. A verdict that an experiment or the estimate
// refutes is replaced by that of the next rule that holds.
func (s Subject) Diagnose(t rules.Thresholds) Diagnosis {
	c := s.decide(t, s.read(), nil)
	made, tested := outcome(t, s, c)
	if tested && !made.Held && !made.undecided {
		c = s.decide(t, c.read, append(c.refuted, refutation{c.rule, c.d,
			"an experiment contradicted that: with " + made.Changed + ", predicted: " + made.Predicted + "; measured: " + made.Saw, made.times}))
	}
	d := c.d
	if len(c.refuted) > 0 && c.rule == nil {
		d = c.refuted[0].overturned()
		d.estimate(s, c.e)
	}
	if tested {
		d.Interventions = append(d.Interventions, made)
	}
	d.confirm(s, t, c)
	d.follow(s, t)
	d.judgeValidity(s)
	d.Next = d.next()
	return d
}

// verdict collects what the text of a diagnosis mentions.
func (e *evidence) verdict(s Subject, d Diagnosis) statement {
	v := statement{Bottleneck: d.Bottleneck, Kind: d.Kind, Signals: e.signals, Cores: e.cores, Sites: d.Sites, Holder: e.holder, Taken: e.taken, Spends: e.spends(), Behind: e.behind(), MemoryLimit: e.memoryLimit, NonGo: e.nonGo, One: e.one, Spread: e.spread, Path: e.path, Peak: d.PeakPerS, Sheds: d.Sheds != ""}
	if run := s.last(); run != nil {
		v.CallsTo, v.Refusals = run.System.CallsTo, refusals(run)
	}
	if f, ok := stacks.Entry(e.waker); ok {
		v.Serial = f.Function
	}
	return v
}

// confirm decides whether a verdict is confirmed: an experiment must have come out as predicted, the
// estimate must not contradict it, and no other process may have contributed. Despite other
// processes, a verdict can be confirmed if requests wait most of their time for a lock or another
// resource: other processes do not cause such waits, except for the accept queue.
func (d *Diagnosis) confirm(s Subject, t rules.Thresholds, c candidate) {
	run := cmp.Or(s.last(), s.Profiled)
	if run != nil && Disturbed(run) {
		d.Disturbed = disturbance(run)
	}
	asleep, seen := d.Signals[rules.Awake] // a thread that waits for a CPU counts as awake
	waits := seen && asleep < t.Value(rules.ThresholdAwake) && d.Bottleneck == rules.Wait && d.Kind != rules.Accepted ||
		d.Signals[rules.LockWait] >= t.Value(rules.ThresholdLockWait) && d.Bottleneck == rules.Lock ||
		max(d.Signals[rules.WaitTop], d.Signals[rules.WorkersWait]) >= t.Value(rules.ThresholdWaiting) && d.Bottleneck == rules.Wait && d.Kind != rules.Accepted
	switch d.Bottleneck {
	case rules.Unknown, rules.Environment:
		return
	case rules.Generator, rules.NotLoaded: // nothing of the service to test
		switch {
		case d.Disturbed != "":
			d.Unconfirmed = "meanwhile " + d.Disturbed
		case run != nil && run.Invalid != "" && d.Bottleneck == rules.NotLoaded:
			d.Unconfirmed = "the run does not count: " + run.Invalid
		}
	default:
		d.Unconfirmed = d.doubt(waits, c.refuted)
	}
	d.Confirmed = d.Unconfirmed == ""
	if d.Unconfirmed != "" && d.Unconfirmed != untested {
		d.Text += " This is unconfirmed: " + d.Unconfirmed + "."
	}
}

// untested is why a verdict is unconfirmed that no experiment could test.
const untested = "no experiment tested it"

// doubt says why a verdict on the service is not confirmed; empty: it is. waits means that the
// evidence is waits that other processes do not cause.
func (d *Diagnosis) doubt(waits bool, refuted []refutation) string {
	switch {
	case d.Disturbed != "" && !waits:
		return "meanwhile " + d.Disturbed
	case len(refuted) > 0:
		first := refuted[0]
		return fmt.Sprintf("the signals name %s first, but %s", causeText(first.d.Bottleneck, first.d.Kind), first.why)
	case d.contradicted() != "": // beside other processes, which is why it is not refuted
		return "by the estimate, the throughput would hardly rise without it"
	case len(d.Interventions) == 0:
		return untested
	case !d.Interventions[0].Held:
		return "the experiment was inconclusive"
	}
	return ""
}

// judgeValidity marks a verdict that is about the measurement rather than the service.
func (d *Diagnosis) judgeValidity(s Subject) {
	switch {
	case d.Bottleneck == rules.Generator:
		d.Valid, d.Reason = false, "the load generator was the limit, so the service's own bottleneck was not reached"
	case d.PeakPerS == 0 && len(s.Saturated) > 0:
		d.Valid, d.Reason = false, "no request was answered"
	}
	if last := s.last(); d.Valid && d.Disturbed == "" && last != nil && delayedByOthers(last, inexact) {
		d.Warnings = append(d.Warnings, "the figures are imprecise: meanwhile "+disturbance(last))
	}
}

// serving returns the places of stacks, as shares of the whole, without those of taking profiles.
func serving(of []record.Stack, whole float64) []stacks.Site {
	return stacks.SitesOf(slices.DeleteFunc(of, func(s record.Stack) bool {
		return stacks.ClassOf(s.Frames) == stacks.Profiling || profiling(s.Frames)
	}), whole)
}

// much is the least share of the CPU time of a place that a headline names: without it, the
// throughput would rise by a ninth.
const much = 0.1

// sites returns the places in the code that cause a bottleneck.
func (e *evidence) sites(s Subject, bound rules.Bottleneck, kind string) []stacks.Site {
	switch {
	case bound == rules.Lock && kind == rules.Spun:
		return e.sampled(stacks.Lock)
	case bound == rules.Lock:
		out := e.waited(stacks.WaitLock)
		if s.Profiled == nil {
			return out
		}
		if h, ok := stacks.HolderOf(s.Profiled, e.trace, e.waits[stacks.WaitLock]); ok {
			e.holder = &h
			out = withHolder(out, h)
		}
		return out
	case bound == rules.Wait && kind == rules.Accepted:
		return e.accepting()
	case bound == rules.Wait && kind == string(e.top) && e.trace != nil:
		if h, ok := stacks.TakerOf(s.Profiled, e.trace, e.waits[stacks.WaitPool]); ok && e.top == stacks.WaitPool {
			e.taken = &h
		}
		return e.waited(e.top)
	case bound == rules.GC:
		if s.Profiled != nil {
			if p, err := s.Profiled.Profile(record.ProfileHeap, record.ValueAllocBytes); err == nil && len(p.Stacks) > 0 {
				return serving(p.Stacks, p.Total())
			}
		}
		return e.sampled(stacks.Malloc)
	case bound == rules.Syscall:
		return e.sampled(stacks.Syscall)
	case bound == rules.CPU, bound == rules.Unknown:
		out := e.sampled()
		if e.cpu != nil && (len(out) == 0 || out[0].Share < much) {
			e.spread = true
			if p, ok := stacks.HalfSite(e.cpu.Stacks, e.cpu.Total()); ok {
				e.path = stacks.Path(e.cpu.Stacks, p.Function)
				out = before(p, out)
			}
		}
		return out
	}
	return nil
}

// withHolder puts the holder of a lock before the places that wait for it.
func withHolder(waiting []stacks.Site, h stacks.Holder) []stacks.Site {
	first := h.Site
	if h.Costs != nil {
		first = *h.Costs
	}
	first.Share = h.Share
	return before(first, waiting)
}

// before puts a site first; no function is named twice.
func before(first stacks.Site, rest []stacks.Site) []stacks.Site {
	same := func(p stacks.Site) bool { return p.Function == first.Function }
	return append([]stacks.Site{first}, slices.DeleteFunc(rest, same)...)
}

// accepting returns the code that accepts connections.
func (e *evidence) accepting() []stacks.Site {
	if e.trace == nil {
		return nil
	}
	var of []record.Stack
	whole := 0.0
	for _, w := range e.trace.Waits {
		if slices.ContainsFunc(w.Stack, func(f record.Frame) bool { return f.Function == "net/http.(*Server).Serve" }) {
			of = append(of, record.Stack{Frames: w.Stack, Value: w.Seconds})
			whole += w.Seconds
		}
	}
	return serving(of, whole)
}

// sampled returns the code of the CPU profile's samples of these classes (none: of all classes), as
// shares of the whole profile.
func (e *evidence) sampled(classes ...stacks.Class) []stacks.Site {
	if e.cpu == nil {
		return nil
	}
	whole := 0.0
	var of []record.Stack
	for _, s := range e.cpu.Stacks {
		c := stacks.ClassOf(s.Frames)
		if c == stacks.Profiling {
			continue
		}
		whole += s.Value
		if len(classes) == 0 || slices.Contains(classes, c) {
			of = append(of, s)
		}
	}
	return serving(of, whole)
}

// waited returns the code in which requests waited, as shares of their waits of that kind, and the
// code of the goroutines that end more than half of the waiting, if they are few.
func (e *evidence) waited(kind stacks.WaitKind) []stacks.Site {
	var of []record.Stack
	whole := 0.0
	wakers, longest := map[string]stacks.Site{}, map[string]float64{}
	for _, w := range e.waits[kind] {
		of = append(of, record.Stack{Frames: w.Stack, Value: w.Seconds})
		whole += w.Seconds
		if w.Wakers > few {
			continue
		}
		add := func(f record.Frame) {
			p := wakers[f.Function]
			if w.Seconds > longest[f.Function] {
				longest[f.Function] = w.Seconds
				p.Function, p.File, p.Line = f.Function, f.File, f.Line
			}
			p.Share += w.Seconds
			wakers[f.Function] = p
		}
		at, ok := stacks.UserFrame(w.WokenBy)
		if ok {
			add(at)
		}
		if entry, ok := stacks.Entry(w.WokenBy); ok && entry.Function != at.Function {
			add(entry)
		}
	}
	out := serving(of, whole)
	for _, name := range slices.Sorted(maps.Keys(wakers)) {
		p := wakers[name]
		p.Share /= whole
		known := slices.ContainsFunc(out, func(o stacks.Site) bool { return o.Function == p.Function })
		if p.Share > 0.5 && !known {
			out = append(out, p)
		}
	}
	return out
}

// few is the largest number of goroutines that count as a serial part if they end the waits of all
// requests.
const few = 2

// profiling reports whether a stack belongs to the taking of profiles.
func profiling(frames []record.Frame) bool {
	return slices.ContainsFunc(frames, func(f record.Frame) bool {
		return strings.HasPrefix(f.Function, "net/http/pprof.") || strings.HasPrefix(f.Function, "runtime/pprof.")
	})
}
