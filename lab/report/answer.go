package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/record"
)

// kindWords name the kinds of experiment.
var kindWords = map[string]string{
	record.KindLoad:     "load",
	record.KindCapacity: "capacity",
	record.KindLadder:   "ladder",
	record.KindCompare:  "comparison",
	record.KindSweep:    "sweep",
	record.KindDiagnose: "diagnosis",
}

// outcome returns how the experiment ended.
func (r *Report) outcome(e *record.Experiment) record.Outcome {
	if e.Outcome != nil || e.InProgress != nil {
		return e.Ended()
	}
	if why := r.whyInvalid(); why != "" {
		return record.Outcome{Status: record.OutcomeInvalid, Reason: why}
	}
	for _, w := range e.Warnings {
		if why, ok := strings.CutPrefix(w, "the experiment ended before it was done: "); ok {
			return record.Outcome{Status: record.OutcomeInterrupted, Reason: why}
		}
	}
	return record.Outcome{Status: record.OutcomeComplete}
}

// standing is the outcome in a word, and the certainty of the result or the reason why there is
// none.
func (r *Report) standing() (word, text string) {
	switch o := r.Outcome; o.Status {
	case record.OutcomeComplete:
		return o.Status, r.sureWords()
	case record.OutcomeInvalid:
		return o.Status, o.Reason
	default:
		return o.Status, cmp.Or(o.Reason, "it ended early") + "; until then " + r.sureWords()
	}
}

// sureWords describe how much was measured, and how much of it is decided.
func (r *Report) sureWords() string {
	t := r.Turns
	if t == nil || r.Kind == record.KindDiagnose {
		return countWords(r.Count())
	}
	var parts []string
	switch rest := r.Steps[min(1, len(r.Steps)):]; {
	case r.Kind == record.KindCapacity && len(r.Steps) > 0:
		parts = append(parts, plural(r.Steps[0].Votes, "slice")+" judged by the SLO")
	case r.Kind == record.KindLadder && len(rest) > 0:
		with := 0
		for _, s := range rest {
			if s.RatioInterval != nil {
				with++
			}
		}
		if with == len(rest) {
			parts = append(parts, "every step against "+r.Steps[0].Name+" has an interval")
		} else {
			parts = append(parts, fmt.Sprintf("%d of %s against %s have an interval", with, plural(len(rest), "step"), r.Steps[0].Name))
		}
	}
	if said := t.DecidedWords(); said != "" {
		parts = append(parts, said)
	}
	if len(parts) == 0 {
		return t.Words()
	}
	return strings.Join(parts, ", ")
}

// undecidedWords state what would decide the steps whose ratios are not decided.
func (r *Report) undecidedWords() string {
	var order []string
	names := map[string][]string{}
	for _, s := range r.Steps {
		if s.WouldDecide == "" {
			continue
		}
		if names[s.WouldDecide] == nil {
			order = append(order, s.WouldDecide)
		}
		names[s.WouldDecide] = append(names[s.WouldDecide], s.Name)
	}
	if len(order) == 0 {
		return ""
	}
	for i, what := range order {
		order[i] = strings.Join(names[what], ", ") + " (" + what + ")"
	}
	return strings.TrimPrefix(metricNames[r.RatioMetric], "peak ") + " not decided " + r.againstWords() + ": " + strings.Join(order, "; ")
}

// againstWords name the step with which a verdict by turns compares.
func (r *Report) againstWords() string {
	if r.Kind == record.KindCompare && len(r.Steps) > 0 {
		return "against " + r.referenceWords()
	}
	return "against the step before"
}

// floorWords describe the baseline compared with itself.
func (r *Report) floorWords() string {
	switch {
	case r.Floor == nil && r.CPUFloor == nil:
		return ""
	case r.Turns == nil:
		return "the baseline against itself " + betweenRatios(r.Floor)
	}
	var parts []string
	if r.Floor != nil {
		parts = append(parts, strings.TrimPrefix(metricNames[r.RatioMetric], "peak ")+" "+betweenRatios(r.Floor))
	}
	if r.CPUFloor != nil {
		parts = append(parts, "CPU per request "+betweenRatios(r.CPUFloor))
	}
	return "the baseline against its twin: " + strings.Join(parts, ", ")
}

