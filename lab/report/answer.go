package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/report/format"
)

// EvidenceText describes what is missing of the result, how much was measured, and how much of it is
// decided.
func (r *Report) EvidenceText() string {
	if lacks := r.LacksText(); lacks != "" {
		return lacks + "; " + r.measuredText()
	}
	return r.measuredText()
}

func (r *Report) measuredText() string {
	t := r.Turns
	if t == nil || r.IsDiagnosis() {
		return format.Runs(r.Count())
	}
	var parts []string
	switch rest := r.Steps[min(1, len(r.Steps)):]; {
	case r.isCapacity() && len(r.Steps) > 0:
		parts = append(parts, format.Plural(r.Steps[0].Trials, "slice")+" judged by the SLO")
	case r.isLadder() && len(rest) > 0:
		if !slices.ContainsFunc(rest, func(s VariantResult) bool { return s.RatioInterval == nil }) {
			parts = append(parts, "every step against "+r.Steps[0].Name+" has an interval")
		}
	}
	if decided := t.DecidedText(); decided != "" {
		parts = append(parts, decided)
	}
	if len(parts) == 0 {
		return t.Text()
	}
	return strings.Join(parts, ", ")
}

// UndecidedText states what would decide the steps whose ratios are not decided.
func (r *Report) UndecidedText() string {
	var undecided byText
	for _, s := range r.Steps {
		if s.TimeToDecide != "" {
			undecided.add(s.TimeToDecide, s.Name)
		}
	}
	if len(undecided.texts) == 0 {
		return ""
	}
	var parts []string
	for _, what := range undecided.texts {
		parts = append(parts, strings.Join(undecided.names[what], ", ")+" ("+what+")")
	}
	return strings.TrimPrefix(format.Metrics[r.RatioMetric], "peak ") + " not decided " + r.AgainstText() + ": " + strings.Join(parts, "; ") + "; a longer --budget gives it the time"
}

// byText collects names under the texts that they share, in the order in which the texts come.
type byText struct {
	texts []string
	names map[string][]string
}

func (b *byText) add(text, name string) {
	if b.names == nil {
		b.names = map[string][]string{}
	}
	if b.names[text] == nil {
		b.texts = append(b.texts, text)
	}
	b.names[text] = append(b.names[text], name)
}

// NoiseFloorText describes the baseline compared with itself.
func (r *Report) NoiseFloorText() string {
	switch {
	case r.NoiseFloor == nil && r.CPUNoiseFloor == nil:
		return ""
	case r.Turns == nil:
		return "the baseline against itself " + format.BetweenRatios(r.NoiseFloor)
	}
	var parts []string
	if r.NoiseFloor != nil {
		parts = append(parts, strings.TrimPrefix(format.Metrics[r.RatioMetric], "peak ")+" "+format.BetweenRatios(r.NoiseFloor))
	}
	if r.CPUNoiseFloor != nil {
		parts = append(parts, "CPU per request "+format.BetweenRatios(r.CPUNoiseFloor))
	}
	included := map[bool]string{true: "; the intervals of the ratios are wider by that"}
	return "the baseline against its twin: " + strings.Join(parts, ", ") + included[r.NoiseFloorIncluded]
}

// LeftOut counts the invalid runs by reason, the most frequent reason first.
func (r *Report) LeftOut() (out []string) {
	var runs byText
	for _, run := range r.Runs {
		if run.Invalid != "" && run.Invalid != r.Invalid { // which is printed elsewhere
			runs.add(run.Invalid, run.ID)
		}
	}
	slices.SortStableFunc(runs.texts, func(a, b string) int { return cmp.Compare(len(runs.names[b]), len(runs.names[a])) })
	for _, why := range runs.texts {
		which := format.Plural(len(runs.names[why]), "run")
		if len(runs.names[why]) == 1 {
			which = runs.names[why][0]
		}
		out = append(out, which+": "+why)
	}
	return out
}

// best is the step with the best capacity, or value of another metric, of which less is better; nil:
// none has one.
func (r *Report) best() *VariantResult {
	return r.highest(func(s *VariantResult) format.Value {
		if r.Metric != compare.MetricCapacity {
			return -s.Capacity
		}
		return s.Capacity
	})
}

