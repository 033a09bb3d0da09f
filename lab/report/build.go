package report

import (
	"fmt"
	"slices"

	"dyno/lab/diagnose/findings"
	"dyno/lab/record"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// Build reads the results of an experiment. An unreadable part becomes a warning: a report of half
// an experiment is better than none.
func Build(e *record.Experiment) *Report { return Assemble(e, Analyse(e)) }

// Assemble assembles the view model.
func Assemble(e *record.Experiment, a Results) *Report {
	r := &Report{
		Kind: e.Kind, Name: e.Name, Title: format.Title(e), Subject: format.Subject(e), Service: e.Service, Metric: metricOf(e), RatioMetric: metricOf(e), SLO: e.SLO, Started: e.Started,
		Out: e.Dir, Command: e.Command, Scenario: e.Scenario, Machine: e.Machine, Made: madeOf(e),
		Warnings: append([]string(nil), e.Warnings...), NoiseFloor: format.IntervalOf(a.NoiseFloor), Inflections: a.Inflected, InflectionsLeft: a.Unlisted,
	}
	for _, run := range e.Runs {
		line := view.NewRun(run, nil)
		if v, judged := a.Verdicts[run.ID]; judged {
			line = view.NewRun(run, &v)
		}
		if share, ok := a.Errors[run.ID]; ok {
			line.Errors = format.Value(share)
		}
		r.Runs = append(r.Runs, line)
	}
	r.Assemblies = view.Assemblies(e)
	if view.ByConcurrency(e) {
		r.Scaling = view.NewScaling(e, a.Verdicts)
	}
	r.SessionRuns = view.NewSessionRuns(e, a.Verdicts, a.Capacities)
	if len(e.Slices) > 0 {
		r.Turns = view.SummariseTurns(e)
	}
	kindOf(e.Kind).build(r, e, a)
	if r.Turns != nil {
		r.turn(e, a)
	}
	r.curves(e)
	r.Ratios = r.ratios(e, a)
	r.Charts = slices.DeleteFunc(r.Charts, func(c view.Chart) bool { return len(c.X) == 0 })
	r.Traces, r.TracesLeft = view.Traces(e)
	r.Changes = a.Changes
	r.Diagnoses, r.Flames = view.Complete(a.Diagnoses), view.FlamesOf(e)
	r.explain()
	used := func(variant string) []*record.Run { return a.AtCapacity(e, variant) }
	r.Pauses, r.Stages, r.Databases = view.PausesOf(e, used), view.StagesOf(e), view.DatabasesOf(e, used)
	r.Outcome = e.Ended()
	if r.Outcome.Status == record.OutcomeInvalid {
		r.Invalid = r.Outcome.Reason
	}
	r.Answer = r.answer()
	return r
}

// sweep reads the variants at the declared loads.
func (r *Report) sweep(e *record.Experiment, a Results) {
	r.steps(view.ConstantRates(e), a)
	many := true
	if r.SessionRuns == nil && r.Scaling == nil {
		r.Sweep, r.Charts, many = view.NewSweep(e)
	}
	if many { // no capacities are shown, and their warnings are about a search
		for i := range r.Steps {
			r.Steps[i].Warnings = nil
		}
	}
}

// diagnosed reads the capacity, if it was measured: all other runs are for the diagnosis.
func (r *Report) diagnosed(e *record.Experiment, a Results) {
	if len(view.ConstantRates(e).Runs) > 0 {
		r.capacity(e, a)
	}
}

// load reads a single load: its first run in detail.
func (r *Report) load(e *record.Experiment, a Results) {
	if len(e.Runs) == 0 {
		return
	}
	run := e.Runs[0]
	r.Load = &view.SingleLoad{Run: run}
	if !r.SLO.Bounded() {
		r.SLO = run.SLO
	}
	if v, judged := a.Verdicts[run.ID]; judged {
		r.Load.Verdict = &v
		r.Warnings = append(r.Warnings, v.Warnings...)
	}
	r.Warnings = append(r.Warnings, run.Warnings...)
	for _, f := range findings.Find(findings.Subject{Experiment: e, Variant: run.Spec.Variant, Other: []*record.Run{run}}) {
		if f.Kind == findings.KindAutoscaler { // it replays loads at a rate, which a diagnosis need not have
			r.Warnings = append(r.Warnings, f.Text+" Next: "+f.Next)
		}
	}
	if err := r.Load.ReadTails(); err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the percentile curve is missing: %v", err))
	}
}
