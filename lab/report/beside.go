package report

import (
	"fmt"
	"slices"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/record"
)

// This file reads a comparison of more than two variants, each of which is set beside its reference,
// and the CPU ratios of jobs that are compared.

// several reports whether an experiment compares more than two variants.
func several(e *record.Experiment) bool { return e.Kind == record.KindCompare && len(e.Variants) > 2 }

// beside sets the CPU ratios of jobs, and for several variants what each is compared with.
func (r *Report) beside(e *record.Experiment, a analysis) {
	for i := range r.Steps {
		s := &r.Steps[i]
		if several(e) && i > 0 && i < len(e.Variants) {
			s.Beside = e.Reference(i)
			s.StepRatio, s.StepInterval = Unknown, nil // there is no previous step
		}
		at := slices.IndexFunc(a.cpu, func(row compare.Row) bool { return row.Name == s.Name })
		if r.Turns != nil || i == 0 || at < 0 || s.Invalid != "" {
			continue
		}
		cpu := a.cpu[at].ToBaseline
		s.CPURatio, s.CPUInterval, s.CPUVerdict = measured(cpu.Ratio), interval(cpu.Interval), cpu.Verdict
	}
	if r.Scaling != nil { // a single concurrency is in the table of the variants
		r.Scaling.Curves = slices.DeleteFunc(r.Scaling.Curves, func(c ScalingCurve) bool { return len(c.Points) < 2 })
	}
	if r.Turns == nil && len(a.cpu) > 0 {
		r.CPUFloor = interval(a.cpu[0].ToBaseline.Floor)
	}
}

// comparedObject is the JSON form of a comparison of two variants, or of several.
func (r *Report) comparedObject() any {
	if r.Comparison == nil && len(r.Steps) > 2 {
		return r.runObject()
	}
	return r.comparisonObject()
}

// referenceWords name what a variant is compared with.
func (r *Report) referenceWords() string {
	if len(r.Steps) > 2 {
		return "its reference"
	}
	return r.Steps[0].Name
}

// cpuWords are the CPU ratio of two jobs; empty for services, whose ratios are among the metrics.
func (r *Report) cpuWords() string {
	if r.Turns != nil || len(r.Steps) != 2 || !r.Steps[1].CPURatio.Known() {
		return ""
	}
	s := &r.Steps[1]
	return " Also: " + ratioWords(compare.MetricCPU, s.CPURatio, s.CPUInterval, verdictOf(s.CPUInterval)) + "."
}

// severalAnswer states the ratios of each variant to its reference.
func (r *Report) severalAnswer() string {
	if len(r.Steps) < 3 {
		return "There was nothing to compare."
	}
	var said []string
	for i := range r.Steps {
		s := &r.Steps[i]
		switch {
		case s.Beside == "":
		case s.Invalid != "" || !s.Ratio.Known() && !s.CPURatio.Known():
			said = append(said, s.Name+" has no result beside "+s.Beside)
		default:
			text := fmt.Sprintf("%s beside %s: %s", s.Name, s.Beside, ratioWords(r.RatioMetric, s.Ratio, s.RatioInterval, verdictOf(s.RatioInterval)))
			if s.CPURatio.Known() {
				text += ", " + ratioWords(compare.MetricCPU, s.CPURatio, s.CPUInterval, verdictOf(s.CPUInterval))
			}
			said = append(said, text)
		}
	}
	return strings.Join(said, "; ") + "."
}

// besideColumn is the reference of each variant.
func besideColumn() tableColumn {
	return tableColumn{Head: "beside", Short: "beside", Cell: func(s *Step) string {
		if s.Beside == "" {
			return dash
		}
		return s.Beside
	}, known: func(s *Step) bool { return s.Beside != "" }}
}
