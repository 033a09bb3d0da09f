package report

import (
	"cmp"
	"fmt"
	"slices"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/record"
	"dyno/lab/report/curve"
	"dyno/lab/report/figure"
	"dyno/lab/report/flame"
	"dyno/lab/report/inside"
	"dyno/lab/report/series"
	"dyno/lab/report/turns"
	"dyno/lab/report/words"
)

// Build reads the results of an experiment. An unreadable part becomes a warning: a report of half
// an experiment is better than none.
func Build(e *record.Experiment) *Report { return Assemble(e, Analyse(e)) }

// Analysis is the output of the analysis packages for an experiment.
type Analysis struct {
	Verdicts   map[string]capacity.Verdict // by run
	Errors     map[string]float64          // by run: the share of offers that the SLO counts as failed
	Capacities map[string]capacity.Result  // by variant
	Rows       []compare.Row               // by turns: of the work rate
	CPU        []compare.Row               // by turns, and of jobs that are compared
	Metrics    []compare.Comparison        // kind compare by turns: the requested metric first
	Inflected  []curve.Inflection
	Unlisted   int // inflections not listed
	Floor      *[2]float64
	Comparison *compare.Comparison
	Left       int // SLO slices that do not count
	Sample     compare.Sample
	Diagnoses  []diagnose.Diagnosis
}

func metricOf(e *record.Experiment) string { return cmp.Or(e.Metric, compare.MetricCapacity) }

// Analyse analyses an experiment.
func Analyse(e *record.Experiment) Analysis {
	a := Analysis{Verdicts: map[string]capacity.Verdict{}, Errors: map[string]float64{}, Capacities: map[string]capacity.Result{}, Sample: sample(e)}
	for _, r := range e.Runs {
		if words.Bounded(r.SLO) && !r.Step.Diagnostic() {
			a.Verdicts[r.ID] = capacity.Judge(r)
		}
	}
	names := words.Variants(e)
	for _, name := range names {
		c := capacity.Summarise(curve.Steady(e), name)
		for _, s := range c.Steps {
			a.Errors[s.Run] = s.Errors
		}
		if e.Kind != record.KindLoad {
			a.Capacities[name] = c
		}
	}
	switch {
	case e.Kind == record.KindSweep || e.Kind == record.KindLoad:
		a.Inflected, a.Unlisted = curve.Inflections(e)
	case len(e.Slices) > 0:
		a.Left = turns.Left(e)
		peak := func(variant string) float64 { return a.Capacities[variant].PeakWorkPerS }
		if e.Kind == record.KindLadder || e.Kind == record.KindCompare {
			a.Rows, a.CPU = compare.Ladder(e, compare.MetricWork, nil), compare.Ladder(e, compare.MetricCPU, nil)
			if n := len(a.Rows); e.Kind == record.KindCompare && n > 0 && a.Rows[n-1].ToBaseline.Verdict == compare.Invalid { // at one equal rate
				if p99 := compare.Ladder(e, compare.MetricP99, nil); p99[n-1].ToBaseline.Verdict != compare.Invalid {
					a.Rows = p99
				}
			}
		}
		if e.Kind == record.KindCompare && len(names) >= 2 && !several(e) {
			a.Metrics = turns.Metrics(e, names[0], names[1], peak)
			a.Comparison = &a.Metrics[0]
		}
	case e.Kind == record.KindLadder, several(e):
		a.Rows = compare.Ladder(e, metricOf(e), a.Sample)
		for _, row := range a.Rows {
			if row.ToBaseline.Floor != nil {
				a.Floor = row.ToBaseline.Floor
			}
		}
	case e.Kind == record.KindCompare && len(names) >= 2:
		c := compare.Between(e, metricOf(e), names[0], names[1], a.Sample)
		a.Comparison, a.Floor = &c, c.Floor
	}
	if e.Kind == record.KindCompare && curve.ByConcurrency(e) && metricOf(e) != compare.MetricCPU {
		a.CPU = compare.Ladder(e, compare.MetricCPU, compare.AtEqualRate(e, compare.MetricCPU))
	}
	a.Diagnoses = diagnose.Diagnose(e)
	for i := range a.Diagnoses {
		if !words.Bounded(e.SLO) {
			continue // without an SLO there is no capacity
		}
		if c := a.Capacities[a.Diagnoses[i].Variant]; c.Valid {
			a.Diagnoses[i].CapacityPerS = c.CapacityPerS
		}
	}
	return a
}

// sample returns the measurements of a variant in a round.
func sample(e *record.Experiment) compare.Sample {
	if metric := metricOf(e); metric != compare.MetricCapacity {
		return compare.AtEqualRate(e, metric)
	}
	return func(role, variant string, round int) (float64, bool) {
		runs := e.Select(func(r *record.Run) bool {
			return r.Step.Role == role && r.Step.Variant == variant && r.Step.Round == round
		})
		if len(runs) == 0 {
			return 0, false
		}
		v, ok, _ := capacity.Sample(runs, e.SLO)
		return v, ok
	}
}