// highest is the first step with the highest value of a figure; nil when none has it.
func (r *Report) highest(read func(*VariantResult) format.Value) *VariantResult {
	var best *VariantResult
	for i := range r.Steps {
		if s := &r.Steps[i]; read(s).Known() && (best == nil || read(s) > read(best)) {
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
	return kindOf(r.Kind).answer(r)
}

// loadAnswer is the result of a single load.
func (r *Report) loadAnswer() string {
	if r.Load == nil {
		return "Nothing was measured."
	}
	return r.Load.Answer()
}

// compareAnswer states which variant is better.
func (r *Report) compareAnswer() string {
	if c := r.Comparison; c != nil {
		return format.Comparison(*c, r.Turns != nil) + format.Others(r.Metrics) + r.cpuText()
	}
	return r.severalAnswer()
}

// sweepAnswer names the variants that carry the most of the declared loads.
func (r *Report) sweepAnswer() string {
	switch {
	case r.SessionRuns != nil:
		return r.SessionRuns.Answer()
	case r.Scaling != nil:
		return r.Scaling.Answer()
	}
	var names []string
	for _, s := range r.Steps {
		names = append(names, s.Name)
	}
	return r.Sweep.Answer(r.SLO, names)
}

// carried writes a capacity: a rate, or a number of sessions.
func (r *Report) carried(v format.Value) string {
	if r.SessionRuns != nil {
		return format.Plural(int(v+0.5), "session")
	}
	return format.Rate(v)
}

func (r *Report) subject() string { return cmp.Or(r.Subject, r.Service, r.Name, "the target") }

// capacityAnswer states the capacity of one variant, and its certainty.
func (r *Report) capacityAnswer() string {
	if len(r.Steps) == 0 {
		return "Nothing was measured."
	}
	s, work := &r.Steps[0], ""
	if s.Work.Known() {
		work = " Its peak work rate is " + format.Rate(s.Work) + format.Space(format.Between(s.WorkInterval)) + "."
	}
	if r.Capacity != nil && r.Capacity.Grows != "" {
		work += " " + strings.ToUpper(r.Capacity.Grows[:1]) + r.Capacity.Grows[1:] + "."
	}
	switch c := r.Capacity; {
	case c != nil && c.AtLeast:
		return fmt.Sprintf("%s carries at least %s%s: %s.%s", r.subject(), r.carried(format.Value(c.CapacityPerS)), format.At(format.Latency(r.SLO)), c.Reason, work)
	case c == nil || !s.Capacity.Known():
		why := ""
		if c != nil && c.Reason != "" {
			why = ": " + c.Reason
		}
		return "No capacity was found" + why + "." + work
	case s.Interval == nil:
		return fmt.Sprintf("%s carries about %s%s%s (too few rounds for an interval).%s", r.subject(), r.carried(s.Capacity), format.At(format.Latency(r.SLO)), r.concurrencyText(s), work)
	default:
		return fmt.Sprintf("%s carries %s %s%s%s.%s", r.subject(), r.carried(s.Capacity), format.Between(s.Interval), format.At(format.Latency(r.SLO)), r.concurrencyText(s), work)
	}
}

func (r *Report) ladderAnswer() string {
	if r.Turns != nil {
		return r.turnAnswer()
	}
	best := r.best()
	if best == nil {
		return "No step has a result."
	}
	verb := "carries " + r.carried(best.Capacity) + format.At(format.Latency(r.SLO)) + r.concurrencyText(best)
	switch r.Metric {
	case compare.MetricP99:
		verb = "has the lowest p99, " + format.MetricValue(r.Metric, best.Capacity)
	case compare.MetricCPU:
		verb = "needs the least CPU per request, " + format.MetricValue(r.Metric, best.Capacity)
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
	text := fmt.Sprintf("%s %s, %s%s the baseline", best.Name, verb, format.Times(best.Ratio), format.Space(format.BetweenRatios(best.RatioInterval)))
	switch i := best.RatioInterval; {
	case i == nil:
		return text + " (too few rounds for an interval)."
	case i.Lo <= 1 && i.Hi >= 1:
		return text + " (" + format.VerdictOf(i) + ")."
	}
	return text + "."
}

// concurrencyText states the concurrency of a step's capacity, and its limit.
func (r *Report) concurrencyText(s *VariantResult) string {
	if r.Scaling == nil || !s.Concurrency.Known() {
		return ""
	}
	text := " with concurrency " + format.Whole(s.Concurrency)
	if s.Waits != "" {
		text += ", waiting for " + s.Waits
	}
	return text
}

// AllWarnings are the warnings of the report and its analyses without duplicates. A warning that
// several steps share names them together.
func (r *Report) AllWarnings() []string {
	out := slices.Clone(r.Warnings)
	if r.Load != nil && r.Load.Run.Disturbed != "" {
		out = append(out, r.Load.Run.Disturbed)
	}
	if r.Capacity != nil {
		out = append(out, r.Capacity.Warnings...)
	}
	if r.Comparison != nil {
		out = append(out, r.Comparison.Warnings...)
	}
	var shared byText
	of := func(variant string, warnings []string) {
		for _, w := range warnings {
			if !slices.Contains(out, w) {
				shared.add(w, variant)
			}
		}
	}
	for _, s := range r.Steps {
		of(s.Name, s.Warnings)
	}
	for i := range r.Diagnoses {
		of(r.NameOf(&r.Diagnoses[i]), r.Diagnoses[i].Warnings)
	}
	for _, w := range shared.texts {
		out = append(out, strings.Join(slices.Compact(shared.names[w]), ", ")+": "+w)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(w string) bool {
		again := seen[w]
		seen[w] = true
		return again
	})
}
