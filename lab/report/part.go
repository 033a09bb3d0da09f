package report

import (
	"math"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
)

// This file says what can be said of a part of an experiment: of a window or a run of one that goes on,
// and of two of its variants.

// RunOf is one run's line, as the list of runs shows it.
func RunOf(r *record.Run) Run {
	a := analysis{verdicts: map[string]capacity.Verdict{}}
	if bounds(r.SLO) {
		a.verdicts[r.ID] = capacity.Judge(r)
	}
	return newRun(r, a)
}

// Point reads a window as a Trace's point does: its phase, and its figures by the keys of Trace.Series.
// What was not seen has no key.
func Point(w record.Window) (phase string, figures map[string]float64) {
	figures = map[string]float64{}
	for _, m := range measures {
		if v := m.read(w); !math.IsNaN(v) {
			figures[m.key] = significant(v, 4)
		}
	}
	return phaseOf(w), figures
}

// Bound is the SLO's bound on p99, in ms; unknown when it has none.
func Bound(s record.SLO) Value { return p99Bound(s) }

// Between compares any two variants of an experiment that measured them in turns, and says in one sentence
// what came of it.
func Between(e *record.Experiment, a, b string) (compare.Comparison, string) {
	c := compare.Between(e, metricOf(e), a, b, datum(e))
	return c, comparisonAnswer(c)
}
