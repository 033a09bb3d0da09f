package report

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
)

// steps reads the variants with their capacity, the resources used at it, and their ratios.
func (r *Report) steps(e *record.Experiment, a analysis) {
	rows := map[string]compare.Row{}
	for _, row := range a.rows {
		rows[row.Name] = row
	}
	for _, name := range variantNames(e) {
		v, _ := e.Variant(name)
		s := Step{Name: name, Change: v.Change, Why: v.Why, Capacity: Unknown, Ratio: Unknown, StepRatio: Unknown, AtOnce: Unknown, Tail: Unknown, Work: Unknown, Knee: Unknown, CPURatio: Unknown}
		s.capacity(a.capacities[name])
		s.resources(atCapacity(e, a, name))
		s.peaksUnderProfiles(e)
		if r.Scaling != nil {
			s.atOnce(r.Scaling, a.capacities[name].Concurrency)
		}
		if row, ok := rows[name]; ok && r.Turns == nil {
			s.compared(row, len(r.Steps) == 0, r.Metric)
		}
		r.Steps = append(r.Steps, s)
	}
}

// atOnce reads a job's figures at the concurrency of its capacity.
func (s *Step) atOnce(of *Scaling, n int) {
	for _, c := range of.Curves {
		if c.Variant != s.Name || n == 0 {
			continue
		}
		s.AtOnce = Value(n)
		for _, p := range c.Points {
			if p.Concurrency == n {
				s.Waits, s.Tail = p.Waits, p.tail(of.tail)
			}
		}
	}
}

func (s *Step) capacity(c capacity.Result) {
	s.Warnings = append(s.Warnings, c.Warnings...)
	if !c.Valid {
		s.Invalid = cmp.Or(c.Reason, "nothing valid was measured")
		return
	}
	s.Capacity, s.Interval, s.Rounds = measured(c.CapacityPerS), interval(c.Interval), len(c.Data)
}

// compared sets the ratios. With another metric than capacity the row's median is the measured
// value, and a missing capacity at one equal rate is not an error.
func (s *Step) compared(row compare.Row, first bool, metric string) {
	if metric != compare.MetricCapacity && len(row.Data) > 0 {
		s.Capacity, s.Interval, s.Rounds, s.Invalid = measured(row.Median), nil, len(row.Data), ""
	}
	if first {
		s.Verdict = "baseline"
		return
	}
	s.Warnings = append(s.Warnings, row.ToBaseline.Warnings...)
	s.Ratio, s.RatioInterval = measured(row.ToBaseline.Ratio), interval(row.ToBaseline.Interval)
	base := row.ToBaseline
	s.Verdict, s.WouldDecide = base.Verdict, base.WouldDecide
	if before := row.ToBefore; before != nil && before.Verdict != compare.Invalid {
		s.StepRatio, s.StepInterval, s.Verdict = measured(before.Ratio), interval(before.Interval), before.Verdict
		s.WouldDecide = before.WouldDecide
	} else if s.Verdict == compare.Faster || s.Verdict == compare.Slower {
		s.Verdict += " than the baseline" // the previous step has no result
	}
	s.LeaveOut = row.LeaveOut
}

// atCapacity returns the runs of a variant at its capacity: of each round, the highest rate that
// met the SLO. Without measured runs it uses those of the search.
func atCapacity(e *record.Experiment, a analysis, variant string) []*record.Run {
	for _, role := range []string{record.RoleMeasure, record.RoleSweep, record.RoleSearch, record.RoleSingle} {
		best := map[int]*record.Run{}
		for _, r := range e.Runs {
			if r.Step.Variant != variant || r.Step.Role != role || r.Invalid != "" {
				continue
			}
			if v, judged := a.verdicts[r.ID]; judged && !v.Met && !(v.TooShort && r.ByConcurrency()) {
				continue
			}
			if n := a.capacities[variant].Concurrency; n > 0 && r.Step.Connections > n {
				continue // a higher concurrency than necessary
			}
			if have := best[r.Step.Round]; have == nil || r.Totals.OfferedPerS >= have.Totals.OfferedPerS {
				best[r.Step.Round] = r
			}
		}
		if len(best) > 0 {
			var out []*record.Run
			for _, round := range slices.Sorted(maps.Keys(best)) {
				out = append(out, best[round])
			}
			return out
		}
	}
	return nil
}