// leftOut counts the invalid runs by reason, the most frequent reason first.
func (r *Report) leftOut() (out []string) {
	runs := map[string][]string{}
	var order []string
	for _, run := range r.Runs {
		if run.Invalid == "" || run.Invalid == r.Invalid { // which is printed elsewhere
			continue
		}
		if runs[run.Invalid] == nil {
			order = append(order, run.Invalid)
		}
		runs[run.Invalid] = append(runs[run.Invalid], run.ID)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(len(runs[b]), len(runs[a])) })
	for _, why := range order {
		which := plural(len(runs[why]), "run")
		if len(runs[why]) == 1 {
			which = runs[why][0]
		}
		out = append(out, which+": "+why)
	}
	return out
}

// whyInvalid is the reason why an experiment of format version 1, which did not record its outcome,
// has no result; empty when it has one, if only for some steps.
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

// commonest is the most frequent reason of the runs.
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

// best is the step with the highest capacity; nil when none has one. With another metric, less is
// better.
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
		return "No result: " + r.Invalid + "."
	}
	switch r.Kind {
	case record.KindLoad:
		return r.loadAnswer()
	case record.KindCompare:
		if c := r.Comparison; c != nil {
			return comparisonAnswer(*c, r.Turns != nil) + besideWords(r.Metrics) + r.cpuWords()
		}
		return r.severalAnswer()
	case record.KindCapacity:
		return r.capacityAnswer()
	case record.KindSweep:
		if r.Scaling != nil {
			return r.scalingAnswer()
		}
		return r.sweepAnswer()
	case record.KindDiagnose:
		return r.diagnosisAnswer()
	}
	if r.Turns != nil {
		return r.turnAnswer()
	}
	return r.ladderAnswer()
}

func (r *Report) subject() string { return cmp.Or(r.Subject, r.Service, r.Name, "the target") }

// capacityAnswer states the capacity of one variant, and its certainty.
func (r *Report) capacityAnswer() string {
	if len(r.Steps) == 0 {
		return "Nothing was measured."
	}
	s, work := &r.Steps[0], ""
	if s.Work.Known() {
		work = " Its peak work rate is " + rate(s.Work) + space(between(s.WorkInterval)) + "."
	}
	switch c := r.Capacity; {
	case c != nil && c.AtLeast:
		return fmt.Sprintf("%s carries at least %s%s: %s.%s", r.subject(), rate(Value(c.CapacityPerS)), at(latencyWords(r.SLO)), c.Reason, work)
	case c == nil || !s.Capacity.Known():
		why := ""
		if c != nil && c.Reason != "" {
			why = ": " + c.Reason
		}
		return "No capacity was found" + why + "." + work
	case s.Interval == nil:
		return fmt.Sprintf("%s carries about %s%s%s (too few rounds for an interval).%s", r.subject(), rate(s.Capacity), at(latencyWords(r.SLO)), r.atOnceWords(s), work)
	default:
		return fmt.Sprintf("%s carries %s %s%s%s.%s", r.subject(), rate(s.Capacity), between(s.Interval), at(latencyWords(r.SLO)), r.atOnceWords(s), work)
	}
}

// metricWords format a value of the metric.
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
		return said + " (" + verdictOf(i) + ")."
	}
	return said + "."
}

