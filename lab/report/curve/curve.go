// Package curve holds results over a load: latency against the offered rate, the rows, queues and
// ramps of a sweep, and the throughput of a job over concurrency.
//
// It does not draw: package html does. It starts no goroutines.
package curve

import (
	"math"

	"dyno/lab/capacity"
	"dyno/lab/record"
	"dyno/lab/report/format"
	"dyno/lab/report/turns"
)

// Curve is a variant's latency against the offered rate: a dot for each slice, and a line
// through their medians.
type Curve struct {
	Variant  string
	Dots     []Dot            // of the latency that the SLO bounds
	Line     []Dot            // medians, by rate
	Capacity format.Value     // offered, per second
	Interval *format.Interval // of Capacity
}

// Dot is the latency at an offered rate.
type Dot struct {
	PerS     float64
	P50, P99 float64 // ms; P50 NaN: unknown
	Met      bool    // true without an SLO
}

// Curves are the load curves of all variants that have one, without their capacities.
func Curves(e *record.Experiment) (out []Curve) {
	rows := turns.Votes(e)
	for _, name := range format.Variants(e) {
		c := Curve{Variant: name, Capacity: format.Unknown}
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
		if len(c.Dots) > 0 {
			out = append(out, c)
		}
	}
	return out
}
