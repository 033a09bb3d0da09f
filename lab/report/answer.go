package report

import (
	"cmp"
	"fmt"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/record"
)

// kindWords say what kind of experiment a report is of.
var kindWords = map[string]string{
	record.KindLoad:     "load",
	record.KindCapacity: "capacity",
	record.KindLadder:   "ladder",
	record.KindCompare:  "comparison",
	record.KindSweep:    "sweep",
	record.KindDiagnose: "diagnosis",
}

// whyInvalid says why an experiment has no result; empty when it has one, be it of some steps only.
func (r *Report) whyInvalid() string {
	all, valid := r.Count()
	switch {
	case all == 0:
		return "nothing was measured"
	case valid == 0 && r.Kind != record.KindDiagnose:
		return r.commonest(func(run Run) string { return run.Invalid })
	case r.Kind == record.KindDiagnose:
		return r.whyUndiagnosed()
	case r.Comparison != nil && r.Comparison.Verdict == compare.Invalid:
		return cmp.Or(strings.Join(r.Comparison.Warnings, "; "), "the pairs cannot be compared")
	case r.Capacity != nil && !r.Capacity.Valid:
		return cmp.Or(r.Capacity.Reason, "no rate could be held")
	case r.Kind == record.KindLadder && r.best() == nil:
		for _, s := range r.Steps {
			if s.Invalid != "" {
				return fmt.Sprintf("no step has a capacity (%s: %s)", s.Name, s.Invalid)
			}
		}
		return "no step has a capacity"
	}
	return ""
}

// commonest is the reason that most runs give.
func (r *Report) commonest(read func(Run) string) string {
	times, best := map[string]int{}, ""
	for _, run := range r.Runs {
		times[read(run)]++
	}
	for _, run := range r.Runs {
		if why := read(run); times[why] > times[best] || best == "" {
			best = why
		}
	}
	return best
}

// best is the step that carries most; nil when none has a capacity. With another metric, less is better.
func (r *Report) best() *Step {
	var best *Step
	for i := range r.Steps {
		s := &r.Steps[i]
		if !s.Capacity.Known() {
			continue
		}
		better := best == nil || s.Capacity > best.Capacity
		if best != nil && r.Metric != compare.MetricCapacity {
			better = s.Capacity < best.Capacity
		}
		if better {
			best = s
		}
	}
	return best
}

// answer is the result in one sentence.
func (r *Report) answer() string {
	if r.Invalid != "" {
		return "The run is invalid because " + r.Invalid + "."
	}
	switch r.Kind {
	case record.KindLoad:
		return r.loadAnswer()
	case record.KindCompare:
		if c := r.Comparison; c != nil {
			return comparisonAnswer(*c)
		}
		return "There was nothing to compare."
	case record.KindCapacity:
		if r.Capacity != nil {
			return fmt.Sprintf("%s carries %s%s%s%s.", r.subject(), rate(Value(r.Capacity.CapacityPerS)), space(between(interval(r.Capacity.Interval))), at(latencyWords(r.SLO)), r.atOnceWords(&r.Steps[0]))
		}
	case record.KindSweep:
		if r.Scaling != nil {
			return r.scalingAnswer()
		}
		return r.sweepAnswer()
	case record.KindDiagnose:
		return r.diagnosisAnswer()
	}
	return r.ladderAnswer()
}

func (r *Report) subject() string { return cmp.Or(r.Service, r.Name, "the target") }

// metricWords write a datum of the metric.
func metricWords(metric string, v Value) string {
	switch metric {
	case compare.MetricP99:
		return figure(v) + " ms"
	case compare.MetricCPU:
		return figure(v) + " us"
	}
	return rate(v)
}

