package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/record"
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
		if bounds(r.SLO) && !r.Step.Diagnostic() {
			a.verdicts[r.ID] = capacity.Judge(r)
		}
	}
	names := variantNames(e)
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
		if e.Kind == record.KindCompare && len(names) >= 2 && !several(e) {
			a.metrics = metricsOf(e, names[0], names[1], peak)
			a.comparison = &a.metrics[0]
		}
	case e.Kind == record.KindLadder, several(e):
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
	if e.Kind == record.KindCompare && atOnce(e) && metricOf(e) != compare.MetricCPU {
		a.cpu = compare.Ladder(e, compare.MetricCPU, compare.AtEqualRate(e, compare.MetricCPU))
	}
	a.diagnoses = diagnose.Diagnose(e)
	for i := range a.diagnoses {
		if !bounds(e.SLO) {
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

// bounds reports whether the SLO bounds a latency or a gauge.
func bounds(s record.SLO) bool { return len(s.Latency) > 0 || len(s.Gauges) > 0 }

// variantNames are the variants in ladder order, then those found only in the runs.
func variantNames(e *record.Experiment) []string {
	var names []string
	seen := map[string]bool{}
	for _, v := range e.Variants {
		names, seen[v.Name] = append(names, v.Name), true
	}
	for _, r := range e.Runs {
		if r.Step.Role != record.RoleAblation && !seen[r.Step.Variant] {
			names, seen[r.Step.Variant] = append(names, r.Step.Variant), true
		}
	}
	return names
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
		Kind: e.Kind, Name: e.Name, Title: Title(e), Subject: Subject(e), Service: e.Service, Metric: metricOf(e), RatioMetric: metricOf(e), SLO: e.SLO, Started: e.Started,
		Out: e.Dir, Command: e.Command, Scenario: e.Scenario, Machine: e.Machine,
		Warnings: append([]string(nil), e.Warnings...), Floor: interval(a.floor), Inflections: a.inflected, InflectionsLeft: a.unlisted,
	}
	for _, run := range e.Runs {
		r.Runs = append(r.Runs, newRun(run, a))
	}
	r.Assemblies = assemblies(e)
	if atOnce(e) {
		r.Scaling = scaling(e, a)
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
			r.sweep(e)
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
			r.Curves = r.curves(e, a)
		}
		r.Ratios = r.ratios(e, a)
		r.Charts = slices.DeleteFunc(r.Charts, func(c Chart) bool { return len(c.X) == 0 })
	}
	r.Traces, r.TracesLeft = traces(e)
	r.Diagnoses, r.Flames = complete(a.diagnoses), flames(e)
	r.explain()
	r.Pauses, r.Stages, r.Databases = pauses(e, a), staged(e), databases(e, a)
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
		Offered: measured(t.OfferedPerS), Achieved: Value(t.AchievedPerS), Delivered: measured(t.DeliveredPerS),
		P50: measured(q.P50), P99: measured(q.P99), Errors: Value(t.ErrorShare()), CPU: Unknown,
		Met: v.Met, Judged: judged, Unjudged: unjudged(v), Misses: missed(&v), Invalid: r.Invalid, Warnings: r.Warnings,
	}
	if share, ok := a.errors[r.ID]; ok {
		out.Errors = Value(share)
	}
	if t.Server != nil {
		out.CPU = measured(t.Server.CPUMicrosPerRequest)
	}
	if r.Step.Role == record.RoleProfile {
		out.P50, out.P99 = Unknown, Unknown // profiling adds latency
	}
	return out
}

// runLabel names a run in a list.
func runLabel(r *record.Run) string {
	parts := []string{r.Step.Variant}
	if r.Step.Variant == "" {
		parts[0] = r.ID
	}
	if r.Step.Role != "" && r.Step.Role != record.RoleSingle {
		parts = append(parts, roleWords(r.Step.Role))
	}
	if r.Step.Round > 0 {
		parts = append(parts, fmt.Sprintf("round %d", r.Step.Round))
	}
	if r.ByConcurrency() {
		parts = append(parts, fmt.Sprintf("%d in flight", r.Step.Connections))
	} else if r.Step.RampTo > 0 {
		parts = append(parts, rate(Value(r.Step.Rate))+" to "+rate(Value(r.Step.RampTo)))
	} else if r.Totals.OfferedPerS > 0 {
		parts = append(parts, rate(Value(r.Totals.OfferedPerS)))
	}
	if r.Invalid != "" {
		parts = append(parts, "invalid")
	}
	return strings.Join(parts, ", ")
}

// assemblies are the variants' assemblies, as recorded by each one's first run.
func assemblies(e *record.Experiment) []Assembly {
	var out []Assembly
	for _, name := range variantNames(e) {
		v, _ := e.Variant(name)
		a := Assembly{Variant: name, Args: commandLine(v.Args)}
		for _, r := range e.Runs {
			if r.Step.Variant == name && (len(r.Target.Command) > 0 || len(r.Target.Assembly) > 0) {
				a.Command, a.JSON = commandLine(r.Target.Command), indented(r.Target.Assembly)
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

func interval(p *[2]float64) *Interval {
	if p == nil {
		return nil
	}
	return &Interval{Lo: p[0], Hi: p[1]}
}
