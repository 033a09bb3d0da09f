package diagnose

import (
	"maps"
	"slices"
	"strings"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// Diagnose says what bounds each variant of an experiment that was looked into, in the order of its
// variants. A capacity that was found is the caller's to fill in.
func Diagnose(e *record.Experiment) []Diagnosis {
	var out []Diagnosis
	for _, name := range variants(e) {
		s := NewSubject(name, e.Runs)
		if s.Profiled == nil && s.last() == nil {
			continue
		}
		d := s.Diagnose(Defaults)
		d.Warnings = append(d.Warnings, e.Warnings...)
		about := findings.Subject{Experiment: e, Variant: name, Saturated: s.Saturated, Profiled: s.Profiled, Others: s.Others}
		d.Findings = append(d.Findings, findings.Find(about)...)
		d.Unseen = append(d.Unseen, findings.Unseen(about)...)
		out = append(out, d)
	}
	return out
}

// variants are the names in ladder order, then those that only the runs have.
func variants(e *record.Experiment) []string {
	var names []string
	for _, v := range e.Variants {
		names = append(names, v.Name)
	}
	for _, r := range e.Runs {
		if r.Step.Role != record.RoleAblation && !slices.Contains(names, r.Step.Variant) {
			names = append(names, r.Step.Variant)
		}
	}
	return names
}

// Diagnose applies the rules under these thresholds, and lets what an intervention showed overturn them.
func (s Subject) Diagnose(t Thresholds) Diagnosis {
	e := s.read()
	bound, rule, also := t.Judge(e.signals)
	d := Diagnosis{Variant: s.Variant, Valid: true, Bound: bound, Also: also, Signals: e.signals,
		Where: []Place{}, Interventions: []Intervention{}, Findings: []Finding{}, Unseen: []string{}, Warnings: []string{}}
	d.Unseen = append(d.Unseen, e.unseen...)
	if rule != nil {
		d.Kind = rule.Kind
	}
	if d.Kind == "" && bound == Wait {
		d.Kind = string(e.top)
	}
	for _, r := range s.Saturated {
		d.PeakPerS = max(d.PeakPerS, facts.PerSecond(r))
	}
	d.Where = append(d.Where, e.where(s, bound, d.Kind)...)
	d.Evidence = e.explain(t)
	d.InWords = e.inWords(s, d)
	d.confirm(s, t)
	d.follow(s, t)
	if made, ok := t.outcome(s); ok {
		d.Interventions = append(d.Interventions, made)
		if !made.Held && !made.undecided {
			d.overturn(made)
		}
	}
	d.judgeValidity(s)
	return d
}

// overturn takes a verdict back whose prediction failed.
func (d *Diagnosis) overturn(made Intervention) {
	d.InWords = "It looked as if " + lower(d.InWords) + " But an experiment did not bear that out: with " + made.Changed +
		" the throughput was to follow (" + made.Predicted + ") and was " + made.Saw + "."
	d.Also = appendNew(d.Also, d.Bound)
	d.Bound, d.Kind, d.Confirmed = Unknown, "", false
}

// confirm says whether neighbours may have had a part in what was seen. That requests wait most of their time for
// a lock or for something else is no neighbour's doing, unless what they wait for is to be accepted.
func (d *Diagnosis) confirm(s Subject, t Thresholds) {
	run := s.last()
	if run == nil {
		run = s.Profiled
	}
	if run != nil && Disturbed(run) {
		d.Disturbed = disturbance(run)
	}
	waits := d.Signals[LockWait] >= t.value(lockWaiting) && d.Bound == Lock ||
		max(d.Signals[WaitTop], d.Signals[WorkersWait]) >= t.value(waiting) && d.Bound == Wait && d.Kind != accepted
	switch d.Bound {
	case Unknown, Environment:
	default:
		d.Confirmed = d.Disturbed == "" || waits
		if !d.Confirmed {
			d.InWords += " This is unconfirmed: meanwhile " + d.Disturbed + "."
		}
	}
}

// judgeValidity says when a verdict is about the measurement rather than the service.
func (d *Diagnosis) judgeValidity(s Subject) {
	switch {
	case d.Bound == Generator:
		d.Valid, d.Reason = false, "the load generator was the limit, so what bounds the service was not reached"
	case d.PeakPerS == 0 && len(s.Saturated) > 0:
		d.Valid, d.Reason = false, "no request was answered"
	}
	if last := s.last(); d.Valid && d.Disturbed == "" && last != nil && besides(last, inexact) {
		d.Warnings = append(d.Warnings, "the figures are less exact than they look: meanwhile "+disturbance(last))
	}
}

// places adds up what belongs to each function of the service's own, as a share of the whole. What is spent on
// looking into the service is nobody's.
func places(of []record.Stack, whole float64) []Place {
	return findings.Places(slices.DeleteFunc(of, func(s record.Stack) bool {
		return stacks.ClassOf(s.Frames) == stacks.Profiling || looking(s.Frames)
	}), whole)
}

// where names the code that a bound lies in.
func (e *evidence) where(s Subject, bound Bound, kind string) []Place {
	switch {
	case bound == Lock && kind == spun:
		return e.sampled(stacks.Lock)
	case bound == Lock:
		out := e.waited(stacks.WaitLock)
		if s.Profiled == nil {
			return out
		}
		if h, ok := findings.HolderOf(s.Profiled, e.trace, e.waits[stacks.WaitLock]); ok {
			e.holder = &h
			out = withHolder(out, h)
		}
		return out
	case bound == Wait && kind == accepted:
		return e.accepting()
	case bound == Wait && kind == string(e.top):
		return e.waited(e.top)
	case bound == GC:
		if s.Profiled != nil {
			if p, err := s.Profiled.Profile(record.ProfileHeap, record.ValueAllocBytes); err == nil && len(p.Stacks) > 0 {
				return places(p.Stacks, p.Total())
			}
		}
		return e.sampled(stacks.Malloc)
	case bound == Syscall:
		return e.sampled(stacks.Syscall)
	case bound == CPU, bound == Unknown:
		out := e.sampled(stacks.Other)
		const much = 0.1 // of the CPU time
		if e.cpu != nil && (len(out) == 0 || out[0].Share < much) {
			if p, ok := findings.Half(e.cpu.Stacks, e.cpu.Total()); ok {
				out = append([]Place{p}, out...)
			}
		}
		return out
	}
	return nil
}

// withHolder puts what a lock is held for before where it is waited for.
func withHolder(waiting []Place, h findings.Holder) []Place {
	first := h.Place
	if h.Costs != nil {
		first = *h.Costs
	}
	first.Share = h.Share
	same := func(p Place) bool { return p.Function == first.Function }
	return append([]Place{first}, slices.DeleteFunc(waiting, same)...)
}

// Kinds beyond those of waits (stacks.WaitKind).
const (
	accepted = "accept" // of a wait: for a connection to be accepted
	refused  = "errors" // of unknown: the target answers errors
	spun     = "spin"   // of a lock: taken so often that the CPU goes into taking it
)

// accepting names the code that accepts connections.
func (e *evidence) accepting() []Place {
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
	return places(of, whole)
}

// sampled names the code that took the CPU profile's samples of a class, as shares of the whole profile.
func (e *evidence) sampled(class stacks.Class) []Place {
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
		if c == class {
			of = append(of, s)
		}
	}
	return places(of, whole)
}

