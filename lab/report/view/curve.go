// Package view holds the parts of a report in the form in which outputs show them: latency against
// the offered rate, a sweep's rows, queues and ramps, a job's throughput over concurrency; the
// slices of variants that took turns; one run's windows; flame graphs; and what a process showed of
// its inside.
//
// It does not draw (html, text), judge (capacity, compare) or look for causes (diagnose). It starts
// no goroutines.
package view

import (
	"math"

	"dyno/lab/capacity"
	"dyno/lab/record"
	"dyno/lab/report/format"
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
	rows := Trials(e)
	for _, name := range e.VariantNames() {
		c := Curve{Variant: name, Capacity: format.Unknown}
		for _, s := range e.SlicesOf(record.SliceSLO, func(s *record.Slice) bool {
			return s.Variant == name && s.Role == record.RoleMeasure && capacity.WhyExcluded(s) == "" && s.Latency.P99 > 0
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