// withoutPeaks removes the searches' warnings from a sweep, which does not end at a peak.
func (r *Report) withoutPeaks() {
	for i := range r.Steps {
		r.Steps[i].Warnings = nil
	}
}

// Assemble assembles the view model.
func Assemble(e *record.Experiment, a Analysis) *Report {
	r := &Report{
		Kind: e.Kind, Name: e.Name, Title: words.Title(e), Subject: words.Subject(e), Service: e.Service, Metric: metricOf(e), RatioMetric: metricOf(e), SLO: e.SLO, Started: e.Started,
		Out: e.Dir, Command: e.Command, Scenario: e.Scenario, Machine: e.Machine,
		Warnings: append([]string(nil), e.Warnings...), Floor: figure.IntervalOf(a.Floor), Inflections: a.Inflected, InflectionsLeft: a.Unlisted,
	}
	for _, run := range e.Runs {
		line := series.NewRun(run, nil)
		if v, judged := a.Verdicts[run.ID]; judged {
			line = series.NewRun(run, &v)
		}
		if share, ok := a.Errors[run.ID]; ok {
			line.Errors = figure.Value(share)
		}
		r.Runs = append(r.Runs, line)
	}
	r.Assemblies = inside.Assemblies(e)
	if curve.ByConcurrency(e) {
		r.Scaling = curve.NewScaling(e, a.Verdicts)
	}
	if len(e.Slices) > 0 {
		r.Turns = turns.Summarise(e)
	}
	switch e.Kind {
	case record.KindLoad:
		r.load(e, a)
	case record.KindSweep:
		r.steps(curve.Steady(e), a)
		if r.Scaling == nil {
			crowded := false
			if r.Sweep, r.Charts, crowded = curve.NewSweep(e); crowded {
				r.withoutPeaks() // a crowded sweep does not show capacities
			}
		} else {
			r.withoutPeaks()
		}
	case record.KindCompare:
		r.steps(e, a)
		r.compare(e, a)
	case record.KindCapacity:
		r.steps(e, a)
		r.capacity(e, a)
	case record.KindDiagnose:
		if len(curve.Steady(e).Runs) > 0 { // its capacity was measured: all other runs are for the diagnosis
			r.steps(e, a)
			r.capacity(e, a)
		}
	default:
		r.steps(e, a)
	}
	if r.Turns != nil {
		r.turn(e, a)
	}
	if e.Kind != record.KindLoad {
		if r.Scaling == nil {
			r.curves(e, a)
		}
		r.Ratios = r.ratios(e, a)
		r.Charts = slices.DeleteFunc(r.Charts, func(c curve.Chart) bool { return len(c.X) == 0 })
	}
	r.Traces, r.TracesLeft = series.Traces(e)
	r.Diagnoses, r.Flames = inside.Complete(a.Diagnoses), flame.Read(e)
	r.explain()
	used := func(variant string) []*record.Run { return atCapacity(e, a, variant) }
	r.Pauses, r.Stages, r.Databases = inside.PausesOf(e, used), inside.StagesOf(e), inside.DatabasesOf(e, used)
	r.Outcome = r.outcome(e)
	if r.Outcome.Status == record.OutcomeInvalid {
		r.Invalid = r.Outcome.Reason
	}
	r.Answer = r.answer()
	return r
}

// load reads a single load: its first run in detail.
func (r *Report) load(e *record.Experiment, a Analysis) {
	if len(e.Runs) == 0 {
		return
	}
	run := e.Runs[0]
	r.Load = &series.Load{Run: run}
	if r.SLO.Latency == nil && r.SLO.Gauges == nil {
		r.SLO = run.SLO
	}
	if v, judged := a.Verdicts[run.ID]; judged {
		r.Load.Verdict = &v
		r.Warnings = append(r.Warnings, v.Warnings...)
	}
	r.Warnings = append(r.Warnings, run.Warnings...)
	if err := r.Load.ReadTails(); err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the percentile curve is missing: %v", err))
	}
}

// Between compares any two variants of an experiment that measured them in turns, by each metric
// that it has, and states the result in a sentence or two.
func Between(e *record.Experiment, a, b string) ([]compare.Comparison, string) {
	if len(e.Slices) == 0 {
		c := compare.Between(e, metricOf(e), a, b, sample(e))
		return []compare.Comparison{c}, words.Comparison(c, false)
	}
	all := turns.Metrics(e, a, b, func(variant string) float64 { return capacity.Summarise(e, variant).PeakWorkPerS })
	return all, words.Comparison(all[0], true) + words.Beside(all)
}
