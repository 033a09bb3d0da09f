package report

import (
	"cmp"
	"maps"
	"slices"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// steps reads the variants with their capacity, the resources used at it, and their ratios.
func (r *Report) steps(e *record.Experiment, a Results) {
	rows := map[string]compare.Row{}
	for _, row := range a.Rows {
		rows[row.Name] = row
	}
	for _, name := range e.VariantNames() {
		v, _ := e.Variant(name)
		s := VariantResult{Name: name, Change: v.Change, Why: v.Why, Capacity: format.Unknown, Ratio: format.Unknown, StepRatio: format.Unknown, Concurrency: format.Unknown, Tail: format.Unknown, Work: format.Unknown, AtLeast: format.Unknown, Rate50: format.Unknown, CPURatio: format.Unknown}
		s.capacity(a.Capacities[name])
		s.measure(e, a.AtCapacity(e, name))
		if r.Scaling != nil {
			s.atConcurrency(r.Scaling, a.Capacities[name].Concurrency)
		}
		if f := FigureOf(MetricFigures[r.Metric]); r.SessionRuns != nil && f != nil { // compared at one number of sessions
			s.Capacity, s.Interval, s.Invalid, s.Warnings = f.over(e.Select(func(run *record.Run) bool {
				return run.Spec.Variant == name && run.Spec.Role == record.RoleMeasure && run.Invalid == ""
			})), nil, "", nil
		}
		if row, ok := rows[name]; ok && r.Turns == nil {
			s.compared(row, len(r.Steps) == 0, r.Metric)
		}
		r.Steps = append(r.Steps, s)
	}
}

// atConcurrency reads a job's figures at the concurrency of its capacity.
func (s *VariantResult) atConcurrency(of *view.Scaling, n int) {
	for _, c := range of.Curves {
		if c.Variant != s.Name || n == 0 {
			continue
		}
		s.Concurrency = format.Value(n)
		for _, p := range c.Points {
			if p.Concurrency == n {
				s.Waits, s.Tail = p.Waits, p.Quantile(of.Tail)
			}
		}
	}
}

func (s *VariantResult) capacity(c capacity.Result) {
	s.Warnings = append(s.Warnings, c.Warnings...)
	if !c.Valid {
		s.Invalid = cmp.Or(c.Reason, "nothing valid was measured")
		return
	}
	s.Capacity, s.Interval, s.Rounds = format.Measured(c.CapacityPerS), format.IntervalOf(c.Interval), len(c.Data)
}

// compared sets the ratios. By another metric than the capacity, the measured value is the row's
// median, and a missing capacity is no fault: the variants ran at one equal rate.
func (s *VariantResult) compared(row compare.Row, first bool, metric string) {
	if metric != compare.MetricCapacity && len(row.Data) > 0 {
		s.Capacity, s.Interval, s.Rounds, s.Invalid = format.Measured(row.Median), nil, len(row.Data), ""
	}
	if first {
		s.Verdict = Baseline
		return
	}
	s.Warnings = append(s.Warnings, row.ToBaseline.Warnings...)
	s.Ratio, s.RatioInterval = format.Measured(row.ToBaseline.Ratio), format.IntervalOf(row.ToBaseline.Interval)
	base := row.ToBaseline
	s.Verdict, s.BaseVerdict, s.TimeToDecide = base.Verdict, base.Verdict, base.TimeToDecide
	if before := row.ToBefore; before != nil && before.Verdict != compare.Invalid {
		s.StepRatio, s.StepInterval, s.Verdict = format.Measured(before.Ratio), format.IntervalOf(before.Interval), before.Verdict
		s.TimeToDecide = before.TimeToDecide
	} else if s.Verdict == compare.Faster || s.Verdict == compare.Slower {
		s.Verdict += " than the baseline" // the previous step has no result
	}
	s.Ablation = row.Ablation
}

// measure sets the figures of the runs at the capacity, and those that only a run under profiles
// has.
func (s *VariantResult) measure(e *record.Experiment, runs []*record.Run) {
	profiled := e.Select(func(r *record.Run) bool {
		return r.Spec.Variant == s.Name && r.Spec.Role == record.RoleProfile && r.Invalid == ""
	})
	s.Figures = map[string]format.Value{}
	for i := range Figures {
		f := &Figures[i]
		v := f.over(runs)
		if f.Profiled {
			v = v.Or(f.over(profiled))
		}
		s.Figures[f.Key] = v
	}
}

// compare fills in a comparison's pairs, and the ratio of its second variant.
func (r *Report) compare(e *record.Experiment, a Results) {
	r.steps(e, a)
	r.several(e, a)
	if several(e) {
		return
	}
	if a.Comparison == nil {
		r.Warnings = append(r.Warnings, "a comparison needs two variants; these runs have fewer")
		return
	}
	c := a.Comparison
	r.Comparison = c
	for i := range r.Steps {
		switch s := &r.Steps[i]; s.Name {
		case c.B:
			if r.Turns != nil {
				continue // its ratios are those of work and CPU, which are set
			}
			s.Ratio, s.RatioInterval, s.Verdict = format.Measured(c.Ratio), format.IntervalOf(c.Interval), c.Verdict
		case c.A:
			s.Verdict = Baseline
		}
	}
	rounds := map[int]bool{}
	for _, run := range e.Runs {
		if run.Spec.Role == record.RoleMeasure {
			rounds[run.Spec.Round] = true
		}
	}
	for _, round := range slices.Sorted(maps.Keys(rounds)) {
		of := func(variant string) format.Value {
			if v, ok := a.Sample(record.RoleMeasure, variant, round); ok {
				return format.Value(v)
			}
			return format.Unknown
		}
		p := Pair{Round: round, A: of(c.A), B: of(c.B), Ratio: format.Unknown}
		if p.A > 0 && p.B > 0 {
			p.Ratio = p.B / p.A
		}
		r.Pairs = append(r.Pairs, p)
	}
}

// capacity keeps the result of a single variant's search.
func (r *Report) capacity(e *record.Experiment, a Results) {
	r.steps(e, a)
	if names := e.VariantNames(); len(names) > 0 {
		c := a.Capacities[names[0]]
		r.Capacity = &c
	}
}

// curves sets the load curves with the capacities of the steps.
func (r *Report) curves(e *record.Experiment) {
	r.Curves = view.Curves(e)
	for i := range r.Curves {
		c := &r.Curves[i]
		for _, s := range r.Steps {
			if s.Name == c.Variant {
				c.Capacity, c.Interval = s.Capacity, s.Interval
			}
		}
	}
}
