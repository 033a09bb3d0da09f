package html

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// bars is the chart of the steps: one row each, with the interval as a whisker, and the baseline,
// if there is one, as a line through all rows. The rows are HTML, so that they wrap on a narrow
// screen; only the bars are SVG.
type bars struct {
	Rows []barRow
	Axis template.HTML
	Note string
}

type barRow struct {
	Name, Change, Why string
	Value, Detail     string
	Ratio, Verdict    string
	Class             string
	SVG               template.HTML
}

func newBars(r *report.Report) bars {
	steps, why := slices.Clone(r.Steps), true
	if r.Turns != nil && !slices.ContainsFunc(r.Steps, func(s report.VariantResult) bool { return s.Capacity.Known() }) {
		for i := range steps { // no capacity was measured: show the work rates
			steps[i].Capacity, steps[i].Interval = steps[i].Work, steps[i].WorkInterval
		}
		why = false // the table says it
	}
	most := 0.0
	for _, s := range steps {
		if s.Capacity.Known() {
			most = max(most, float64(s.Capacity))
		}
		if s.Interval != nil {
			most = max(most, s.Interval.Hi)
		}
	}
	if most == 0 {
		return bars{}
	}
	x := newAxis(false, most)
	main := r.Columns()[1]
	out := bars{Note: main.Head + " " + main.Unit + "; the whisker is the 95% interval", Axis: axisSVG(x, x.ticks())}
	baseline := format.Unknown
	if steps[0].Verdict == report.Baseline {
		baseline = steps[0].Capacity
		out.Note += ", the dashed line the baseline"
	}
	for i, s := range steps {
		row := barRow{Name: s.Name, Change: s.Change, Why: s.Why, Value: format.Format(s.Capacity), Detail: format.Between(s.Interval), Class: "step"}
		if i > 0 && s.Ratio.Known() {
			row.Ratio = format.Times(s.Ratio)
		}
		if r.Turns != nil && row.Ratio != "" {
			row.Ratio += " work"
		}
		switch {
		case s.Invalid != "":
			row.Value, row.Detail, row.Class = "no result", s.Invalid, "none"
		case why && s.NoCapacity != "":
			row.Detail, row.Class = s.NoCapacityText(), "unjudged"
		case i == 0 && baseline.Known():
			row.Class = "baseline"
		}
		row.SVG = barSVG(x, s, baseline)
		out.Rows = append(out.Rows, row)
	}
	return out
}

// barSVG draws one bar, 22 px high.
func barSVG(x axis, s report.VariantResult, baseline format.Value) template.HTML {
	var b strings.Builder
	b.WriteString(`<svg class="bar" width="100%" height="22" aria-hidden="true">`)
	if s.Capacity.Known() {
		fmt.Fprintf(&b, `<rect y="4" height="14" rx="2" width="%.2f%%"/>`, x.percentOf(float64(s.Capacity)))
	}
	if baseline.Known() {
		at := x.percentOf(float64(baseline))
		fmt.Fprintf(&b, `<line class="reference" x1="%.2f%%" x2="%.2f%%" y1="0" y2="22"/>`, at, at)
	}
	if s.Interval != nil {
		lo, hi := x.percentOf(s.Interval.Lo), x.percentOf(s.Interval.Hi)
		fmt.Fprintf(&b, `<g class="whisker"><line x1="%.2f%%" x2="%.2f%%" y1="11" y2="11"/><line x1="%.2f%%" x2="%.2f%%" y1="6" y2="16"/><line x1="%.2f%%" x2="%.2f%%" y1="6" y2="16"/></g>`,
			lo, hi, lo, lo, hi, hi)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// axisSVG draws the axis below the rows.
func axisSVG(x axis, ticks []tick) template.HTML {
	var b strings.Builder
	b.WriteString(`<svg class="bar-axis" width="100%" height="18" aria-hidden="true">`)
	for i, t := range ticks {
		anchor := "middle"
		if i == 0 && x.percentOf(t.at) < 5 {
			anchor = "start"
		}
		thin := ""
		if i%2 == 1 {
			thin = ` class="every-other"`
		}
		fmt.Fprintf(&b, `<text%s x="%.2f%%" y="13" text-anchor="%s">%s</text>`, thin, x.percentOf(t.at), anchor, t.label)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// ratioSVG draws a row of ratios, 34 px high: a dot for each pair, a bar for the interval, and a
// line across it for the ratio.
func ratioSVG(row view.RatioRow, x axis) template.HTML {
	var b strings.Builder
	b.WriteString(`<svg class="strip" width="100%" height="34" aria-hidden="true">`)
	one := x.percentOf(1)
	fmt.Fprintf(&b, `<line class="reference" x1="%.2f%%" x2="%.2f%%" y1="0" y2="34"/>`, one, one)
	if i := row.Interval; i != nil {
		fmt.Fprintf(&b, `<rect x="%.2f%%" width="%.2f%%" y="3" height="28" rx="2"/>`, x.percentOf(i.Lo), x.percentOf(i.Hi)-x.percentOf(i.Lo))
	}
	if row.Ratio.Known() {
		at := x.percentOf(float64(row.Ratio))
		fmt.Fprintf(&b, `<line class="ratio-line" x1="%.2f%%" x2="%.2f%%" y1="1" y2="33"/>`, at, at)
	}
	for i, v := range row.Ratios {
		// different heights, so that dots do not hide each other
		fmt.Fprintf(&b, `<circle cx="%.2f%%" cy="%d" r="2.5"/>`, x.percentOf(v), 7+i*7%22)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}