// waited names the code in which requests waited, as shares of their waits of that kind. Where one
// goroutine ends the waits of many, it is named as well.
func (e *evidence) waited(kind stacks.WaitKind) []Place {
	var of []record.Stack
	whole := 0.0
	wakers := map[string]Place{}
	for _, w := range e.waits[kind] {
		of = append(of, record.Stack{Frames: w.Stack, Value: w.Seconds})
		whole += w.Seconds
		if w.Wakers > few {
			continue
		}
		add := func(f record.Frame) {
			p := wakers[f.Function]
			wakers[f.Function] = Place{Function: f.Function, File: f.File, Line: f.Line, Share: p.Share + w.Seconds}
		}
		at, ok := stacks.UserFrame(w.WokenBy)
		if ok {
			add(at)
		}
		if entry, ok := stacks.Entry(w.WokenBy); ok && entry.Function != at.Function {
			add(entry)
		}
	}
	out := places(of, whole)
	for _, name := range slices.Sorted(maps.Keys(wakers)) {
		p := wakers[name]
		p.Share /= whole
		known := slices.ContainsFunc(out, func(o Place) bool { return o.Function == p.Function })
		if p.Share > 0.5 && !known {
			out = append(out, p)
		}
	}
	return out
}

// few is how many goroutines may end the waits of all requests for that to be a serial part.
const few = 2

// looking reports whether a stack belongs to whoever takes the profiles.
func looking(frames []record.Frame) bool {
	return slices.ContainsFunc(frames, func(f record.Frame) bool {
		return strings.HasPrefix(f.Function, "net/http/pprof.") || strings.HasPrefix(f.Function, "runtime/pprof.")
	})
}
