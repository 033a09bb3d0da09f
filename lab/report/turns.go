package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
)

// This file reads an experiment by turns: slices of variants that stay warm side by side.

// Turns summarises the slices of an experiment by turns.
type Turns struct {
	Blocks, Generations int
	Slices, Left        int // Left is the number of invalid slices
	// shares of the machine taken by the hypervisor and by other processes: medians over the slices
	Steal, Others     Value
	Took, Budget      time.Duration // Budget 0: the plan's full length
	Compared, Decided int           // comparisons with the baseline
}

// busy is the share of the machine, taken by other processes, above which intervals are noticeably
// wider.
const busy = 0.05

// MachineWords state how much the machine was disturbed.
func (t *Turns) MachineWords() string {
	if !t.Steal.Known() {
		return ""
	}
	said := fmt.Sprintf("steal %s of the machine (median), others %s", percent(Value(significant(float64(t.Steal), 2))), percent(Value(significant(float64(t.Others), 2))))
	if t.Steal+t.Others >= busy {
		said += ": intervals are wider, and a capacity may be higher than it shows, since a slice can miss the SLO because of them"
	}
	return said
}

// Words state how much was measured.
func (t *Turns) Words() string {
	said := fmt.Sprintf("%s in %s of %s", plural(t.Slices, "slice"), plural(t.Blocks, "block"), plural(t.Generations, "generation"))
	if t.Left > 0 {
		said += fmt.Sprintf(", %s left out", count(int64(t.Left)))
	}
	if t.Budget > 0 {
		return said + fmt.Sprintf("; slices took %s of a budget of %s", t.Took.Round(time.Second), t.Budget.Round(time.Second))
	}
	return said + "; slices took " + t.Took.Round(time.Second).String()
}

// DecidedWords state how many of the comparisons with the baseline are decided.
func (t *Turns) DecidedWords() string {
	switch t.Compared {
	case 0:
		return ""
	case t.Decided:
		return "every comparison is decided"
	}
	return fmt.Sprintf("%d of %s decided", t.Decided, plural(t.Compared, "comparison"))
}

// turnsOf summarises the slices.
func turnsOf(e *record.Experiment) *Turns {
	t := &Turns{Slices: len(e.Slices), Budget: e.Budget}
	var steal, others []float64
	blocks, first, last := map[[2]int]bool{}, int64(math.MaxInt64), int64(0)
	for _, s := range e.Slices {
		blocks[[2]int{s.Generation, s.Block}] = true
		t.Generations = max(t.Generations, s.Generation)
		first, last = min(first, s.Start), max(last, s.Start+int64(s.Length))
		steal, others = append(steal, s.Steal), append(others, s.Others)
		if s.Invalid != "" || s.Kind == record.SliceSLO && capacity.NoVote(&s) != "" {
			t.Left++
		}
	}
	t.Blocks, t.Took = len(blocks), time.Duration(last-first)
	t.Steal, t.Others = medianOf(steal), medianOf(others)
	return t
}

// medianOf is unknown without values.
func medianOf(values []float64) Value { return Value(median(slices.Sorted(slices.Values(values)))) }

// leftOf counts the SLO slices left out because of other processes or the hypervisor.
func leftOf(e *record.Experiment) (n int) {
	for _, name := range variantNames(e) {
		_, left := capacity.VotesOf(e.Slices, record.RoleMeasure, name)
		n += left
	}
	return n
}

// kneeRatio compares two variants by the rates at which half of their slices meet the SLO.
func kneeRatio(e *record.Experiment, a, b string, peak func(variant string) float64) compare.Comparison {
	of := func(variant string) capacity.Estimate {
		votes, _ := capacity.VotesOf(e.Slices, record.RoleMeasure, variant)
		return capacity.EstimateOf(votes, peak(variant))
	}
	x, y := of(a), of(b)
	if x.Knee <= 0 || y.Knee <= 0 {
		return compare.Comparison{Schema: compare.Schema, Metric: compare.MetricCapacity, A: a, B: b, Verdict: compare.NotDecided}
	}
	return compare.OfEstimates(compare.MetricCapacity, a, b, math.Log(y.Knee/x.Knee), math.Hypot(x.KneeError, y.KneeError), min(x.Votes, y.Votes))
}

