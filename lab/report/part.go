package report

import (
	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report/turns"
	"dyno/lab/report/words"
)

// This file reads parts of an experiment: a window or a run of one in progress, and two of its
// variants.

// RunOf is one run's line, as the list of runs shows it.
func RunOf(r *record.Run) Run {
	a := Analysis{Verdicts: map[string]capacity.Verdict{}}
	if words.Bounded(r.SLO) {
		a.Verdicts[r.ID] = capacity.Judge(r)
	}
	return newRun(r, a)
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
