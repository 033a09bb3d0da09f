package report

import (
	"fmt"
	"slices"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// several sets the CPU ratios of jobs and, of several variants, what each is compared with.
func (r *Report) several(e *record.Experiment, a Results) {
	for i := range r.Steps {
		s := &r.Steps[i]
		if several(e) && i > 0 && i < len(e.Variants) {
			s.Reference = e.Reference(i)
			s.StepRatio, s.StepInterval = format.Unknown, nil // there is no previous step
		}
		at := slices.IndexFunc(a.CPU, func(row compare.Row) bool { return row.Name == s.Name })
		if r.Turns != nil || i == 0 || at < 0 || s.Invalid != "" {
			continue
		}
		cpu := a.CPU[at].ToBaseline
		s.CPURatio, s.CPUInterval, s.CPUVerdict = format.Measured(cpu.Ratio), format.IntervalOf(cpu.Interval), cpu.Verdict
	}
	if r.Scaling != nil { // a single concurrency is in the table of the variants
		r.Scaling.Curves = slices.DeleteFunc(r.Scaling.Curves, func(c view.ScalingCurve) bool { return len(c.Points) < 2 })
	}
	if r.Turns == nil && len(a.CPU) > 0 {
		r.CPUNoiseFloor = format.IntervalOf(a.CPU[0].ToBaseline.NoiseFloor)
	}
}

// referenceText names what a variant is compared with.
func (r *Report) referenceText() string {
	if len(r.Steps) > 2 {
		return "its reference"
	}
	return r.Steps[0].Name
}

// cpuText states the CPU ratio of two jobs; empty for services, whose ratios are among the metrics.
func (r *Report) cpuText() string {
	if r.Turns != nil || len(r.Steps) != 2 || !r.Steps[1].CPURatio.Known() {
		return ""
	}
	s := &r.Steps[1]
	return " Also: " + format.Ratio(compare.MetricCPU, s.CPURatio, s.CPUInterval, format.VerdictOf(s.CPUInterval)) + "."
}

// severalAnswer states the ratios of each variant to its reference.
func (r *Report) severalAnswer() string {
	if len(r.Steps) < 3 {
		return "There was nothing to compare."
	}
	var parts []string
	for i := range r.Steps {
		s := &r.Steps[i]
		switch {
		case s.Reference == "":
		case s.Invalid != "" || !s.Ratio.Known() && !s.CPURatio.Known():
			parts = append(parts, s.Name+" has no result beside "+s.Reference)
		default:
			text := fmt.Sprintf("%s beside %s: %s", s.Name, s.Reference, format.Ratio(r.RatioMetric, s.Ratio, s.RatioInterval, format.VerdictOf(s.RatioInterval)))
			if s.CPURatio.Known() {
				text += ", " + format.Ratio(compare.MetricCPU, s.CPURatio, s.CPUInterval, format.VerdictOf(s.CPUInterval))
			}
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ") + "."
}

// referenceColumn is the reference of each variant.
var referenceColumn = StepColumn{Head: "beside", Short: "beside", Cell: func(s *VariantResult) string { return s.Reference }}

// cpuRatioColumn is the ratio of CPU per request to the reference.
func cpuRatioColumn() StepColumn {
	return ranged(number("vs baseline", "ratio of CPU per request", "x base", func(s *VariantResult) format.Value { return s.CPURatio }, format.Times), format.BetweenRatios, func(s *VariantResult) *format.Interval { return s.CPUInterval })
}

// inFlight reads a job's concurrency; unknown where no variant has more than one unit in flight.
func (r *Report) inFlight(s *VariantResult) format.Value {
	if !slices.ContainsFunc(r.Steps, func(s VariantResult) bool { return s.Concurrency > 1 }) {
		return format.Unknown
	}
	return s.Concurrency
}
