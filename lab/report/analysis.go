package report

import (
	"cmp"
	"maps"
	"slices"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/diagnose/changes"
	"dyno/lab/record"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// Results are what the analysis packages found in an experiment.
type Results struct {
	Verdicts   map[string]capacity.Verdict // by run
	Errors     map[string]float64          // by run: the share of requests that the SLO counts as failed
	Capacities map[string]capacity.Result  // by variant
	Rows       []compare.Row               // by the work rate or, at one equal rate, p99; by whole runs: by the metric
	CPU        []compare.Row               // by CPU per request: by turns, and of compared jobs
	Metrics    []compare.Comparison        // kind compare by turns: the requested metric first
	Inflected  []view.Inflection
	Unlisted   int         // inflections not listed
	NoiseFloor *[2]float64 // by whole runs; nil: not measured often enough
	Comparison *compare.Comparison
	Left       int // SLO slices that do not count
	Sample     compare.Sample
	Diagnoses  []diagnose.Diagnosis
	Changes    *changes.Changes // kind compare, of two variants; nil: no profiles
}

// metricOf is the metric of an experiment's ratios.
func metricOf(e *record.Experiment) string { return cmp.Or(e.Metric, compare.MetricCapacity) }

// Analyse runs the analyses (capacity, compare, diagnose) over an experiment.
func Analyse(e *record.Experiment) Results {
	a := Results{Verdicts: map[string]capacity.Verdict{}, Errors: map[string]float64{}, Capacities: map[string]capacity.Result{}, Sample: sample(e)}
	for _, r := range e.Runs {
		if r.SLO.Bounded() && !r.Spec.Diagnostic() {
			a.Verdicts[r.ID] = capacity.CheckSLO(r)
		}
	}
	names := e.VariantNames()
	for _, name := range names {
		c := capacity.Summarise(view.ConstantRates(e), name)
		for _, s := range c.Steps {
			a.Errors[s.Run] = s.Errors
		}
		if !single(e) {
			a.Capacities[name] = c
		}
	}
	switch {
	case declared(e):
		a.Inflected, a.Unlisted = view.Inflections(e)
	case len(e.Slices) > 0:
		a.byTurns(e, names)
	default:
		a.byRuns(e, names)
	}
	if compares(e) && view.ByConcurrency(e) && metricOf(e) != compare.MetricCPU {
		a.CPU = compare.Ladder(e, compare.MetricCPU, compare.AtEqualRate(e, compare.MetricCPU))
	}
	if compares(e) && len(names) == 2 {
		a.Changes = changes.Of(e, names[0], names[1])
	}
	a.Diagnoses = diagnose.Diagnose(e)
	for i := range a.Diagnoses {
		if c := a.Capacities[a.Diagnoses[i].Variant]; e.SLO.Bounded() && c.Valid { // without an SLO there is no capacity
			a.Diagnoses[i].CapacityPerS = c.CapacityPerS
			a.Diagnoses[i].PeakPerS = max(a.Diagnoses[i].PeakPerS, c.CapacityPerS)
		}
	}
	return a
}

// byTurns compares variants that took turns by slices.
func (a *Results) byTurns(e *record.Experiment, names []string) {
	a.Left = view.LeftOut(e)
	if climbs(e) || compares(e) {
		a.Rows, a.CPU = compare.Ladder(e, compare.MetricWork, nil), compare.Ladder(e, compare.MetricCPU, nil)
		if n := len(a.Rows); compares(e) && n > 0 && a.Rows[n-1].ToBaseline.Verdict == compare.Invalid { // at one equal rate
			if p99 := compare.Ladder(e, compare.MetricP99, nil); p99[n-1].ToBaseline.Verdict != compare.Invalid {
				a.Rows = p99
			}
		}
	}
	if compares(e) && len(names) >= 2 && !several(e) {
		a.Metrics = view.TurnMetrics(e, names[0], names[1], func(variant string) float64 { return a.Capacities[variant].PeakWorkPerS })
		a.Comparison = &a.Metrics[0]
	}
}

// byRuns compares variants that took turns by whole runs.
func (a *Results) byRuns(e *record.Experiment, names []string) {
	switch {
	case climbs(e), several(e):
		a.Rows = compare.Ladder(e, metricOf(e), a.Sample)
		for _, row := range a.Rows {
			if row.ToBaseline.NoiseFloor != nil {
				a.NoiseFloor = row.ToBaseline.NoiseFloor
			}
		}
	case compares(e) && len(names) >= 2:
		c := compare.Between(e, metricOf(e), names[0], names[1], a.Sample)
		a.Comparison, a.NoiseFloor = &c, c.NoiseFloor
	}
}

// sample returns the measurements of a variant in a round.
func sample(e *record.Experiment) compare.Sample {
	if metric := metricOf(e); metric != compare.MetricCapacity {
		return compare.AtEqualRate(e, metric)
	}
	return func(role, variant string, round int) (float64, bool) {
		runs := e.Select(func(r *record.Run) bool {
			return r.Spec.Role == role && r.Spec.Variant == variant && r.Spec.Round == round
		})
		if len(runs) == 0 {
			return 0, false
		}
		peak, ok, _ := capacity.PeakOf(runs, e.SLO)
		return peak.PerS, ok
	}
}

// AtCapacity returns the runs of a variant at its capacity: of each round, the highest rate that
// met the SLO. Without measured runs it uses those of the search.
func (a *Results) AtCapacity(e *record.Experiment, variant string) []*record.Run {
	found := a.Capacities[variant]
	for _, role := range []string{record.RoleMeasure, record.RoleSweep, record.RoleSearch, record.RoleSingle} {
		best := map[int]*record.Run{}
		for _, r := range e.Runs {
			if r.Spec.Variant != variant || r.Spec.Role != role || r.Invalid != "" {
				continue
			}
			if v, judged := a.Verdicts[r.ID]; judged && !v.Met && !(v.TooShort && (r.Axis() == record.AxisConcurrency || r.Axis() == record.AxisSessions && found.MetIn(r.ID))) {
				continue
			}
			if n := found.Concurrency; n > 0 && r.Spec.Connections > n {
				continue // a higher concurrency than necessary
			}
			if have := best[r.Spec.Round]; have == nil || r.Totals.OfferedPerS >= have.Totals.OfferedPerS {
				best[r.Spec.Round] = r
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

// Between compares two variants of an experiment by each metric that it has, and states the result
// in a sentence or two.
func Between(e *record.Experiment, a, b string) ([]compare.Comparison, string) {
	if len(e.Slices) == 0 {
		c := compare.Between(e, metricOf(e), a, b, sample(e))
		return []compare.Comparison{c}, format.Comparison(c, false)
	}
	all := view.TurnMetrics(e, a, b, func(variant string) float64 { return capacity.Summarise(e, variant).PeakWorkPerS })
	return all, format.Comparison(all[0], true) + format.Others(all)
}