// metricsOf compares two variants by every metric of their slices, the requested one first.
func metricsOf(e *record.Experiment, a, b string, peak func(string) float64) []compare.Comparison {
	of := func(metric string) compare.Comparison {
		if metric == compare.MetricCapacity {
			return kneeRatio(e, a, b, peak)
		}
		return compare.Between(e, metric, a, b, nil)
	}
	metrics := []string{compare.MetricWork, compare.MetricCPU}
	if bounds(e.SLO) && peak(a) > 0 && peak(b) > 0 { // at one equal rate there is no capacity
		metrics = slices.Insert(metrics, 0, compare.MetricCapacity)
	}
	asked := cmp.Or(e.Metric, metrics[0])
	all := []compare.Comparison{of(asked)}
	for _, metric := range metrics {
		if metric == asked {
			continue
		}
		if c := of(metric); c.Verdict != compare.Invalid { // there are slices for it
			all = append(all, c)
		}
	}
	return all
}

// turned sets a variant's results from its slices; work and cpu are its rows.
func (s *Step) turned(e *record.Experiment, c capacity.Result, work, cpu compare.Row, first bool) {
	valid := func(x *record.Slice) bool {
		return x.Variant == s.Name && x.Role == record.RoleMeasure && x.Invalid == ""
	}
	perRequest := func(kind string, read func(*record.Slice) float64) Value {
		var all []float64
		for _, x := range e.SlicesOf(kind, valid) {
			if v := read(x); v >= 0 && x.Served > 0 {
				all = append(all, v)
			}
		}
		return medianOf(all)
	}
	s.Work, s.WorkInterval = measured(c.PeakWorkPerS), interval(c.PeakWorkInterval)
	if !s.Work.Known() {
		s.Work = measured(float64(perRequest(record.SliceWork, (*record.Slice).PerS)))
	}
	s.Knee, s.KneeInterval, s.Votes = measured(c.KneePerS), interval(c.KneeInterval), c.Votes
	s.CPU = measured(float64(perRequest(record.SliceWork, (*record.Slice).CPUMicros))).or(s.CPU)
	s.Allocs = perRequest(record.SliceSLO, func(x *record.Slice) float64 { return x.Allocs / float64(x.Served) }).or(s.Allocs)
	s.AllocBytes = perRequest(record.SliceSLO, func(x *record.Slice) float64 { return x.AllocBytes / float64(x.Served) }).or(s.AllocBytes)
	var p99 []float64
	for _, x := range e.SlicesOf(record.SliceSLO, valid) {
		if x.Met && x.Latency.P99 > 0 {
			p99 = append(p99, x.Latency.P99)
		}
	}
	if len(p99) > 0 {
		s.P99 = medianOf(p99)
	}
	// a step without a capacity still has a result
	if (s.Work.Known() || s.P99.Known()) && s.Invalid != "" {
		switch {
		case e.Kind == record.KindCapacity: // printed in the answer
		case c.AtLeast && s.Work.Known():
			s.Warnings = append(s.Warnings, "the capacity is at least "+rate(Value(c.CapacityPerS))+": "+s.Invalid)
		case s.Work.Known() && bounds(e.SLO):
			s.Warnings = append(s.Warnings, "no capacity: "+s.Invalid)
		}
		s.Invalid = ""
	}
	s.Ratio, s.CPURatio = Unknown, Unknown
	if first {
		s.Verdict = "baseline"
		return
	}
	base, before := work.ToBaseline, *work.ToBefore
	s.Ratio, s.RatioInterval, s.StepRatio, s.StepInterval = measured(base.Ratio), interval(base.Interval), measured(before.Ratio), interval(before.Interval)
	s.Verdict, s.WouldDecide = before.Verdict, before.WouldDecide
	s.CPURatio, s.CPUInterval = measured(cpu.ToBaseline.Ratio), interval(cpu.ToBaseline.Interval)
	s.CPUVerdict = cpu.ToBefore.Verdict
	s.LeaveOut = work.LeaveOut
	for _, c := range []*compare.Comparison{&work.ToBaseline, work.ToBefore} {
		s.Warnings = append(s.Warnings, c.Warnings...)
	}
}

