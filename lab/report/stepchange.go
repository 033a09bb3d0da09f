package report

import (
	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/record"
)

// explain sets for each step why its throughput changed against the previous step, or did not.
func (r *Report) explain() {
	if r.Turns == nil && r.Metric != compare.MetricCapacity || r.Kind != record.KindLadder && r.Kind != record.KindCompare {
		return
	}
	for i := 1; i < len(r.Steps); i++ {
		before, after := &r.Steps[i-1], &r.Steps[i]
		if d := r.Diagnosis(after.Name); d != nil && d.Moved == "" {
			d.Moved = diagnose.Explain(r.Diagnosis(before.Name), d, stepChange(r.Kind, before, after))
		}
	}
}

// stepChange is the change of a step against the previous one; the sides of a comparison are two steps.
func stepChange(kind string, before, after *Step) diagnose.StepChange {
	ratio, between := after.StepRatio, after.StepInterval
	if kind == record.KindCompare {
		ratio, between = after.Ratio, after.RatioInterval
	}
	m := diagnose.StepChange{
		Ratio:  ratio.OrZero(),
		CPU:    [2]float64{before.Figure(FigureCPU).OrZero(), after.Figure(FigureCPU).OrZero()},
		Allocs: [2]float64{before.Figure(FigureAllocs).OrZero(), after.Figure(FigureAllocs).OrZero()},
		Bytes:  [2]float64{before.Figure(FigureAllocBytes).OrZero(), after.Figure(FigureAllocBytes).OrZero()},
	}
	if between != nil {
		m.Low, m.High = between.Lo, between.Hi
	}
	return m
}
