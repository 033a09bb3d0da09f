package sides

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/curve"
	"dyno/lab/report/figure"
	"dyno/lab/report/words"
)

// chartID is the load/latency curve's, in reports and on the page of a comparison.
const chartID = "chart-latency"

// Page shows two results side by side.
type Page struct {
	A, B       *Side
	Answer     string
	Warnings   []string
	Rows       []figureRow
	At         string // the load at which the figures were read
	Conditions []condition
	Texts      []textDifference
	Functions  []functionTable
	Chart      *curve.Chart // nil: neither side has a curve
	Data       template.JS
}

// figureRow is a figure of both sides.
type figureRow struct {
	key              string // a metric, or a key of report.Figures
	Name, Unit       string
	A, B             string
	DetailA, DetailB string
	Ratio            figure.Value // B over A
	Detail           string
}

// Beside sets two results side by side. Of variants that one experiment measured in turns, Conclude
// sets the conclusion.
func Beside(a, b *Side) (*Page, error) {
	if a.Name == b.Name && !a.chosen && !b.chosen {
		a.first()
	}
	a.OtherB, b.OtherA = b.Ref(), a.Ref()
	a.alike = a.Title() == b.Title()
	b.alike = a.alike
	p := &Page{A: a, B: b, Rows: figureRows(a.figures(), b.figures()), Conditions: conditions(a, b), Texts: texts(a, b), Functions: functionTables(a, b), Chart: curves(a, b)}
	p.At = "p99 and what a request costs are measured at each side's own capacity: in each round, the highest rate that met the SLO."
	if a.Turns != nil && b.Turns != nil {
		p.At = "What a request costs is read from work slices, p99 from the slices that met the SLO: medians."
	}
	if a.load() != nil && b.load() != nil {
		p.At = "Both are single loads: p99 and what a request costs are read at the rate that was offered."
	}
	switch {
	case p.One():
		p.Answer = "This is one result beside itself; choose another variant or another experiment."
	case !p.InTurns():
		p.Answer = quotient(p)
		p.Warnings = append(p.Warnings, reasons(a, b)...)
	}
	if p.Chart == nil {
		return p, nil
	}
	data, err := json.Marshal(struct {
		Charts []*curve.Chart `json:"charts"`
	}{[]*curve.Chart{p.Chart}})
	p.Data = template.JS(data) // json.Marshal escapes <, so the data cannot end its element
	return p, err
}

// One reports whether both sides are the same result.
func (p *Page) One() bool { return p.A.Name == p.B.Name && p.A.Variant == p.B.Variant }

// InTurns reports whether one experiment measured both variants in turns.
func (p *Page) InTurns() bool {
	return !p.One() && p.A.Name == p.B.Name && (p.A.Kind == record.KindLadder || p.A.Kind == record.KindCompare)
}

// Conclude sets the conclusion of variants that were measured in turns: ratios with intervals, and
// the answer in words.
func (p *Page) Conclude(all []compare.Comparison, answer string) {
	p.Answer = answer
	for i, c := range all {
		p.Warnings = append(p.Warnings, c.Warnings...)
		switch {
		case c.Verdict == compare.Invalid:
			if i == 0 {
				p.Answer = "No ratio: " + answer
			}
			p.ratio(c, figure.Unknown, "")
		case c.Interval != nil:
			p.ratio(c, figure.Value(c.Ratio), figure.BetweenRatios(figure.IntervalOf(c.Interval)))
		}
	}
}

// ratio replaces the quotient of the medians by the result of the turns.
func (p *Page) ratio(c compare.Comparison, ratio figure.Value, detail string) {
	for i := range p.Rows {
		if p.Rows[i].key == rowOf(c.Metric) {
			p.Rows[i].Ratio, p.Rows[i].Detail = ratio, detail
		}
	}
}

// rowOf is the key of a metric's row.
func rowOf(metric string) string { return cmp.Or(report.MetricFigures[metric], metric) }