// comparisonAnswer states which of two variants is better, or that this is not decided and what
// would decide it.
func comparisonAnswer(c compare.Comparison, turns bool) string {
	ratio := fmt.Sprintf("%s %s%s", metricNames[c.Metric], times(measured(c.Ratio)), space(betweenRatios(interval(c.Interval))))
	over := "over " + plural(c.Pairs, "pair")
	switch {
	case c.Blocks > 0:
		over = "over " + plural(c.Blocks, "block")
	case turns:
		over = "from at least " + plural(c.Pairs, "slice") + " of each"
	}
	better, worse := "is faster than", "is slower than"
	if c.Metric == compare.MetricCPU {
		better, worse = "needs less CPU than", "needs more CPU than"
	}
	switch {
	case c.Verdict == compare.Faster:
		return fmt.Sprintf("%s %s %s: %s %s.", c.B, better, c.A, ratio, over)
	case c.Verdict == compare.Slower:
		return fmt.Sprintf("%s %s %s: %s %s.", c.B, worse, c.A, ratio, over)
	case c.Verdict == compare.Equal:
		return fmt.Sprintf("%s and %s are %s: %s %s.", c.A, c.B, c.Verdict, ratio, over)
	case c.Verdict != compare.NotDecided:
		return fmt.Sprintf("%s and %s cannot be compared.", c.A, c.B)
	case c.Ratio <= 0:
		return fmt.Sprintf("Not decided: %s and %s have no %s to compare yet.", c.A, c.B, metricNames[c.Metric])
	}
	said := fmt.Sprintf("Not decided: %s of %s at %s that of %s%s so far, %s", metricNames[c.Metric], c.B, times(Value(c.Ratio)), c.A, space(betweenRatios(interval(c.Interval))), over)
	if c.WouldDecide != "" {
		said += "; " + c.WouldDecide
	} else if c.Interval == nil && !turns {
		said += fmt.Sprintf(" of the %d that an interval needs", compare.MinPairs)
	}
	return said + "."
}

func (r *Report) loadAnswer() string {
	if r.Load == nil {
		return "Nothing was measured."
	}
	t := r.Load.Run.Totals
	q := r.Load.Run.SLO.Observed(t)
	said := fmt.Sprintf("Of %s offered, %s came back, p99 %s ms, %s failed",
		rate(Value(t.OfferedPerS)), rate(Value(t.AchievedPerS)), figure(Value(q.P99)), percent(Value(t.ErrorShare())))
	if r.Load.Run.Load.Model == "closed" {
		said = fmt.Sprintf("%s over %s in a closed loop, p99 %s ms (a closed loop hides stalls), %s failed",
			rate(Value(t.AchievedPerS)), plural(r.Load.Run.Load.Connections, "connection"), figure(Value(q.P99)), percent(Value(t.ErrorShare())))
	}
	switch v := r.Load.Verdict; {
	case v == nil:
		return said + "."
	case v.Met:
		return said + ": the SLO was met."
	case unjudged(*v) != "":
		return said + ": the SLO was not judged (" + unjudged(*v) + ")."
	default:
		return said + ": " + r.MissedWords() + "."
	}
}

// MissedWords state how a single load missed its SLO, and whether a disturbance may be the cause.
func (r *Report) MissedWords() string {
	said := "the SLO was missed (" + strings.Join(missed(r.Load.Verdict), "; ") + ")"
	if d := r.Load.Run.Disturbed; d != "" {
		said += ", which is in doubt: " + d
	}
	return said
}

// alike is the relative difference below which two variants' flows are named together.
const alike = 0.01

// sweepAnswer describes the effect of the axes, or names the variants with the highest throughput
// within the SLO's p99.
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
		return fmt.Sprintf("None of %s stayed within%s at any rate.", plural(len(r.Steps), "variant"), within)
	}
	var names []string
	for _, s := range r.Steps {
		if v, ok := best[s.Name]; ok && v >= most*(1-alike) {
			names = append(names, s.Name)
		}
	}
	return fmt.Sprintf("%s %s the most%s: %s.", strings.Join(names, ", "), verb, within, rate(most))
}

// space adds a leading space to a non-empty text.
func space(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

// at adds a leading " at " to a non-empty text.
func at(s string) string {
	if s == "" {
		return ""
	}
	return " at " + s
}
