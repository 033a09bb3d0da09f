// Package tuned shows a search for better settings: what to set and what proves it, or that
// nothing is worth it, with a table of what was tried.
//
// It is not for the search (lab/tune) or for carrying it out; the experiments of a search have
// their own reports. It starts no goroutines.
package tuned

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/tune"
)

// File is the name of a file with the JSON form of a Result, in the folder of a search.
const File = "tune.json"

// Schema names the JSON form of a Result. Keys may be added, never changed.
const Schema = "dyno.tune/1"

// Verdicts of a search.
const (
	Proved    = "proved"     // better on fresh data, and the SLO is met
	NotProved = "not proved" // fresh data do not show it
	Nothing   = "nothing is worth it"
	Undecided = "not decided" // no change could be tried
	MissesSLO = "misses the SLO"
)

// Result is a search as its users see it.
type Result struct {
	Schema   string               `json:"schema"`
	Valid    bool                 `json:"valid"`
	Reason   string               `json:"reason"` // why not valid
	Scenario string               `json:"scenario"`
	Start    string               `json:"start"`
	Metric   string               `json:"metric"`
	SLO      record.SLO           `json:"slo"`
	Verdict  string               `json:"verdict"`
	Answer   string               `json:"answer"`
	Chosen   *Choice              `json:"chosen"`  // null: nothing seemed worth it
	Ratios   []compare.Comparison `json:"ratios"`  // of the proof, the metric first
	Carries  [2]format.Value      `json:"carries"` // capacity of the start and of the chosen one in the proof, per second
	Tried    []Row                `json:"tried"`
	Notes    []string             `json:"notes"`
	Out      string               `json:"out"`

	slo string // how the chosen one meets the SLO, in words
}

// Choice is what to change.
type Choice struct {
	Name        string            `json:"name"`
	Args        []string          `json:"args"`
	Environment map[string]string `json:"environment"`
	Build       []string          `json:"build"`        // command that builds the program; empty: as before
	Memory      [2]format.Value   `json:"memory_bytes"` // resident memory of the start, and with the change
}

// Row is a candidate. Its ratio and interval are the search's, for this candidate alone: the best
// of many is too good by chance.
type Row struct {
	Name     string           `json:"name"`
	Ratio    format.Value     `json:"ratio"`
	Interval *format.Interval `json:"interval"`
	Memory   format.Value     `json:"memory_ratio"`
	Rounds   int              `json:"rounds"`
	Verdict  string           `json:"verdict"`
	Why      string           `json:"why,omitempty"`
}

// Build reads the result of a search. profile is the file with the CPU profile of the start.
func Build(s *tune.Search, out, profile string) *Result {
	r := &Result{Schema: Schema, Valid: true, Scenario: s.Scenario, Start: s.Start, Metric: s.Metric, Verdict: Nothing, Ratios: []compare.Comparison{},
		Carries: [2]format.Value{format.Unknown, format.Unknown}, Tried: []Row{}, Notes: format.Filled(s.Notes), Out: out}
	if s.Look != nil {
		r.SLO = s.Look.SLO
	}
	for _, t := range s.Trials {
		r.Tried = append(r.Tried, rowOf(t, s.Metric))
	}
	if s.Chosen == nil {
		r.nothing()
		return r
	}
	r.Chosen = choiceOf(s, profile)
	r.prove(s)
	return r
}

// rowOf turns the gain of a trial into a ratio of the metric: less CPU is a gain.
func rowOf(t tune.Trial, metric string) Row {
	row := Row{Name: t.Candidate.String(), Ratio: format.Unknown, Memory: format.Measured(t.Memory), Rounds: t.Rounds, Verdict: t.Verdict, Why: t.Why}
	if t.Estimate.Samples == 0 {
		return row
	}
	ratio, in := t.Estimate.Ratio(), t.Estimate.Interval()
	if metric == compare.MetricCPU || metric == compare.MetricP99 {
		ratio, in = 1/ratio, [2]float64{1 / in[1], 1 / in[0]}
	}
	row.Ratio, row.Interval = format.Value(ratio), &format.Interval{Lo: in[0], Hi: in[1]}
	return row
}

func choiceOf(s *tune.Search, profile string) *Choice {
	c := &Choice{Name: s.Chosen.String(), Args: []string{}, Environment: map[string]string{}, Build: []string{},
		Memory: [2]format.Value{format.Measured(float64(s.Memory.Start)), format.Measured(float64(s.Memory.Chosen))}}
	for _, change := range s.Chosen {
		switch change.Kind {
		case tune.Setting:
			c.Args = append(c.Args, "--set", change.Name+"="+change.Value)
		case tune.Runtime:
			c.Environment[change.Name] = change.Value
		case tune.PGO:
			c.Build = []string{"go", "build", "-pgo=" + profile, s.Build}
		}
	}
	return c
}

