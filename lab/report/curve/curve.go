// Package curve holds results over a load: latency against the offered rate, the rows, queues and
// ramps of a sweep, and the throughput of a job over concurrency.
//
// It does not draw: package html does. It starts no goroutines.
package curve

import (
	"math"

	"dyno/lab/capacity"
	"dyno/lab/record"
	"dyno/lab/report/figure"
	"dyno/lab/report/turns"
	"dyno/lab/report/words"
)

// Curve is a variant's latency against the offered rate: a dot for each slice or run, and a line
// through their medians.
type Curve struct {
	Variant  string
	Dots     []Dot            // of the latency that the SLO bounds
	Line     []Dot            // medians, by rate
	Capacity figure.Value     // offered, per second
	Interval *figure.Interval // of Capacity
}

// Dot is the latency at an offered rate.
type Dot struct {
	PerS     float64
	P50, P99 float64 // ms; P50 NaN: unknown
	Met      bool    // true without an SLO
}

// Curves are the load curves of all variants that have one, without their capacities.
func Curves(e *record.Experiment, verdicts map[string]capacity.Verdict) (out []Curve) {
	rows := turns.Votes(e)
	for _, name := range words.Variants(e) {
		c := Curve{Variant: name, Capacity: figure.Unknown}
		for _, s := range e.SlicesOf(record.SliceSLO, func(s *record.Slice) bool {
			return s.Variant == name && s.Role == record.RoleMeasure && capacity.NoVote(s) == "" && s.Latency.P99 > 0
		}) {
			c.Dots = append(c.Dots, Dot{s.Rate, s.Latency.P50, s.Latency.P99, s.Met})
		}
		for _, row := range rows {
			if row.Variant == name {
				c.Line = append(c.Line, Dot{float64(row.Rate), math.NaN(), float64(row.P99), true})
			}
		}
		if len(e.Slices) == 0 {
			c.ofRuns(e, verdicts)
		}
		if len(c.Dots) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// ofRuns reads the dots from whole runs.
func (c *Curve) ofRuns(e *record.Experiment, verdicts map[string]capacity.Verdict) {
	for _, p := range points(e, c.Variant) {
		for _, run := range p.runs {
			q := run.SLO.Observed(run.Totals)
			if v, judged := verdicts[run.ID]; q.P99 > 0 {
				c.Dots = append(c.Dots, Dot{offeredOf(run), figure.Positive(q.P50), q.P99, v.Met || !judged})
			}
		}
		p99 := p.median(func(run *record.Run) float64 { return figure.Positive(run.SLO.Observed(run.Totals).P99) })
		p50 := p.median(func(run *record.Run) float64 { return figure.Positive(run.SLO.Observed(run.Totals).P50) })
		if p99 > 0 {
			c.Line = append(c.Line, Dot{p.offered, p50, p99, true})
		}
	}
}