func (r *Report) ladderAnswer() string {
	best := r.best()
	if best == nil {
		return "No step has a result."
	}
	verb := "carries " + rate(best.Capacity) + at(latencyWords(r.SLO)) + r.atOnceWords(best)
	switch r.Metric {
	case compare.MetricP99:
		verb = "has the lowest p99, " + metricWords(r.Metric, best.Capacity)
	case compare.MetricCPU:
		verb = "needs the least CPU per request, " + metricWords(r.Metric, best.Capacity)
	}
	if best == &r.Steps[0] {
		if len(r.Steps) == 1 {
			return best.Name + " " + verb + "."
		}
		return best.Name + " " + verb + "; no later step does better."
	}
	if !best.Ratio.Known() {
		return best.Name + " " + verb + "; the baseline has no result to compare with."
	}
	said := fmt.Sprintf("%s %s, %s%s the baseline", best.Name, verb, times(best.Ratio), space(betweenRatios(best.RatioInterval)))
	switch i := best.RatioInterval; {
	case i == nil:
		return said + " (too few rounds for an interval)."
	case i.Lo <= 1 && i.Hi >= 1:
		return said + ": no difference could be shown."
	}
	return said + "."
}

func comparisonAnswer(c compare.Comparison) string {
	ratio := fmt.Sprintf("%s %s%s", c.Metric, times(Value(c.Ratio)), space(betweenRatios(interval(c.Interval))))
	switch c.Verdict {
	case compare.Faster, compare.Slower:
		return fmt.Sprintf("%s is %s than %s: %s over %s.", c.B, c.Verdict, c.A, ratio, plural(c.Pairs, "pair"))
	case compare.NoDifference:
		return fmt.Sprintf("No difference could be shown between %s and %s: %s over %s.", c.A, c.B, ratio, plural(c.Pairs, "pair"))
	}
	return fmt.Sprintf("%s and %s cannot be compared.", c.A, c.B)
}

func (r *Report) loadAnswer() string {
	if r.Load == nil {
		return "Nothing was measured."
	}
	t := r.Load.Run.Totals
	q := r.Load.Run.SLO.Observed(t)
	if r.Load.Run.Load.Model == "closed" {
		return fmt.Sprintf("%s over %s in a closed loop, p99 %s ms (a closed loop hides stalls), %s failed.",
			rate(Value(t.AchievedPerS)), plural(r.Load.Run.Load.Connections, "connection"), figure(Value(q.P99)), percent(Value(t.ErrorShare())))
	}
	said := fmt.Sprintf("Of %s offered, %s came back, p99 %s ms, %s failed",
		rate(Value(t.OfferedPerS)), rate(Value(t.AchievedPerS)), figure(Value(q.P99)), percent(Value(t.ErrorShare())))
	switch v := r.Load.Verdict; {
	case v == nil:
		return said + "."
	case v.Met:
		return said + ": the SLO was met."
	default:
		return said + ": the SLO was missed (" + strings.Join(missed(v), "; ") + ")."
	}
}

// alike is how far apart, as a share, two variants' flows may be to be named together.
const alike = 0.01

// sweepAnswer says what the axes did, or names the variants that did most within the SLO's p99.
func (r *Report) sweepAnswer() string {
	if r.Sweep.axes != "" {
		return r.Sweep.axes
	}
	bound := p99Bound(r.SLO)
	best, verb := map[string]Value{}, "accepted"
	var most Value
	for _, row := range r.Sweep.Rows {
		flow := row.Accepted
		if row.Delivered.Known() {
			flow, verb = row.Delivered, "delivered"
		}
		if bound.Known() && !(row.P99 <= bound) || !flow.Known() {
			continue
		}
		best[row.Variant] = max(best[row.Variant], flow)
		most = max(most, flow)
	}
	within := ""
	if bound.Known() {
		within = " with p99 <= " + round(bound) + " ms"
	}
	if len(best) == 0 {
		return fmt.Sprintf("None of %s stayed within%s at any of the rates.", plural(len(r.Steps), "variant"), within)
	}
	var names []string
	for _, s := range r.Steps {
		if v, ok := best[s.Name]; ok && v >= most*(1-alike) {
			names = append(names, s.Name)
		}
	}
	return fmt.Sprintf("%s %s the most%s: %s.", strings.Join(names, ", "), verb, within, rate(most))
}

// space puts a space before what is not empty.
func space(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

// at puts " at " before what is not empty.
func at(s string) string {
	if s == "" {
		return ""
	}
	return " at " + s
}
