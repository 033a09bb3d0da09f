package diagnose

import (
	"fmt"
	"slices"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

// prediction is the effect that a verdict predicts for a change.
type prediction struct {
	change  *record.Change // nil: no experiment is possible
	changed string
	text    string
	holds   func(ratio float64) bool // of the throughput after to that before
}

// Disturbed reports whether other processes disturbed a run enough to have contributed to its
// result.
func Disturbed(r *record.Run) bool {
	return delayedByOthers(r, rules.Defaults.Value(rules.ThresholdNeighbours))
}

// inexact is the share of the machine above which other processes make a throughput imprecise.
const inexact = 0.1

// delayedByOthers reports whether other processes took at least a share of the machine and delayed
// the target.
func delayedByOthers(r *record.Run, share float64) bool {
	if !r.System.Seen || r.Machine.Cores == 0 {
		return false
	}
	return r.System.OthersCPU/float64(r.Machine.Cores) >= share && r.System.TargetDelay >= rules.Defaults.Value(rules.ThresholdDelayed)
}

// disturbance describes what other processes did during a run.
func disturbance(r *record.Run) string {
	others, around := "other programs", r.System
	if around.StealCPU > around.OthersCPU/2 {
		others = "the hypervisor, for other virtual machines (steal), and other programs"
	}
	return fmt.Sprintf("%s took %s of the CPUs, and %s of the service's threads queued for one at any moment", others,
		percent(around.OthersCPU/float64(r.Machine.Cores)), digits(around.TargetDelay))
}

// moreGOGC is the factor by which the intervention raises GOGC, to show whether GC bounds a
// service.
const moreGOGC = 8

// gogc is Go's default. A program's own setting is not visible from outside.
const gogc = 100

// slack is the share of a predicted throughput that must be reached: processors share caches and
// memory.
const slack = 0.8

// adjustable reports whether the target of a run can get another GOGC or GOMAXPROCS.
func adjustable(r *record.Run) bool {
	return r != nil && !r.Target.NotGo && (r.Target.Agent || len(r.Target.Command) > 0)
}

// predict returns the experiment that can confirm or overturn a subject's verdict.
func predict(t rules.Thresholds, s Subject) prediction {
	if !adjustable(s.last()) {
		return prediction{}
	}
	return s.decide(t, s.read(), nil).predict(t, s)
}

// predict returns the experiment that can confirm or refute a verdict.
func (c candidate) predict(t rules.Thresholds, s Subject) prediction {
	last := s.last()
	if !adjustable(last) {
		return prediction{}
	}
	e, bound, rule := c.e, c.d.Bottleneck, c.rule
	switch bound {
	case rules.GC:
		// At the limit GOGC does not set how often it collects. If that is not known, an experiment without
		// the agent can confirm the verdict and does not refute it.
		limit := c.e.memoryLimit
		if !roomFor(moreGOGC, last) || limit.Bytes > 0 && (!limit.Perhaps || last.Target.Agent) {
			return prediction{}
		}
		return prediction{
			change:  &record.Change{GOGC: moreGOGC * gogc},
			changed: fmt.Sprintf("GOGC=%d", moreGOGC*gogc),
			text:    fmt.Sprintf("with the heap collected %d times less often the throughput rises to %.2fx or more", moreGOGC, t.Value(rules.ThresholdLessGC)),
			holds:   func(ratio float64) bool { return ratio >= t.Value(rules.ThresholdLessGC) },
		}
	case rules.Wait:
		if rule.Kind == rules.Accepted {
			return prediction{} // the kernel's queue does not depend on the processors
		}
	case rules.CPU, rules.Lock:
	default:
		// A thread that stays in a system call hands its processor to another thread and continues,
		// so kernel time does not depend on GOMAXPROCS.
		return prediction{}
	}
	procs := facts.Procs(last, s.Profiled)
	if !last.System.Elsewhere && (procs == 0 || procs > last.Machine.Cores) {
		procs = last.Machine.Cores
	}
	if procs < 2 {
		return prediction{}
	}
	// Half of them: one of many would not show.
	p := prediction{change: &record.Change{Procs: procs / 2}, changed: fmt.Sprintf("GOMAXPROCS=%d instead of %d", procs/2, procs)}
	left := float64(procs / 2)
	if bound == rules.CPU {
		if left > slack*e.cores {
			return prediction{} // it has no more than that now: the lab and other processes use the rest
		}
		p.text = fmt.Sprintf("on half of the processors the throughput falls below %.2fx", t.Value(rules.ThresholdFewerProcs))
		p.holds = func(ratio float64) bool { return ratio < t.Value(rules.ThresholdFewerProcs) }
		return p
	}
	// A waiting service is not short of CPU, unless it already uses more than would be left.
	keeps := slack
	if used := last.System.TargetCPU; used > left {
		keeps *= left / used
	}
	if keeps < slack*slack || rule.Kind == rules.Spun {
		return prediction{} // a computing service would keep hardly less
	}
	p.text = fmt.Sprintf("a waiting service is not short of CPU: on half of the processors the throughput stays at %.2fx or more", keeps)
	p.holds = func(ratio float64) bool { return ratio >= keeps }
	return p
}

// roomFor reports whether the machine has the memory for a heap that is collected less often by the
// given factor. It may take half of the memory, since the machine may have other users.
func roomFor(times float64, r *record.Run) bool {
	live := int64(0)
	for _, w := range r.Series {
		if w.Server != nil {
			live = max(live, w.Server.HeapLive)
		}
	}
	const gib = 1 << 30
	return float64(live)*(1+times) <= r.Machine.MemoryGiB*gib/2 || r.Machine.MemoryGiB == 0
}

// outcome returns an intervention's result with its prediction; ok is false when there was none.
func outcome(t rules.Thresholds, s Subject, c candidate) (Intervention, bool) {
	if len(s.Intervened) == 0 || s.last() == nil {
		return Intervention{}, false
	}
	p, made := c.predict(t, s), s.Intervened[len(s.Intervened)-1]
	if p.change == nil || made.Spec.Change == nil || *p.change != *made.Spec.Change {
		return Intervention{}, false // it tested another verdict
	}
	before := facts.PerSecond(s.last())
	for _, r := range s.Repeated {
		before += facts.PerSecond(r)
	}
	before /= float64(1 + len(s.Repeated))
	if before <= 0 {
		return Intervention{}, false
	}
	after := facts.PerSecond(made)
	ratio := after / before
	out := Intervention{Changed: p.changed, Predicted: p.text,
		Saw: fmt.Sprintf("%s/s after %s/s: %.2fx", grouped(after), grouped(before), ratio), Held: p.holds(ratio), times: ratio}
	switch {
	case out.Held:
	case slices.ContainsFunc(append([]*record.Run{made, s.last()}, s.Repeated...), func(r *record.Run) bool { return invalidTarget(r) || delayedByOthers(r, inexact) }):
		out.Saw += ", but other processes took the CPU meanwhile, so the result is inconclusive"
		out.undecided = true
	case !made.Target.Agent:
		out.Saw += ", but it is unknown whether the program uses this setting from its environment, so the result is inconclusive"
		out.undecided = true
	}
	return out, true
}