// turn sets the result of an experiment by turns, after its steps.
func (r *Report) turn(e *record.Experiment, a analysis) {
	r.RatioMetric = compare.MetricWork
	if n := len(a.rows); n > 0 {
		r.RatioMetric = a.rows[n-1].ToBaseline.Metric
	}
	r.Turns.Left += a.left
	if e.Kind == record.KindCapacity {
		r.Votes = votes(e)
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		row := func(rows []compare.Row) compare.Row {
			at := slices.IndexFunc(rows, func(x compare.Row) bool { return x.Name == s.Name })
			if at < 0 {
				return compare.Row{ToBefore: &compare.Comparison{Verdict: compare.NotDecided}}
			}
			return rows[at]
		}
		s.turned(e, a.capacities[s.Name], row(a.rows), row(a.cpu), i == 0)
		switch e.Kind {
		case record.KindCapacity:
			s.Verdict = "" // there is no step to compare with
		case record.KindCompare:
			s.StepRatio, s.StepInterval = Unknown, nil // the previous step is the baseline
		}
	}
	r.Floor, r.CPUFloor = nil, nil
	if len(a.rows) > 0 {
		r.Floor, r.CPUFloor = interval(a.rows[0].ToBaseline.Interval), interval(a.cpu[0].ToBaseline.Interval)
	}
	r.Metrics = append(r.Metrics, a.metrics...)
	all := r.Metrics
	if e.Kind == record.KindLadder || several(e) {
		for _, rows := range [][]compare.Row{a.rows, a.cpu} {
			for i, row := range rows[min(1, len(rows)):] {
				all = append(all, row.ToBaseline)
				if i > 0 && row.ToBefore != nil && !several(e) { // the first step's is the baseline
					all = append(all, *row.ToBefore)
				}
			}
		}
	}
	for _, c := range all {
		r.Turns.Compared++
		if c.Verdict != compare.NotDecided && c.Verdict != compare.Invalid {
			r.Turns.Decided++
		}
	}
}

// metricNames name the metric of a ratio.
var metricNames = map[string]string{
	compare.MetricWork: "peak work rate", compare.MetricCPU: "CPU per request", compare.MetricCapacity: "capacity", compare.MetricP99: "p99",
}

// betterWords format a verdict by a metric: less CPU is not faster.
func betterWords(metric, verdict string) string {
	if metric == compare.MetricCPU {
		return cmp.Or(map[string]string{compare.Faster: "less", compare.Slower: "more"}[verdict], verdict)
	}
	return verdict
}

// ratioWords format a ratio with its interval, and whether it is decided: CPU per request 0.97x
// [0.94, 1.01] (not decided).
func ratioWords(metric string, ratio Value, i *Interval, verdict string) string {
	if !ratio.Known() {
		return metricNames[metric] + " not compared"
	}
	said := metricNames[metric] + " " + times(ratio) + space(betweenRatios(i))
	if verdict == compare.Equal || verdict == compare.NotDecided {
		said += " (" + verdict + ")"
	}
	return said
}

