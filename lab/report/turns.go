package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report/figure"
	"dyno/lab/report/words"
)

// This file reads an experiment by turns: slices of variants that stay warm side by side.

// Turns summarises the slices of an experiment by turns.
type Turns struct {
	Blocks      int `json:"blocks"`
	Generations int `json:"generations"`
	Slices      int `json:"slices"`
	Left        int `json:"slices_left_out"` // invalid slices
	// shares of the machine taken by the hypervisor and by other processes: medians over the slices
	Steal    figure.Value   `json:"steal"`
	Others   figure.Value   `json:"others"`
	Took     figure.Seconds `json:"took_s"`
	Budget   figure.Seconds `json:"budget_s"`    // 0: the plan's full length
	Compared int            `json:"comparisons"` // with the baseline
	Decided  int            `json:"decided"`
}

// busy is the share of the machine, taken by other processes, above which intervals are noticeably
// wider.
const busy = 0.05

// MachineWords state how much the machine was disturbed.
func (t *Turns) MachineWords() string {
	if !t.Steal.Known() {
		return ""
	}
	said := fmt.Sprintf("steal %s of the machine (median), others %s", figure.Percent(figure.Value(figure.Significant(float64(t.Steal), 2))), figure.Percent(figure.Value(figure.Significant(float64(t.Others), 2))))
	if t.Steal+t.Others >= busy {
		said += ": intervals are wider, and a capacity may be higher than it shows, since a slice can miss the SLO because of them"
	}
	return said
}

