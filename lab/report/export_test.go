package report

import (
	"dyno/lab/compare"
	"dyno/lab/record"
)

// AnswerOf is the answer of a report that a test has changed.
func AnswerOf(r *Report) string { return r.answer() }

// StepsOf is a report that has only its steps.
func StepsOf(e *record.Experiment, a Results) *Report {
	r := &Report{Kind: e.Kind, Metric: compare.MetricCapacity}
	r.steps(e, a)
	return r
}