// quotient compares the two results in one sentence.
func quotient(p *Page) string {
	for _, metric := range []string{compare.MetricCapacity, compare.MetricWork, compare.MetricP99, compare.MetricCPU} {
		for _, row := range p.Rows {
			if row.key != rowOf(metric) || !row.Ratio.Known() {
				continue
			}
			return fmt.Sprintf("%s of B is %.2f times that of A: %s against %s%s. They were not measured in turns, so the ratio has no interval.",
				strings.ToUpper(row.Name[:1])+row.Name[1:], float64(row.Ratio), row.B, row.A, unitWords(row.Unit))
		}
	}
	return "The two have no figure in common that could be compared."
}

func unitWords(unit string) string {
	if unit == "" {
		return ""
	}
	return " " + unit
}

// reasons are the reasons why a quotient is not a result.
func reasons(a, b *Side) (out []string) {
	if a.Name == b.Name {
		out = append(out, "The two variants were measured in one experiment, but not in turns: a drift of the machine looks like a difference, so the ratio has no interval. dyno compare measures them in turns.")
	} else {
		out = append(out, "The two were not measured in turns: a change of the machine or of its other load in between looks like a change of the program, so the ratio has no interval; dyno compare measures two variants in turns.")
	}
	if different := a.Machine.CPU != b.Machine.CPU || a.Machine.Cores != b.Machine.Cores || a.Machine.Kernel != b.Machine.Kernel; different {
		out = append(out, "They were measured on different machines, or under different kernels.")
	}
	if a.Machine.WakeLatencyHeld != b.Machine.WakeLatencyHeld || a.Machine.Awake != b.Machine.Awake {
		out = append(out, "Only one of them kept the CPUs from halting, or they did so in different ways.")
	}
	if a.SLO.String() != b.SLO.String() {
		out = append(out, "They have different SLOs, and a capacity is valid only for its own SLO.")
	}
	for _, s := range []*Side{a, b} {
		if s.Invalid != "" {
			out = append(out, fmt.Sprintf("%s has no valid result: %s", s.Letter, s.Invalid))
		}
	}
	fa, fb := a.figures().speed, b.figures().speed
	if fa > 0 && fb > 0 && math.Abs(float64(fb/fa)-1) > speedChange {
		out = append(out, fmt.Sprintf("The machine did a fixed amount of work %.2f times as fast before the runs of B as before those of A.", float64(fb/fa)))
	}
	return out
}

// speedChange is the relative change of the machine's speed above which it is reported.
const speedChange = 0.05

// curves draws both sides' load curves in one chart.
func curves(a, b *Side) *curve.Chart {
	c := &curve.Chart{ID: chartID, Title: "Latency", XName: "offered, per second", YName: "ms", Log: true, Bound: words.P99Bound(a.SLO)}
	if a.SLO.String() != b.SLO.String() {
		c.Bound = figure.Unknown
	}
	xsA, _, _ := a.curve()
	xsB, _, _ := b.curve()
	xs := slices.Concat(xsA, xsB)
	slices.Sort(xs)
	xs = slices.Compact(xs)
	if len(xs) == 0 {
		return nil
	}
	c.X = xs
	for hue, s := range []*Side{a, b} {
		at, p99, p50 := s.curve()
		if len(at) > 0 {
			c.Groups = append(c.Groups, curve.Group{Name: s.Letter + " " + s.Heading(), Hue: hue,
				Lines: []curve.Line{{Name: "p99", Y: spread(xs, at, p99)}, {Name: "p50", Y: spread(xs, at, p50)}}})
		}
	}
	return c
}

// spread places figures at their positions on an axis.
func spread(xs, at, figures []float64) []float64 {
	out := make([]float64, len(xs))
	for i := range out {
		out[i] = math.NaN()
	}
	for i, x := range at {
		if place, ok := slices.BinarySearch(xs, x); ok {
			out[place] = figures[i]
		}
	}
	return out
}
