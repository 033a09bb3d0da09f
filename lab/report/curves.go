package report

import (
	"math"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report/figure"
	"dyno/lab/report/words"
)

// Curve is a variant's latency against the offered rate: a dot for each slice or run, and a line through their medians.
type Curve struct {
	Variant  string
	Dots     []CurveDot       // of the latency that the SLO bounds
	Line     []CurveDot       // medians, by rate
	Capacity figure.Value     // offered, per second
	Interval *figure.Interval // of Capacity
}

// CurveDot is the latency at an offered rate.
type CurveDot struct {
	PerS     float64
	P50, P99 float64 // ms; P50 NaN: unknown
	Met      bool    // true without an SLO
}

// curves are the load curves of all variants that have one, without their capacities.
func curves(e *record.Experiment, verdicts map[string]capacity.Verdict) (out []Curve) {
	rows := votes(e)
	for _, name := range words.Variants(e) {
		c := Curve{Variant: name, Capacity: figure.Unknown}
		for _, s := range e.SlicesOf(record.SliceSLO, func(s *record.Slice) bool {
			return s.Variant == name && s.Role == record.RoleMeasure && capacity.NoVote(s) == "" && s.Latency.P99 > 0
		}) {
			c.Dots = append(c.Dots, CurveDot{s.Rate, s.Latency.P50, s.Latency.P99, s.Met})
		}
		for _, row := range rows {
			if row.Variant == name {
				c.Line = append(c.Line, CurveDot{float64(row.Rate), math.NaN(), float64(row.P99), true})
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
				c.Dots = append(c.Dots, CurveDot{offeredOf(run), figure.Positive(q.P50), q.P99, v.Met || !judged})
			}
		}
		p99 := p.median(func(run *record.Run) float64 { return figure.Positive(run.SLO.Observed(run.Totals).P99) })
		p50 := p.median(func(run *record.Run) float64 { return figure.Positive(run.SLO.Observed(run.Totals).P50) })
		if p99 > 0 {
			c.Line = append(c.Line, CurveDot{p.offered, p50, p99, true})
		}
	}
}

// Ratios are the pairs of a comparison by one metric.
type Ratios struct {
	Metric string
	Rows   []RatioRow
}

// RatioRow is one comparison of two sides, pair by pair.
type RatioRow struct {
	Name     string
	Ratios   []float64 // none: the ratio is of two estimates
	Ratio    figure.Value
	Interval *figure.Interval
	Verdict  string
}

// ratios collects the pairs of a comparison: blocks of turns, or rounds.
func (r *Report) ratios(e *record.Experiment, a analysis) (out []Ratios) {
	c := r.Comparison
	if c == nil {
		return nil
	}
	if r.Turns == nil {
		over := c.B + " over " + c.A
		one := Ratios{Metric: c.Metric, Rows: []RatioRow{{over, nil, figure.Measured(c.Ratio), figure.IntervalOf(c.Interval), c.Verdict}}}
		floor := RatioRow{Name: c.A + " over itself", Ratio: figure.Unknown, Interval: figure.IntervalOf(c.Floor)}
		for _, p := range r.Pairs {
			if p.Ratio.Known() {
				one.Rows[0].Ratios = append(one.Rows[0].Ratios, float64(p.Ratio))
			}
			if again, ok := a.sample(record.RoleFloor, c.A, p.Round); ok && p.A > 0 {
				floor.Ratios = append(floor.Ratios, again/float64(p.A))
			}
		}
		if len(floor.Ratios) > 0 || floor.Interval != nil {
			one.Rows = append(one.Rows, floor)
		}
		return []Ratios{one}
	}
	return turnRatios(e, r.Metrics)
}

// turnRatios collects the blocks of a comparison by turns, by each metric.
func turnRatios(e *record.Experiment, metrics []compare.Comparison) (out []Ratios) {
	for _, m := range metrics {
		over, twin := m.B+" over "+m.A, m.A+"'s twin over "+m.A
		one := Ratios{Metric: m.Metric, Rows: []RatioRow{{over, nil, figure.Measured(m.Ratio), figure.IntervalOf(m.Interval), m.Verdict}}}
		if read := blockReaders[m.Metric]; read != nil {
			one.Rows[0].Ratios = blockRatios(e, read, record.RoleMeasure, m.B, m.A)
			again := blockRatios(e, read, record.RoleFloor, m.A, m.A)
			if len(again) > 0 {
				one.Rows = append(one.Rows, RatioRow{twin, again, figure.Unknown, figure.IntervalOf(m.Floor), ""})
			}
		}
		out = append(out, one)
	}
	return out
}

// blockReaders read a metric from a work slice.
var blockReaders = map[string]func(*record.Slice) float64{"work": (*record.Slice).PerS, "cpu": (*record.Slice).CPUMicros}

// blockRatios are b over a in each block in which both have a work slice; b in a role, a measured.
func blockRatios(e *record.Experiment, read func(*record.Slice) float64, role, b, a string) (out []float64) {
	base := map[[2]int]float64{}
	for _, s := range e.SlicesOf(record.SliceWork, func(s *record.Slice) bool {
		return s.Variant == a && s.Role == record.RoleMeasure && s.Invalid == ""
	}) {
		base[[2]int{s.Generation, s.Block}] = read(s)
	}
	for _, s := range e.SlicesOf(record.SliceWork, func(s *record.Slice) bool { return s.Variant == b && s.Role == role && s.Invalid == "" }) {
		if of := base[[2]int{s.Generation, s.Block}]; of > 0 && read(s) > 0 {
			out = append(out, read(s)/of)
		}
	}
	return out
}