// resources sets medians over the runs, and the highest of the peaks.
func (s *Step) resources(runs []*record.Run) {
	of := func(read func(*record.ServerTotals) Value) (all []float64) {
		for _, r := range runs {
			if r.Totals.Server == nil {
				continue
			}
			if v := read(r.Totals.Server); v.Known() {
				all = append(all, float64(v))
			}
		}
		sort.Float64s(all)
		return all
	}
	var p99 []float64
	for _, r := range runs {
		if v := r.SLO.Observed(r.Totals).P99; v > 0 {
			p99 = append(p99, v)
		}
	}
	sort.Float64s(p99)
	s.P99 = Value(median(p99))
	s.CPU = Value(median(of(func(t *record.ServerTotals) Value { return measured(t.CPUMicrosPerRequest) })))
	s.Allocs = Value(median(of(func(t *record.ServerTotals) Value { return perRequest(t.AllocsPerRequest) })))
	s.AllocBytes = Value(median(of(func(t *record.ServerTotals) Value { return perRequest(t.BytesPerRequest) })))
	s.GCPauseP99 = Value(median(of(func(t *record.ServerTotals) Value {
		if t.AllocsPerRequest < 0 { // no agent: a pause of 0 was not measured
			return Unknown
		}
		return Value(t.GCPauseP99Ms)
	})))
	s.PeakRSS = last(of(func(t *record.ServerTotals) Value { return measured(float64(t.PeakRSS)) }))
	s.Goroutines = last(of(func(t *record.ServerTotals) Value { return measured(float64(t.PeakGoroutines)) }))
}

// peaksUnderProfiles sets the peaks that no other run has. Profiles add to latency and CPU, but
// hardly to these.
func (s *Step) peaksUnderProfiles(e *record.Experiment) {
	var under Step
	under.resources(e.Select(func(r *record.Run) bool {
		return r.Step.Variant == s.Name && r.Step.Role == record.RoleProfile && r.Invalid == ""
	}))
	s.PeakRSS, s.Goroutines, s.GCPauseP99 = s.PeakRSS.or(under.PeakRSS), s.Goroutines.or(under.Goroutines), s.GCPauseP99.or(under.GCPauseP99)
}

func last(sorted []float64) Value {
	if len(sorted) == 0 {
		return Unknown
	}
	return Value(sorted[len(sorted)-1])
}

// compare fills in a comparison's pairs, and the ratio of its second variant.
func (r *Report) compare(e *record.Experiment, a analysis) {
	r.beside(e, a)
	if several(e) {
		return
	}
	if a.comparison == nil {
		r.Warnings = append(r.Warnings, "a comparison needs two variants; these runs have fewer")
		return
	}
	c := a.comparison
	r.Comparison = c
	for i := range r.Steps {
		switch s := &r.Steps[i]; s.Name {
		case c.B:
			if r.Turns != nil {
				continue // its ratios are those of work and CPU, which are set
			}
			s.Ratio, s.RatioInterval, s.Verdict = measured(c.Ratio), interval(c.Interval), c.Verdict
		case c.A:
			s.Verdict = "baseline"
		}
	}
	rounds := map[int]bool{}
	for _, run := range e.Runs {
		if run.Step.Role == record.RoleMeasure {
			rounds[run.Step.Round] = true
		}
	}
	for _, round := range slices.Sorted(maps.Keys(rounds)) {
		p := Pair{Round: round, A: Unknown, B: Unknown, Ratio: Unknown}
		if v, ok := a.sample(record.RoleMeasure, c.A, round); ok {
			p.A = Value(v)
		}
		if v, ok := a.sample(record.RoleMeasure, c.B, round); ok {
			p.B = Value(v)
		}
		if p.A > 0 && p.B > 0 {
			p.Ratio = p.B / p.A
		}
		r.Pairs = append(r.Pairs, p)
	}
}

// capacity keeps the result of a single variant's search.
func (r *Report) capacity(e *record.Experiment, a analysis) {
	if names := variantNames(e); len(names) > 0 {
		c := a.capacities[names[0]]
		r.Capacity = &c
	}
}
