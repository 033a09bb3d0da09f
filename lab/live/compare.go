package live

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
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

// comparePage shows two results side by side.
type comparePage struct {
	A, B       *side
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

// compare shows any two results.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a, err := s.side(r.Context(), "A", q.Get("a"))
	if err != nil {
		refuse(w, err)
		return
	}
	b, err := s.side(r.Context(), "B", q.Get("b"))
	if err != nil {
		refuse(w, err)
		return
	}
	if a.Name == b.Name && !a.chosen && !b.chosen {
		a.first()
	}
	a.OtherB, b.OtherA = b.Ref(), a.Ref()
	a.alike = a.Title() == b.Title()
	b.alike = a.alike
	p := comparePage{A: a, B: b, Rows: figureRows(a.figures(), b.figures()), Conditions: conditions(a, b), Texts: texts(a, b), Functions: functionTables(a, b), Chart: curves(a, b)}
	p.At = "p99 and what a request costs are measured at each side's own capacity: in each round, the highest rate that met the SLO."
	if a.Turns != nil && b.Turns != nil {
		p.At = "What a request costs is read from work slices, p99 from the slices that met the SLO: medians."
	}
	if a.load() != nil && b.load() != nil {
		p.At = "Both are single loads: p99 and what a request costs are read at the rate that was offered."
	}
	if err := s.say(r, &p); err != nil {
		refuse(w, err)
		return
	}
	if p.Chart != nil {
		data, err := json.Marshal(struct {
			Charts []*curve.Chart `json:"charts"`
		}{[]*curve.Chart{p.Chart}})
		if err != nil {
			fail(w, err)
			return
		}
		p.Data = template.JS(data) // json.Marshal escapes <, so the data cannot end its element
	}
	show(w, http.StatusOK, "compare", p)
}

// refuse responds with an error; an error of the address is the client's.
func refuse(w http.ResponseWriter, err error) {
	var wrong errSide
	if errors.As(err, &wrong) {
		show(w, http.StatusBadRequest, "fail", failPage{"This cannot be compared", err.Error()})
		return
	}
	fail(w, err)
}

// say sets the conclusion of the comparison. Variants that one experiment measured in turns have a
// ratio with an interval; all others have only a quotient, with the reason.
func (s *Server) say(r *http.Request, p *comparePage) error {
	a, b := p.A, p.B
	if a.Name == b.Name && a.Variant == b.Variant {
		p.Answer = "This is one result beside itself; choose another variant or another experiment."
		return nil
	}
	if inTurns(a, b) {
		all, words, err := s.reports.between(r.Context(), a.Name, a.Variant, b.Variant)
		if err != nil {
			return err
		}
		p.Answer = words
		for i, c := range all {
			p.Warnings = append(p.Warnings, c.Warnings...)
			switch {
			case c.Verdict == compare.Invalid:
				if i == 0 {
					p.Answer = "No ratio: " + words
				}
				p.ratio(c, figure.Unknown, "")
			case c.Interval != nil:
				p.ratio(c, figure.Value(c.Ratio), fmt.Sprintf("[%.2f, %.2f]", c.Interval[0], c.Interval[1]))
			}
		}
		return nil
	}
	p.Answer = quotient(p)
	p.Warnings = append(p.Warnings, reasons(a, b)...)
	return nil
}

// inTurns reports whether one experiment measured both in turns.
func inTurns(a, b *side) bool {
	return a.Name == b.Name && (a.Kind == record.KindLadder || a.Kind == record.KindCompare)
}

// ratio replaces the quotient of the medians by the result of the turns.
func (p *comparePage) ratio(c compare.Comparison, ratio figure.Value, detail string) {
	for i := range p.Rows {
		if p.Rows[i].key == rowOf(c.Metric) {
			p.Rows[i].Ratio, p.Rows[i].Detail = ratio, detail
		}
	}
}

// rowOf is the key of a metric's row.
func rowOf(metric string) string { return cmp.Or(report.MetricFigures[metric], metric) }

// quotient compares the two results in one sentence.
func quotient(p *comparePage) string {
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
func reasons(a, b *side) (out []string) {
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
	for _, s := range []*side{a, b} {
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
func curves(a, b *side) *curve.Chart {
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
	for hue, s := range []*side{a, b} {
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
