package report

import (
	"fmt"
	"html/template"
	"strings"

	"dyno/lab/record"
)

// bars is the chart of the steps: a row each, with its interval as a whisker and the baseline, where
// there is one, as a line through all of them. The rows are HTML, so that they wrap on a phone; only the bars are SVG.
type bars struct {
	Rows []barRow
	Axis template.HTML
	Note string
}

type barRow struct {
	Name, Change, Why string
	Value, Detail     string
	Ratio             string
	Class             string
	SVG               template.HTML
}

func newBars(r *Report) bars {
	most := 0.0
	for _, s := range r.Steps {
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
	out := bars{Note: r.columns()[1].Unit + "; the whisker is the 95% interval", Axis: barAxis(x)}
	baseline := Unknown
	if r.Kind == record.KindLadder || r.Kind == record.KindCompare {
		baseline = r.Steps[0].Capacity
		out.Note += ", the dashed line the baseline"
	}
	for i, s := range r.Steps {
		row := barRow{Name: s.Name, Change: s.Change, Why: s.Why, Value: figure(s.Capacity), Detail: between(s.Interval), Class: "step"}
		if i > 0 && s.Ratio.Known() {
			row.Ratio = times(s.Ratio)
		}
		switch {
		case s.Invalid != "":
			row.Value, row.Detail, row.Class = "no result", s.Invalid, "none"
		case i == 0 && baseline.Known():
			row.Class = "baseline"
		}
		row.SVG = barSVG(x, s, baseline)
		out.Rows = append(out.Rows, row)
	}
	return out
}

// barSVG draws one bar, 22 px high.
func barSVG(x axis, s Step, baseline Value) template.HTML {
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

func barAxis(x axis) template.HTML {
	var b strings.Builder
	b.WriteString(`<svg class="bar-axis" width="100%" height="18" aria-hidden="true">`)
	for i, t := range x.ticks() {
		anchor := "middle"
		if i == 0 {
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