// Words state how much was measured.
func (t *Turns) Words() string {
	said := fmt.Sprintf("%s in %s of %s", figure.Plural(t.Slices, "slice"), figure.Plural(t.Blocks, "block"), figure.Plural(t.Generations, "generation"))
	if t.Left > 0 {
		said += fmt.Sprintf(", %s left out", figure.Count(int64(t.Left)))
	}
	if t.Budget.Duration > 0 {
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
	return fmt.Sprintf("%d of %s decided", t.Decided, figure.Plural(t.Compared, "comparison"))
}

// turnsOf summarises the slices.
func turnsOf(e *record.Experiment) *Turns {
	t := &Turns{Slices: len(e.Slices), Budget: figure.Seconds{Duration: e.Budget}}
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
	t.Blocks, t.Took = len(blocks), figure.Seconds{Duration: time.Duration(last - first)}
	t.Steal, t.Others = figure.MedianOf(steal), figure.MedianOf(others)
	return t
}

// leftOf counts the SLO slices left out because of other processes or the hypervisor.
func leftOf(e *record.Experiment) (n int) {
	for _, name := range words.Variants(e) {
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
	if words.Bounded(e.SLO) && peak(a) > 0 && peak(b) > 0 { // at one equal rate there is no capacity
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
	slicesOf := func(kind string) []*record.Slice { return e.SlicesOf(kind, valid) }
	s.Work, s.WorkInterval = figure.Measured(c.PeakWorkPerS), figure.IntervalOf(c.PeakWorkInterval)
	if !s.Work.Known() {
		var all []float64
		for _, x := range slicesOf(record.SliceWork) {
			if x.Served > 0 {
				all = append(all, x.PerS())
			}
		}
		s.Work = figure.Measured(float64(figure.MedianOf(all)))
	}
	s.Knee, s.KneeInterval, s.Votes = figure.Measured(c.KneePerS), figure.IntervalOf(c.KneeInterval), c.Votes
	of := slices.Concat(slicesOf(record.SliceWork), slicesOf(record.SliceSLO))
	for i := range Figures {
		if f := &Figures[i]; f.Slice != nil {
			s.Figures[f.Key] = f.overSlices(of).Or(s.Figure(f.Key))
		}
	}
	// a step without a capacity still has a result
	if (s.Work.Known() || s.Figure(FigureP99).Known()) && s.Invalid != "" {
		switch {
		case e.Kind == record.KindCapacity: // printed in the answer
		case c.AtLeast && s.Work.Known():
			s.Warnings = append(s.Warnings, "the capacity is at least "+figure.Rate(figure.Value(c.CapacityPerS))+": "+s.Invalid)
		case s.Work.Known() && words.Bounded(e.SLO):
			s.Warnings = append(s.Warnings, "no capacity: "+s.Invalid)
		}
		s.Invalid = ""
	}
	s.Ratio, s.CPURatio = figure.Unknown, figure.Unknown
	if first {
		s.Verdict = "baseline"
		return
	}
	base, before := work.ToBaseline, *work.ToBefore
	s.Ratio, s.RatioInterval, s.StepRatio, s.StepInterval = figure.Measured(base.Ratio), figure.IntervalOf(base.Interval), figure.Measured(before.Ratio), figure.IntervalOf(before.Interval)
	s.Verdict, s.WouldDecide = before.Verdict, before.WouldDecide
	s.CPURatio, s.CPUInterval = figure.Measured(cpu.ToBaseline.Ratio), figure.IntervalOf(cpu.ToBaseline.Interval)
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
			s.StepRatio, s.StepInterval = figure.Unknown, nil // the previous step is the baseline
		}
	}
	r.Floor, r.CPUFloor = nil, nil
	if len(a.rows) > 0 {
		r.Floor, r.CPUFloor = figure.IntervalOf(a.rows[0].ToBaseline.Interval), figure.IntervalOf(a.cpu[0].ToBaseline.Interval)
	}
	r.Metrics = append(r.Metrics, a.metrics...)
	all := r.Metrics
	if e.Kind == record.KindLadder {
		for _, rows := range [][]compare.Row{a.rows, a.cpu} {
			for i, row := range rows[min(1, len(rows)):] {
				all = append(all, row.ToBaseline)
				if i > 0 && row.ToBefore != nil { // the first step's is the baseline
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

// turnAnswer is the result of a ladder by turns in one sentence.
func (r *Report) turnAnswer() string {
	best := r.bestByTurns()
	if best == nil {
		return "No step has a result."
	}
	said := best.Name + " does " + figure.Rate(best.Work) + " at its peak"
	if best.Capacity.Known() {
		said = best.Name + " carries " + r.carriedWords(best)
	}
	if best == &r.Steps[0] {
		if len(r.Steps) > 1 {
			said += "; no later step does better"
		}
		return said + "."
	}
	return said + "; against " + r.Steps[0].Name + ": " + words.Ratio(compare.MetricWork, best.Ratio, best.RatioInterval, words.VerdictOf(best.RatioInterval)) +
		", " + words.Ratio(compare.MetricCPU, best.CPURatio, best.CPUInterval, words.VerdictOf(best.CPUInterval)) + "."
}

// VoteRow is the SLO slices of one variant at about one rate.
type VoteRow struct {
	Variant     string
	Rate, P99   figure.Value // medians: offered per second, ms
	Met, Judged int
}

// perVoteRow is the smallest number of slices in a row.
const perVoteRow = 5

// votes summarises the SLO slices of the variants by rate.
func votes(e *record.Experiment) (out []VoteRow) {
	for _, name := range words.Variants(e) {
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
			row.Rate, row.P99 = figure.MedianOf(rates), figure.MedianOf(p99)
			out = append(out, row)
		}
	}
	return out
}

// carriedWords format a step's capacity with its interval and its SLO.
func (r *Report) carriedWords(s *Step) string {
	if s.Interval == nil {
		return "about " + figure.Rate(s.Capacity) + figure.At(words.Latency(r.SLO)) + " (too few slices judged by the SLO for an interval)"
	}
	return figure.Rate(s.Capacity) + figure.Space(figure.Between(s.Interval)) + figure.At(words.Latency(r.SLO))
}

// bestByTurns is the step with the highest capacity, or with the highest work rate if none has one;
// nil: none.
func (r *Report) bestByTurns() *Step {
	for _, read := range []func(*Step) figure.Value{func(s *Step) figure.Value { return s.Capacity }, func(s *Step) figure.Value { return s.Work }} {
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
