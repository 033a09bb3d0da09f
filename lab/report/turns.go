package report

import (
	"cmp"
	"slices"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// turned sets a variant's results from its slices; work and cpu are its rows.
func (s *VariantResult) turned(e *record.Experiment, c capacity.Result, work, cpu compare.Row, first bool) {
	valid := func(x *record.Slice) bool {
		return x.Variant == s.Name && x.Role == record.RoleMeasure && x.Invalid == ""
	}
	slicesOf := func(kind string) []*record.Slice { return e.SlicesOf(kind, valid) }
	s.Work, s.WorkInterval = format.Measured(c.PeakWorkPerS), format.IntervalOf(c.PeakWorkInterval)
	if !s.Work.Known() {
		var all []float64
		for _, x := range slicesOf(record.SliceWork) {
			if x.Served > 0 {
				all = append(all, x.PerS())
			}
		}
		s.Work = format.Measured(float64(format.MedianOf(all)))
	}
	s.Rate50, s.Rate50Interval, s.Trials = format.Measured(c.Rate50PerS), format.IntervalOf(c.Rate50Interval), c.Trials
	of := slices.Concat(slicesOf(record.SliceWork), slicesOf(record.SliceSLO))
	for i := range Figures {
		if f := &Figures[i]; f.Slice != nil {
			s.Figures[f.Key] = f.overSlices(of).Or(s.Figure(f.Key))
		}
	}
	// a step without a capacity still has a result
	if (s.Work.Known() || s.Figure(FigureP99).Known()) && s.Invalid != "" {
		switch {
		case work.Name == "": // nothing is compared: the answer states why there is no capacity
		case c.AtLeast && s.Work.Known():
			s.NoCapacity, s.AtLeast = s.Invalid, format.Measured(c.CapacityPerS)
		case s.Work.Known() && e.SLO.Bounded():
			s.NoCapacity = s.Invalid
		}
		s.Invalid = ""
	}
	s.Ratio, s.CPURatio = format.Unknown, format.Unknown
	if first {
		s.Verdict = Baseline
		return
	}
	base, before := work.ToBaseline, *work.ToBefore
	s.Ratio, s.RatioInterval, s.StepRatio, s.StepInterval = format.Measured(base.Ratio), format.IntervalOf(base.Interval), format.Measured(before.Ratio), format.IntervalOf(before.Interval)
	s.Verdict, s.BaseVerdict, s.TimeToDecide = before.Verdict, base.Verdict, before.TimeToDecide
	s.CPURatio, s.CPUInterval = format.Measured(cpu.ToBaseline.Ratio), format.IntervalOf(cpu.ToBaseline.Interval)
	s.CPUVerdict = cpu.ToBefore.Verdict
	s.Ablation = work.Ablation
	for _, c := range []*compare.Comparison{&work.ToBaseline, work.ToBefore} {
		s.Warnings = append(s.Warnings, c.Warnings...)
	}
}

// turn sets the result of an experiment by turns, after its steps.
func (r *Report) turn(e *record.Experiment, a Results) {
	r.RatioMetric = compare.MetricWork
	if n := len(a.Rows); n > 0 {
		r.RatioMetric = a.Rows[n-1].ToBaseline.Metric
	}
	r.Turns.Left += a.Left
	if len(a.Rows) == 0 { // a capacity
		r.Trials = view.Trials(e)
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
		s.turned(e, a.Capacities[s.Name], row(a.Rows), row(a.CPU), i == 0)
		if len(a.Rows) == 0 {
			s.Verdict = "" // there is no step to compare with
		}
		if compares(e) {
			s.StepRatio, s.StepInterval = format.Unknown, nil // the previous step is the baseline
		}
	}
	r.NoiseFloor, r.CPUNoiseFloor = nil, nil
	if len(a.Rows) > 0 {
		r.NoiseFloor, r.CPUNoiseFloor = format.IntervalOf(a.Rows[0].ToBaseline.Interval), format.IntervalOf(a.CPU[0].ToBaseline.Interval)
	}
	r.NoiseFloorIncluded = slices.ContainsFunc(a.Rows, func(row compare.Row) bool { return row.ToBaseline.Noise != "" })
	r.Metrics = append(r.Metrics, a.Metrics...)
	all := r.Metrics
	if len(a.Metrics) == 0 {
		for _, rows := range [][]compare.Row{a.Rows, a.CPU} {
			for i, row := range rows[min(1, len(rows)):] {
				all = append(all, row.ToBaseline)
				if i > 0 && row.ToBefore != nil && !several(e) { // that of the first step compares with the baseline
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
	text := best.Name + " does " + format.Rate(best.Work) + " at its peak"
	if best.Capacity.Known() {
		text = best.Name + " carries " + r.carriedText(best)
	}
	if best == &r.Steps[0] {
		if len(r.Steps) > 1 {
			text += "; no later step does better"
		}
		return text + "."
	}
	return text + "; against " + r.Steps[0].Name + ": " + format.Ratio(compare.MetricWork, best.Ratio, best.RatioInterval, format.VerdictOf(best.RatioInterval)) +
		", " + format.Ratio(compare.MetricCPU, best.CPURatio, best.CPUInterval, format.VerdictOf(best.CPUInterval)) + "."
}

// carriedText formats a step's capacity with its interval and its SLO.
func (r *Report) carriedText(s *VariantResult) string {
	if s.Interval == nil {
		return "about " + format.Rate(s.Capacity) + format.At(format.Latency(r.SLO)) + " (too few slices judged by the SLO for an interval)"
	}
	return format.Rate(s.Capacity) + format.Space(format.Between(s.Interval)) + format.At(format.Latency(r.SLO))
}

// bestByTurns is the step with the highest capacity, or with the highest work rate if none has one;
// nil: none.
func (r *Report) bestByTurns() *VariantResult {
	return cmp.Or(r.highest(func(s *VariantResult) format.Value { return s.Capacity }), r.highest(func(s *VariantResult) format.Value { return s.Work }))
}

// ratios collects the pairs of a comparison: blocks of turns, or rounds of whole runs.
func (r *Report) ratios(e *record.Experiment, a Results) (out []view.Ratios) {
	c := r.Comparison
	if c == nil {
		return nil
	}
	if r.Turns == nil {
		over := c.B + " over " + c.A
		one := view.Ratios{Metric: c.Metric, Rows: []view.RatioRow{{Name: over, Ratios: nil, Ratio: format.Measured(c.Ratio), Interval: format.IntervalOf(c.Interval), Verdict: c.Verdict}}}
		floor := view.RatioRow{Name: c.A + " over itself", Ratio: format.Unknown, Interval: format.IntervalOf(c.NoiseFloor)}
		for _, p := range r.Pairs {
			if p.Ratio.Known() {
				one.Rows[0].Ratios = append(one.Rows[0].Ratios, float64(p.Ratio))
			}
			if again, ok := a.Sample(record.RoleControl, c.A, p.Round); ok && p.A > 0 {
				floor.Ratios = append(floor.Ratios, again/float64(p.A))
			}
		}
		if len(floor.Ratios) > 0 || floor.Interval != nil {
			one.Rows = append(one.Rows, floor)
		}
		return []view.Ratios{one}
	}
	return view.BlockRatios(e, r.Metrics)
}
