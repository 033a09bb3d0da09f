package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/record"
	"dyno/lab/report/figure"
	"dyno/lab/report/words"
)

// Build reads the results of an experiment. An unreadable part becomes a warning: a report of half
// an experiment is better than none.
func Build(e *record.Experiment) *Report { return build(e, analyse(e)) }

// analysis is the output of the analysis packages for an experiment.
type analysis struct {
	verdicts   map[string]capacity.Verdict // by run
	errors     map[string]float64          // by run: the share of offers that the SLO counts as failed
	capacities map[string]capacity.Result  // by variant
	rows       []compare.Row               // by turns: of the work rate
	cpu        []compare.Row               // by turns only
	metrics    []compare.Comparison        // kind compare by turns: the requested metric first
	inflected  []Inflection
	unlisted   int // inflections not listed
	floor      *[2]float64
	comparison *compare.Comparison
	left       int // SLO slices that do not count
	sample     compare.Sample
	diagnoses  []diagnose.Diagnosis
}

func metricOf(e *record.Experiment) string { return cmp.Or(e.Metric, compare.MetricCapacity) }

func analyse(e *record.Experiment) analysis {
	a := analysis{verdicts: map[string]capacity.Verdict{}, errors: map[string]float64{}, capacities: map[string]capacity.Result{}, sample: sample(e)}
	for _, r := range e.Runs {
		if words.Bounded(r.SLO) && !r.Step.Diagnostic() {
			a.verdicts[r.ID] = capacity.Judge(r)
		}
	}
	names := words.Variants(e)
	for _, name := range names {
		c := capacity.Summarise(steady(e), name)
		for _, s := range c.Steps {
			a.errors[s.Run] = s.Errors
		}
		if e.Kind != record.KindLoad {
			a.capacities[name] = c
		}
	}
	switch {
	case e.Kind == record.KindSweep || e.Kind == record.KindLoad:
		a.inflected, a.unlisted = inflections(e)
	case len(e.Slices) > 0:
		a.left = leftOf(e)
		peak := func(variant string) float64 { return a.capacities[variant].PeakWorkPerS }
		if e.Kind == record.KindLadder || e.Kind == record.KindCompare {
			a.rows, a.cpu = compare.Ladder(e, compare.MetricWork, nil), compare.Ladder(e, compare.MetricCPU, nil)
			if n := len(a.rows); e.Kind == record.KindCompare && n > 0 && a.rows[n-1].ToBaseline.Verdict == compare.Invalid { // at one equal rate
				if p99 := compare.Ladder(e, compare.MetricP99, nil); p99[n-1].ToBaseline.Verdict != compare.Invalid {
					a.rows = p99
				}
			}
		}
		if e.Kind == record.KindCompare && len(names) >= 2 {
			a.metrics = metricsOf(e, names[0], names[1], peak)
			a.comparison = &a.metrics[0]
		}
	case e.Kind == record.KindLadder:
		a.rows = compare.Ladder(e, metricOf(e), a.sample)
		for _, row := range a.rows {
			if row.ToBaseline.Floor != nil {
				a.floor = row.ToBaseline.Floor
			}
		}
	case e.Kind == record.KindCompare && len(names) >= 2:
		c := compare.Between(e, metricOf(e), names[0], names[1], a.sample)
		a.comparison, a.floor = &c, c.Floor
	}
	a.diagnoses = diagnose.Diagnose(e)
	for i := range a.diagnoses {
		if !words.Bounded(e.SLO) {
			continue // without an SLO there is no capacity
		}
		if c := a.capacities[a.diagnoses[i].Variant]; c.Valid {
			a.diagnoses[i].CapacityPerS = c.CapacityPerS
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

// build assembles the view model.
func build(e *record.Experiment, a analysis) *Report {
	r := &Report{
		Kind: e.Kind, Name: e.Name, Title: words.Title(e), Subject: words.Subject(e), Service: e.Service, Metric: metricOf(e), RatioMetric: metricOf(e), SLO: e.SLO, Started: e.Started,
		Out: e.Dir, Command: e.Command, Scenario: e.Scenario, Machine: e.Machine,
		Warnings: append([]string(nil), e.Warnings...), Floor: figure.IntervalOf(a.floor), Inflections: a.inflected, InflectionsLeft: a.unlisted,
	}
	for _, run := range e.Runs {
		r.Runs = append(r.Runs, newRun(run, a))
	}
	r.Assemblies = assemblies(e)
	if atOnce(e) {
		r.Scaling = scaling(e, a.verdicts)
	}
	if len(e.Slices) > 0 {
		r.Turns = turnsOf(e)
	}
	switch e.Kind {
	case record.KindLoad:
		r.load(e, a)
	case record.KindSweep:
		r.steps(steady(e), a)
		if r.Scaling == nil {
			crowded := false
			if r.Sweep, r.Charts, crowded = newSweep(e); crowded {
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
		if len(steady(e).Runs) > 0 { // its capacity was measured: all other runs are for the diagnosis
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
		r.Charts = slices.DeleteFunc(r.Charts, func(c Chart) bool { return len(c.X) == 0 })
	}
	r.Traces, r.TracesLeft = traces(e)
	r.Diagnoses, r.Flames = complete(a.diagnoses), flames(e)
	r.explain()
	used := func(variant string) []*record.Run { return atCapacity(e, a, variant) }
	r.Pauses, r.Stages, r.Databases = pauses(e, used), staged(e), databases(e, used)
	r.Outcome = r.outcome(e)
	if r.Outcome.Status == record.OutcomeInvalid {
		r.Invalid = r.Outcome.Reason
	}
	r.Answer = r.answer()
	return r
}

func newRun(r *record.Run, a analysis) Run {
	t, q := r.Totals, r.SLO.Observed(r.Totals)
	v, judged := a.verdicts[r.ID]
	out := Run{
		ID: r.ID, Role: r.Step.Role, Variant: r.Step.Variant, Round: r.Step.Round,
		Offered: figure.Measured(t.OfferedPerS), Achieved: figure.Value(t.AchievedPerS), Delivered: figure.Measured(t.DeliveredPerS),
		P50: figure.Measured(q.P50), P99: figure.Measured(q.P99), Errors: figure.Value(t.ErrorShare()), CPU: figure.Unknown,
		Met: v.Met, Judged: judged, Unjudged: words.Unjudged(v), Misses: words.Missed(&v), Invalid: r.Invalid, Warnings: r.Warnings,
	}
	if share, ok := a.errors[r.ID]; ok {
		out.Errors = figure.Value(share)
	}
	if t.Server != nil {
		out.CPU = figure.Measured(t.Server.CPUMicrosPerRequest)
	}
	if r.Step.Role == record.RoleProfile {
		out.P50, out.P99 = figure.Unknown, figure.Unknown // profiling adds latency
	}
	return out
}

// assemblies are the variants' assemblies, as recorded by each one's first run.
func assemblies(e *record.Experiment) []Assembly {
	var out []Assembly
	for _, name := range words.Variants(e) {
		v, _ := e.Variant(name)
		a := Assembly{Variant: name, Args: figure.Command(v.Args)}
		for _, r := range e.Runs {
			if r.Step.Variant == name && (len(r.Target.Command) > 0 || len(r.Target.Assembly) > 0) {
				a.Command, a.JSON = figure.Command(r.Target.Command), indented(r.Target.Assembly)
				break
			}
		}
		if a.Command != "" || a.Args != "" || a.JSON != nil {
			out = append(out, a)
		}
	}
	return out
}

func indented(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if len(raw) == 0 || json.Indent(&b, raw, "", "  ") != nil {
		return nil
	}
	return b.Bytes()
}
