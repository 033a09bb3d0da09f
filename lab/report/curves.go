package report

import (
	"fmt"
	"html/template"
	"math"

	"dyno/lab/capacity"
	"dyno/lab/record"
)

// Curve is a variant's latency against the offered rate: a dot for each slice or run, and a line through their medians.
type Curve struct {
	Variant  string
	Dots     []CurveDot // of the latency that the SLO bounds
	Line     []CurveDot // medians, by rate
	Capacity Value      // offered, per second
	Interval *Interval  // of Capacity
}

// CurveDot is the latency at an offered rate.
type CurveDot struct {
	PerS     float64
	P50, P99 float64 // ms; P50 NaN: unknown
	Met      bool    // true without an SLO
}

// curves are the load curves of all variants that have one.
func (r *Report) curves(e *record.Experiment, a analysis) (out []Curve) {
	rows := votes(e)
	for _, name := range variantNames(e) {
		c := Curve{Variant: name, Capacity: Unknown}
		for i := range r.Steps {
			if s := &r.Steps[i]; s.Name == name && (r.Turns != nil || r.Metric == metricOf(&record.Experiment{})) {
				c.Capacity, c.Interval = s.Capacity, s.Interval
			}
		}
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
			c.ofRuns(e, a)
		}
		if len(c.Dots) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// ofRuns reads the dots from whole runs.
func (c *Curve) ofRuns(e *record.Experiment, a analysis) {
	for _, p := range points(e, c.Variant) {
		for _, run := range p.runs {
			q := run.SLO.Observed(run.Totals)
			if v, judged := a.verdicts[run.ID]; q.P99 > 0 {
				c.Dots = append(c.Dots, CurveDot{offeredOf(run), positive(q.P50), q.P99, v.Met || !judged})
			}
		}
		p99 := p.median(func(run *record.Run) float64 { return positive(run.SLO.Observed(run.Totals).P99) })
		p50 := p.median(func(run *record.Run) float64 { return positive(run.SLO.Observed(run.Totals).P50) })
		if p99 > 0 {
			c.Line = append(c.Line, CurveDot{p.offered, p50, p99, true})
		}
	}
}

// CurveCells draws the load curves as charts, all to one scale.
func (v pageView) CurveCells() (out []Cell) {
	var xs, ys []float64
	bound := float64(p99Bound(v.SLO))
	for _, c := range v.Curves {
		for _, d := range c.Dots {
			xs, ys = append(xs, d.PerS), append(ys, d.P99)
		}
		if c.Interval != nil {
			xs = append(xs, c.Interval.Lo, c.Interval.Hi)
		}
	}
	x, y := tightAxis(xs), newAxis(true, append(ys, bound)...)
	for _, c := range v.Curves {
		p := plot{title: "p99 of " + c.Variant + " against the offered rate", xLabel: "offered, per second", yLabel: "p99, ms", x: x, y: y, small: len(v.Curves) > 1}
		if bound > 0 {
			p.lines = append(p.lines, polyline{class: "bound", xs: []float64{x.lo, x.hi}, ys: []float64{bound, bound}})
		}
		if c.Capacity.Known() {
			if c.Interval != nil {
				p.band = &band{c.Interval.Lo, c.Interval.Hi}
			}
			at := float64(c.Capacity)
			p.lines = append(p.lines, polyline{class: "capacity", xs: []float64{at, at}, ys: []float64{y.lo, y.hi}})
		}
		line := polyline{class: "median"}
		for _, d := range c.Line {
			line.xs, line.ys = append(line.xs, d.PerS), append(line.ys, d.P99)
		}
		p.lines = append(p.lines, line)
		for _, d := range c.Dots {
			one := dot{x: d.PerS, y: d.P99, class: "met", title: fmt.Sprintf("%s at %s: p99 %s ms", c.Variant, rate(Value(d.PerS)), figure(Value(d.P99)))}
			if !d.Met {
				one.class, one.title = "over", one.title+", SLO missed"
			}
			p.dots = append(p.dots, one)
		}
		name := c.Variant
		if c.Capacity.Known() {
			name += " " + rate(c.Capacity)
		}
		out = append(out, Cell{name, p.SVG()})
	}
	return out
}

// strip is the ratios of one metric: a row for B over A, and one for A's twin over A.
type strip struct {
	Name string
	Rows []stripRow
	Axis template.HTML
}

type stripRow struct {
	Name, Value, Detail, Verdict string
	SVG                          template.HTML
}

// Strips returns a comparison's pairs, by metric.
func (v pageView) Strips() (out []strip) {
	for _, of := range v.Ratios {
		var all []float64
		for _, row := range of.Rows {
			all = append(all, row.Ratios...)
			if row.Interval != nil {
				all = append(all, row.Interval.Lo, row.Interval.Hi)
			}
		}
		x := ratioAxis(all)
		one := strip{Name: metricNames[of.Metric], Axis: axisSVG(x, x.ratioTicks())}
		for _, row := range of.Rows {
			drawn := stripRow{Name: row.Name, Detail: betweenRatios(row.Interval), Verdict: betterWords(of.Metric, row.Verdict), SVG: row.svg(x)}
			if row.Ratio.Known() {
				drawn.Value = times(row.Ratio)
			}
			one.Rows = append(one.Rows, drawn)
		}
		out = append(out, one)
	}
	return out
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
	Ratio    Value
	Interval *Interval
	Verdict  string
}

// ratios collects the pairs of a comparison: blocks of turns, or rounds.
func (r *Report) ratios(e *record.Experiment, a analysis) (out []Ratios) {
	c := r.Comparison
	if c == nil {
		return nil
	}
	over := c.B + " over " + c.A
	twin := c.A + "'s twin over " + c.A
	if r.Turns == nil {
		one := Ratios{Metric: c.Metric, Rows: []RatioRow{{over, nil, measured(c.Ratio), interval(c.Interval), c.Verdict}}}
		floor := RatioRow{Name: c.A + " over itself", Ratio: Unknown, Interval: interval(c.Floor)}
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
	for _, m := range r.Metrics {
		one := Ratios{Metric: m.Metric, Rows: []RatioRow{{over, nil, measured(m.Ratio), interval(m.Interval), m.Verdict}}}
		if read := blockReaders[m.Metric]; read != nil {
			one.Rows[0].Ratios = blockRatios(e, read, record.RoleMeasure, m.B, m.A)
			again := blockRatios(e, read, record.RoleFloor, m.A, m.A)
			if len(again) > 0 {
				one.Rows = append(one.Rows, RatioRow{twin, again, Unknown, interval(m.Floor), ""})
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

// ratioAxis spans the ratios and 1, logarithmically.
func ratioAxis(ratios []float64) axis {
	return tightAxis(append([]float64{0.95, 1.05}, ratios...))
}

// tightAxis spans values above 0 logarithmically, with a narrow margin.
func tightAxis(values []float64) axis {
	a := axis{lo: math.Inf(1), hi: math.Inf(-1), log: true}
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 1) {
			a.lo, a.hi = min(a.lo, v), max(a.hi, v)
		}
	}
	if a.lo > a.hi {
		a.lo, a.hi = 1, 10
	}
	room := 1.01 * math.Pow(a.hi/a.lo, 0.04)
	return axis{lo: a.lo / room, hi: a.hi * room, log: true}
}

// ratioTicks are some round ratios.
func (a axis) ratioTicks() (out []tick) {
	for _, t := range a.ticks() {
		out = append(out, tick{t.at, t.label + "x"})
	}
	return out
}