// nothing is the answer when no candidate was chosen.
func (r *Result) nothing() {
	tried, open := 0, 0
	for _, t := range r.Tried {
		if t.Rounds > 0 {
			tried++
		}
		if t.Rounds > 0 && t.Verdict == tune.Undecided {
			open++
		}
	}
	if tried == 0 {
		r.Verdict, r.Answer = Undecided, "No change could be tried in this time: give it a longer --budget, or name fewer with --only."
		return
	}
	r.Answer = fmt.Sprintf("Keep %s as it is: none of %s is shown to change %s by %.0f%% for the better.",
		r.Start, format.Plural(tried, "change"), format.Metrics[r.Metric], math.Round((tune.Worth-1)*100))
	if open > 0 {
		r.Answer += fmt.Sprintf(" %d of them are not decided: they seemed no better than others, or their intervals are wide.", open)
	}
}

// prove reads the comparison on fresh data.
func (r *Result) prove(s *tune.Search) {
	r.Verdict = NotProved
	name := r.Chosen.Name
	if s.Proof == nil || s.Proof.Ended().Status != record.OutcomeComplete {
		why := "it was interrupted"
		if s.Proof != nil {
			why = cmp.Or(s.Proof.Ended().Reason, why)
		}
		r.Answer = fmt.Sprintf("%s seemed better than %s, but the proof has no result: %s.", name, r.Start, why)
		return
	}
	all, sentence := report.Between(s.Proof, r.Start, name)
	r.Ratios = all
	for i := range r.Ratios {
		r.Ratios[i].Warnings = format.Filled(r.Ratios[i].Warnings)
	}
	worse := r.objective(s)
	switch first := all[0]; {
	case first.Verdict == compare.Faster && worse != "":
		r.Verdict = MissesSLO
		r.Answer = fmt.Sprintf("Keep %s as it is: %s, but %s", r.Start, strings.TrimSuffix(sentence, "."), worse)
	case first.Verdict == compare.Faster:
		r.Verdict, r.Answer = Proved, sentence
	default:
		r.Answer = fmt.Sprintf("Keep %s as it is: %s seemed better, but fresh data do not prove it. %s", r.Start, name, sentence)
	}
}

// objective states how the chosen one meets the SLO; worse is why it must not be used.
func (r *Result) objective(s *tune.Search) (worse string) {
	if !s.Proof.SLO.Bounded() {
		return ""
	}
	if met, of := metAt(s.Proof, r.Chosen.Name); of > 0 {
		before, ofBefore := metAt(s.Proof, r.Start)
		r.slo = fmt.Sprintf("met in %d of %s, before in %d of %d", met, format.Plural(of, "turn"), before, ofBefore)
		if met*ofBefore*2 < before*of {
			return "it misses the SLO more often: " + r.slo + "."
		}
		return ""
	}
	before, after := capacity.Summarise(s.Proof, r.Start), capacity.Summarise(s.Proof, r.Chosen.Name)
	r.Carries = [2]format.Value{format.Measured(before.CapacityPerS), format.Measured(after.CapacityPerS)}
	switch {
	case r.Carries[0].Known() && r.Carries[1].Known():
		r.slo = fmt.Sprintf("met up to %s%s, before up to %s%s", format.Rate(r.Carries[1]), format.Space(format.Between(format.IntervalOf(after.Interval))),
			format.Rate(r.Carries[0]), format.Space(format.Between(format.IntervalOf(before.Interval))))
	case after.Reason != "":
		r.slo = "not decided: " + after.Reason
	}
	for _, c := range r.Ratios {
		if c.Metric == compare.MetricCapacity && c.Verdict == compare.Slower {
			return "it carries less under the SLO: " + format.Ratio(c.Metric, format.Measured(c.Ratio), format.IntervalOf(c.Interval), c.Verdict) + "."
		}
	}
	return ""
}

// metAt counts the loads that met the SLO, where all were the same; of is 0 where they differ,
// since a search for the capacity misses half of the time.
func metAt(e *record.Experiment, variant string) (met, of int) {
	loads := map[float64]bool{}
	count := func(load float64, ok bool) {
		loads[load] = true
		of++
		if ok {
			met++
		}
	}
	for i := range e.Slices {
		if s := &e.Slices[i]; s.Kind == record.SliceSLO && s.Role == record.RoleMeasure && s.Variant == variant && capacity.WhyExcluded(s) == "" {
			count(s.Rate, s.Met)
		}
	}
	for _, run := range e.Runs {
		if run.Axis() == record.AxisSessions && run.Spec.Role == record.RoleMeasure && run.Spec.Variant == variant && run.Invalid == "" {
			count(float64(run.Spec.Connections), capacity.CheckSLO(run).Met)
		}
	}
	if len(loads) > 1 {
		return 0, 0
	}
	return met, of
}
