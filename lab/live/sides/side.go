// Package sides sets two results of experiments side by side: their figures, conditions, inputs,
// profiles and load curves, and the conclusion with its warnings.
//
// It reads no folder and serves nothing: package live does. It starts no goroutines.
package sides

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/figure"
)

// Side is one of two results that are compared.
type Side struct {
	Letter, Class  string
	Name, Variant  string // folder; empty variant: a single load
	Variants       []string
	OtherA, OtherB string // the other side's result, in the address format
	alike          bool   // both sides have the same title
	chosen         bool   // the address names the variant
	*report.Report
	speed map[string]figure.Value // of the machine, by variant
}

// New is the result of a variant. Without a variant it is the last one that has a result.
func New(letter, name, variant string, r *report.Report, speed map[string]figure.Value) (*Side, error) {
	out := &Side{Letter: letter, Class: strings.ToLower(letter), Name: name, Variant: variant, chosen: variant != "", Report: r, speed: speed}
	for _, step := range r.Steps {
		out.Variants = append(out.Variants, step.Name)
		if variant == "" && (out.Variant == "" || step.Invalid == "") {
			out.Variant = step.Name
		}
	}
	if variant != "" && !slices.Contains(out.Variants, variant) {
		return nil, fmt.Errorf("%s has no variant %q; there are: %s", name, variant, strings.Join(out.Variants, ", "))
	}
	return out, nil
}

// Ref is the side in the address format: NAME or NAME:VARIANT.
func (s *Side) Ref() string {
	if s.Variant == "" {
		return s.Name
	}
	return s.Name + ":" + s.Variant
}

// Title names the side in a few words.
func (s *Side) Title() string {
	service := cmp.Or(s.Subject, s.Report.Name, s.Name)
	if s.Variant == "" || s.Variant == service {
		return service
	}
	return service + " " + s.Variant
}

// Heading names the side unambiguously.
func (s *Side) Heading() string {
	if s.alike {
		return s.Name
	}
	return s.Title()
}

// first selects the baseline when an experiment is compared with itself.
func (s *Side) first() {
	if len(s.Variants) > 1 {
		s.Variant = s.Variants[0]
	}
}

// Step is the side's variant; nil for a single load.
func (s *Side) Step() *report.Step {
	for i := range s.Steps {
		if s.Steps[i].Name == s.Variant {
			return &s.Steps[i]
		}
	}
	return nil
}

// load is the side's single load; nil for a variant.
func (s *Side) load() *record.Run {
	if s.Load == nil {
		return nil
	}
	return s.Load.Run
}

// figures are the results of a side.
type figures struct {
	capacity, work, offered, achieved, errors, speed figure.Value
	interval                                         *figure.Interval // of capacity
	rounds, votes                                    int
	unit                                             string                  // of the capacity, if it is no rate
	measured                                         map[string]figure.Value // by the keys of report.Figures
}

func (s *Side) figures() figures {
	no := figure.Unknown
	f := figures{capacity: no, work: no, offered: no, achieved: no, errors: no, speed: no, measured: map[string]figure.Value{}}
	if v, ok := s.speed[s.Variant]; ok {
		f.speed = v
	}
	if step := s.Step(); step != nil {
		if s.Metric == compare.MetricCapacity || s.Turns != nil {
			f.capacity, f.interval = step.Capacity, step.Interval
			if s.Crowd != nil {
				f.unit = "sessions"
			}
		}
		f.rounds, f.votes, f.work = step.Rounds, step.Votes, step.Work
		f.measured = step.Figures
		return f
	}
	run := s.load()
	if run == nil {
		return f
	}
	for _, one := range report.Figures {
		f.measured[one.Key] = one.Of(run)
	}
	t := run.Totals
	f.offered, f.achieved, f.errors = figure.Measured(t.OfferedPerS), figure.Measured(t.AchievedPerS), figure.Value(t.ErrorShare())
	f.speed = figure.Measured(run.Environment.Speed).Or(f.speed)
	return f
}

// figure is a measured figure by its key.
func (f figures) figure(key string) figure.Value {
	if v, ok := f.measured[key]; ok {
		return v
	}
	return figure.Unknown
}

// curve is the side's latency against the offered rate: x, p99 and p50.
func (s *Side) curve() (xs, p99, p50 []float64) {
	if run := s.load(); run != nil && run.Totals.OfferedPerS > 0 {
		q := run.SLO.Observed(run.Totals)
		return []float64{run.Totals.OfferedPerS}, []float64{q.P99}, []float64{q.P50}
	}
	for _, c := range s.Curves {
		if c.Variant != s.Variant {
			continue
		}
		for _, at := range c.Line {
			xs, p99, p50 = append(xs, at.PerS), append(p99, at.P99), append(p50, at.P50)
		}
	}
	return xs, p99, p50
}