// turnAnswer is the result of a ladder by turns in one sentence.
func (r *Report) turnAnswer() string {
	best := r.bestByTurns()
	if best == nil {
		return "No step has a result."
	}
	said := best.Name + " does " + rate(best.Work) + " at its peak"
	if best.Capacity.Known() {
		said = best.Name + " carries " + r.carriedWords(best)
	}
	if best == &r.Steps[0] {
		if len(r.Steps) > 1 {
			said += "; no later step does better"
		}
		return said + "."
	}
	return said + "; against " + r.Steps[0].Name + ": " + ratioWords(compare.MetricWork, best.Ratio, best.RatioInterval, verdictOf(best.RatioInterval)) +
		", " + ratioWords(compare.MetricCPU, best.CPURatio, best.CPUInterval, verdictOf(best.CPUInterval)) + "."
}

// VoteRow is the SLO slices of one variant at about one rate.
type VoteRow struct {
	Variant     string
	Rate, P99   Value // medians: offered per second, ms
	Met, Judged int
}

// perVoteRow is the smallest number of slices in a row.
const perVoteRow = 5

// votes summarises the SLO slices of the variants by rate.
func votes(e *record.Experiment) (out []VoteRow) {
	for _, name := range variantNames(e) {
		of, _ := capacity.VotingSlices(e.Slices, record.RoleMeasure, name)
		slices.SortStableFunc(of, func(a, b *record.Slice) int { return cmp.Compare(a.Rate, b.Rate) })
		size := max(perVoteRow, (len(of)+7)/8)
		for group := range slices.Chunk(of, size) {
			row := VoteRow{Variant: name, Judged: len(group)}
			var rates, p99 []float64
			for _, s := range group {
				rates, p99 = append(rates, s.Rate), append(p99, s.Latency.P99)
				if s.Met {
					row.Met++
				}
			}
			row.Rate, row.P99 = medianOf(rates), medianOf(p99)
			out = append(out, row)
		}
	}
	return out
}

// voteHead heads the table of votes.
var voteHead, voteNumbers = []string{"offered/s", "slices that met the SLO", "p99 ms (median)"}, []bool{true, true, true}

func (r *Report) voteCells() (rows [][]string) {
	for _, v := range r.Votes {
		rows = append(rows, []string{figure(v.Rate), fmt.Sprintf("%d of %d", v.Met, v.Judged), figure(v.P99)})
	}
	return rows
}

// verdictOf states that an interval of ratios is not decided; empty if it is.
func verdictOf(i *Interval) string {
	const equal = 0.02 // largest distance of the interval from 1 for equal sides
	switch {
	case i == nil || i.Lo <= 1 && i.Hi >= 1 && (i.Lo < 1-equal || i.Hi > 1+equal):
		return compare.NotDecided
	case i.Lo <= 1 && i.Hi >= 1:
		return compare.Equal
	}
	return ""
}

// carriedWords format a step's capacity with its interval and its SLO.
func (r *Report) carriedWords(s *Step) string {
	if s.Interval == nil {
		return "about " + rate(s.Capacity) + at(latencyWords(r.SLO)) + " (too few slices judged by the SLO for an interval)"
	}
	return rate(s.Capacity) + space(between(s.Interval)) + at(latencyWords(r.SLO))
}

// bestByTurns is the step with the highest capacity, or with the highest work rate if none has one;
// nil: none.
func (r *Report) bestByTurns() *Step {
	for _, read := range []func(*Step) Value{func(s *Step) Value { return s.Capacity }, func(s *Step) Value { return s.Work }} {
		var best *Step
		for i := range r.Steps {
			if s := &r.Steps[i]; read(s).Known() && (best == nil || read(s) > read(best)) {
				best = s
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// besideWords are the ratios by the metrics that were not requested.
func besideWords(all []compare.Comparison) string {
	var parts []string
	for _, c := range all[min(1, len(all)):] {
		parts = append(parts, ratioWords(c.Metric, measured(c.Ratio), interval(c.Interval), c.Verdict))
	}
	if len(parts) == 0 {
		return ""
	}
	return " Also: " + strings.Join(parts, ", ") + "."
}
