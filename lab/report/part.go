package report

import (
	"math"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report/figure"
	"dyno/lab/report/words"
)

// This file reads parts of an experiment: a window or a run of one in progress, and two of its
// variants.

// RunOf is one run's line, as the list of runs shows it.
func RunOf(r *record.Run) Run {
	a := analysis{verdicts: map[string]capacity.Verdict{}}
	if words.Bounded(r.SLO) {
		a.verdicts[r.ID] = capacity.Judge(r)
	}
	return newRun(r, a)
}

// Point reads a window like a Trace's point: its phase, and its figures by the keys of
// Trace.Series. Missing figures have no key.
func Point(w record.Window) (phase string, figures map[string]float64) {
	figures = map[string]float64{}
	for _, m := range measures {
		if v := m.read(w); !math.IsNaN(v) {
			figures[m.key] = figure.Significant(v, 4)
		}
	}
	return phaseOf(w), figures
}

// Between compares any two variants of an experiment that measured them in turns, by each metric
// that it has, and states the result in a sentence or two.
func Between(e *record.Experiment, a, b string) ([]compare.Comparison, string) {
	if len(e.Slices) == 0 {
		c := compare.Between(e, metricOf(e), a, b, sample(e))
		return []compare.Comparison{c}, words.Comparison(c, false)
	}
	all := metricsOf(e, a, b, func(variant string) float64 { return capacity.Summarise(e, variant).PeakWorkPerS })
	return all, words.Comparison(all[0], true) + words.Beside(all)
}

// VariantSoFar is the current result of a variant's slices during an experiment.
type VariantSoFar struct {
	Variant     string
	Slices      int
	Work        figure.Value // per second, peak; the median
	CPU         figure.Value // us per request; the median
	Met, Judged int          // SLO slices
	Rate, P99   figure.Value // of the last SLO slice: offered per second, ms
}

// SoFar returns the current results of all variants.
func SoFar(e *record.Experiment) (out []VariantSoFar) {
	for _, name := range words.Variants(e) {
		so := VariantSoFar{Variant: name, Rate: figure.Unknown, P99: figure.Unknown}
		var work, cpu []float64
		for i := range e.Slices {
			s := &e.Slices[i]
			if s.Variant != name || s.Role != record.RoleMeasure || s.Invalid != "" {
				continue
			}
			so.Slices++
			if s.Kind == record.SliceWork {
				work, cpu = append(work, s.PerS()), append(cpu, s.CPUMicros())
				continue
			}
			so.Rate, so.P99 = figure.Measured(s.Rate), figure.Measured(s.Latency.P99)
			if s.Unjudged == "" {
				so.Judged++
				if s.Met {
					so.Met++
				}
			}
		}
		so.Work, so.CPU = figure.Measured(float64(figure.MedianOf(work))), figure.Measured(float64(figure.MedianOf(cpu)))
		out = append(out, so)
	}
	return out
}

// SliceWords state how much was measured so far, and how much the machine was disturbed.
func SliceWords(e *record.Experiment) string {
	t := turnsOf(e)
	if machine := t.MachineWords(); machine != "" {
		return t.Words() + "; " + machine
	}
	return t.Words()
}
