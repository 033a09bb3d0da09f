package html

import (
	"fmt"
	"html/template"
	"math"

	"dyno/lab/report/format"
	"dyno/lab/report/sections"
	"dyno/lab/report/view"
)

// curveCells draws the load curves as charts that share their scales.
func curveCells(v sections.Curves) (out []Cell) {
	var xs, ys []float64
	bound := float64(v.Bound)
	for _, c := range v.Of {
		for _, d := range c.Dots {
			xs, ys = append(xs, d.PerS), append(ys, d.P99)
		}
		if c.Interval != nil {
			xs = append(xs, c.Interval.Lo, c.Interval.Hi)
		}
	}
	x, y := tightAxis(xs), newAxis(true, append(ys, bound)...)
	for _, c := range v.Of {
		p := plot{title: "p99 of " + c.Variant + " against the offered rate", xLabel: "offered, per second", yLabel: "p99, ms", x: x, y: y, small: len(v.Of) > 1}
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
			one := dot{x: d.PerS, y: d.P99, class: "met", title: fmt.Sprintf("%s at %s: p99 %s ms", c.Variant, format.Rate(format.Value(d.PerS)), format.Format(format.Value(d.P99)))}
			if !d.Met {
				one.class, one.title = "over", one.title+", SLO missed"
			}
			p.dots = append(p.dots, one)
		}
		name := c.Variant
		if c.Capacity.Known() {
			name += " " + format.Rate(c.Capacity)
		}
		out = append(out, Cell{name, p.SVG()})
	}
	return out
}

// newStrips draws the pairs of a comparison by one metric.
func newStrips(of view.Ratios) bars {
	var all []float64
	for _, row := range of.Rows {
		all = append(all, row.Ratios...)
		if row.Ratio.Known() {
			all = append(all, float64(row.Ratio))
		}
		if row.Interval != nil {
			all = append(all, row.Interval.Lo, row.Interval.Hi)
		}
	}
	x := ratioAxis(all)
	out := bars{Note: "ratio; the band is the 95% interval, the dashed line no difference", Axis: axisSVG(x, x.ratioTicks())}
	for _, row := range of.Rows {
		drawn := barRow{Name: row.Name, Detail: format.BetweenRatios(row.Interval), Verdict: format.Better(of.Metric, row.Verdict), SVG: ratioSVG(row, x)}
		if row.Ratio.Known() {
			drawn.Value = format.Times(row.Ratio)
		}
		out.Rows = append(out.Rows, drawn)
	}
	return out
}

// ratioAxis returns a logarithmic axis that spans the ratios and 1.
func ratioAxis(ratios []float64) axis {
	return tightAxis(append([]float64{0.95, 1.05}, ratios...))
}

// tightAxis returns a logarithmic axis that spans the values above 0, with a narrow margin.
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

// ratioTicks returns the axis's ticks, labelled as ratios.
func (a axis) ratioTicks() (out []tick) {
	for _, t := range a.ticks() {
		out = append(out, tick{t.at, t.label + "x"})
	}
	return out
}

// Cell is a small chart of one variant.
type Cell struct {
	Name string
	SVG  template.HTML
}
