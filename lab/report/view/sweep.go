package view

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"dyno/lab/capacity"
	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Sweep is the result of a list of declared loads.
type Sweep struct {
	Rows   []Row
	Panels []*Panel
	Ramps  []Ramp
}

// Panel is the variants with the same offered rates, which can be compared.
type Panel struct {
	Name  string // common part of their names; empty: there is one panel
	Flows []Flow // flow of each variant's requests; none: a chart holds them all

	variants []record.Variant
	short    map[string]string // variant -> its name within the panel
}

// Row is a variant under one offered rate; medians over its rounds, per second.
type Row struct {
	Variant   string       `json:"variant"`
	Offered   format.Value `json:"offered_per_s"`
	Accepted  format.Value `json:"accepted_per_s"`
	Delivered format.Value `json:"delivered_per_s"`
	Refused   format.Value `json:"refused_per_s"`
	P50       format.Value `json:"p50_ms"`
	P99       format.Value `json:"p99_ms"`
	CPU       format.Value `json:"cpu_us_per_request"`

	P99Interval *format.Interval `json:"p99_interval,omitempty"` // 95%, of the median of six rounds or more
}

// Inflection is a moment at which rate, p99 or GC pauses changed.
type Inflection struct {
	Run   string
	AtS   float64 // s from the first measured instant
	Joint bool    // rate, p99 and GC together
	Text  string
}

// Flow is what became of a variant's requests, per second, by the offered rate.
type Flow struct {
	Name    string
	Offered []float64
	Parts   [3][]float64 // accepted, delivered, refused; NaN: unknown
}

// ConstantRates is the experiment without the runs under a rising rate, and without those for a
// diagnosis, whose latency includes queueing or profiling.
func ConstantRates(e *record.Experiment) *record.Experiment {
	out := *e
	out.Runs = e.Select(func(r *record.Run) bool { return r.Spec.RampTo == 0 && !r.Spec.Diagnostic() })
	return &out
}

// NewSweep reads the declared loads, and the charts of the panels. Many means that there are
// more variants than one chart can show.
func NewSweep(all *record.Experiment) (s *Sweep, charts []Chart, many bool) {
	e := ConstantRates(all)
	s = &Sweep{}
	for _, name := range e.VariantNames() {
		for _, p := range points(e, name) {
			s.Rows = append(s.Rows, newSweepRow(name, p))
		}
	}
	groups := comparable(e)
	many = len(groups) > 1 || len(groups) == 1 && len(groups[0]) > MostLines
	for i, variants := range groups {
		p := newPanel(e, variants)
		if many {
			p.flows(e)
			charts = append(charts, p.latencyChart(e, i))
		}
		s.Panels = append(s.Panels, p)
	}
	if !many {
		charts = append(charts, latencyChart(e), flowChart(e))
	}
	s.Ramps = ramps(all)
	return s, charts, many
}

// MostLines is the number of variants that a chart can show distinctly: it has eight colours.
const MostLines = 8

// comparable groups the variants by their offered rates.
func comparable(e *record.Experiment) (groups [][]record.Variant) {
	index := map[string]int{}
	for _, name := range e.VariantNames() {
		rates := map[float64]bool{}
		for _, r := range e.Runs {
			if r.Spec.Variant == name {
				rates[r.Spec.Rate] = true
			}
		}
		if len(rates) == 0 {
			continue // it was not reached
		}
		v, ok := e.Variant(name)
		if !ok {
			v.Name = name
		}
		key := fmt.Sprint(slices.Sorted(maps.Keys(rates)))
		i, known := index[key]
		if !known {
			i = len(groups)
			index[key], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], v)
	}
	return groups
}

// axisValue is a variant's value on one axis of the sweep.
type axisValue struct{ axis, value string }

// valuesOf are a variant's values in the order of the axes, which its name keeps.
func valuesOf(v record.Variant) (out []axisValue) {
	for _, part := range strings.Split(v.Name, ",") {
		axis, _, _ := strings.Cut(part, "=")
		if value, ok := v.Values[axis]; ok {
			out = append(out, axisValue{axis, value})
		}
	}
	return out
}

// String formats a number with its axis, and a name alone: workers 8, ring.
func (a axisValue) String() string {
	if a.numeric() {
		return a.axis + " " + a.value
	}
	return a.value
}

func (a axisValue) numeric() bool {
	_, err := strconv.ParseFloat(a.value, 64)
	return err == nil
}

// newPanel names the variants of a group by their differences.
func newPanel(e *record.Experiment, variants []record.Variant) *Panel {
	p := &Panel{short: map[string]string{}}
	var common []string
	for _, a := range valuesOf(variants[0]) {
		if len(variants) < len(e.Variants) && !slices.ContainsFunc(variants, func(v record.Variant) bool { return v.Values[a.axis] != a.value }) {
			common = append(common, a.axis)
			p.Name = strings.TrimPrefix(p.Name+", "+a.String(), ", ")
		}
	}
	for _, v := range variants {
		p.variants = append(p.variants, v)
		var names []string
		for _, a := range valuesOf(v) {
			if !slices.Contains(common, a.axis) {
				names = append(names, a.String())
			}
		}
		if p.short[v.Name] = strings.Join(names, ", "); len(names) == 0 {
			p.short[v.Name] = cmp.Or(p.Name, v.Name)
		}
	}
	return p
}

func newSweepRow(variant string, p point) Row {
	return Row{
		Variant: variant, Offered: format.Value(p.median(offeredRate)),
		Accepted:  format.Value(p.median(acceptedOf)),
		Delivered: format.Value(p.median(deliveredOf)),
		Refused:   format.Value(p.median(refusedOf)),
		P50:       format.Value(p.median(p50Of)),
		P99:       format.Value(p.median(p99Of)),
		CPU: format.Value(p.median(func(r *record.Run) float64 {
			if r.Totals.Server == nil {
				return math.NaN()
			}
			return format.Positive(r.Totals.Server.CPUMicrosPerRequest)
		})),
		P99Interval: p.interval(p99Of),
	}
}

// offeredRate is the rate that was offered: random gaps make it differ a little from the planned rate.
func offeredRate(r *record.Run) float64 { return format.Positive(r.Totals.OfferedPerS) }

// deliveredOf is the rate of deliveries; unknown without any.
func deliveredOf(r *record.Run) float64 {
	if r.Totals.Delivered+r.Totals.Undelivered == 0 {
		return math.NaN()
	}
	return r.Totals.DeliveredPerS
}

// latencyChart is the p99 of the panel's variants; those that agree on the first axis share a
// colour.
func (p *Panel) latencyChart(e *record.Experiment, index int) Chart {
	c := latencyChart(e)
	c.ID = fmt.Sprintf("chart-latency-%d", index)
	if p.Name != "" {
		c.Title += ", " + p.Name
	}
	c.Legend = "p99 against the offered rate"
	var groups []Group
	hues, dashes := map[string]int{}, map[int]int{}
	for _, g := range c.Groups {
		short, ok := p.short[g.Name]
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(short, ", ")
		hue, known := hues[first]
		if !known {
			hue = len(hues)
			hues[first] = hue
		}
		g.Name, g.Lines, g.Hue, g.Dash = short, g.Lines[:1], hue, dashes[hue]
		dashes[hue]++
		groups = append(groups, g)
	}
	c.Groups = groups
	c.drop()
	return c
}

// mostInflections is the number of inflections listed.
const mostInflections = 40

// Inflections returns the moments that capacity.Inflections finds in every valid run, except those
// under a rising rate, which have their own table. Joint ones come first; left is the number not
// listed.
func Inflections(e *record.Experiment) (out []Inflection, left int) {
	for _, r := range ConstantRates(e).Runs {
		if r.Invalid != "" {
			continue
		}
		joint, alone := capacity.Inflections(observedSeries(r))
		for _, i := range joint {
			out = append(out, Inflection{format.Run(r), seconds(i.At - r.Begin), true, i.Text})
		}
		for _, i := range alone {
			out = append(out, Inflection{format.Run(r), seconds(i.At - r.Begin), false, i.Text})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Joint && !out[j].Joint })
	shown := min(len(out), mostInflections)
	return out[:shown], len(out) - shown
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// flows reads the flow of each variant's requests.
func (p *Panel) flows(e *record.Experiment) {
	for _, v := range p.variants {
		f := Flow{Name: p.short[v.Name]}
		for _, pt := range points(e, v.Name) {
			f.Offered = append(f.Offered, pt.median(offeredRate))
			for i, read := range []func(*record.Run) float64{acceptedOf, deliveredOf, refusedOf} {
				f.Parts[i] = append(f.Parts[i], pt.median(read))
			}
		}
		p.Flows = append(p.Flows, f)
	}
}

// RowColumns are the columns of the table of a sweep.
var RowColumns = []format.Column[Row]{
	{Head: "variant", Short: "variant", Cell: func(r Row) string { return r.Variant }},
	rowColumn("offered", "per second", "offered/s", func(r Row) format.Value { return r.Offered }),
	rowColumn("accepted", "per second", "accepted/s", func(r Row) format.Value { return r.Accepted }),
	rowColumn("delivered", "per second", "delivered/s", func(r Row) format.Value { return r.Delivered }),
	rowColumn("refused", "per second", "refused/s", func(r Row) format.Value { return r.Refused }),
	rowColumn("p50", "ms", "p50 ms", func(r Row) format.Value { return r.P50 }),
	{Head: "p99", Unit: "ms", Short: "p99 ms", Number: true, Cell: func(r Row) string { return format.Format(r.P99) + format.Space(format.Between(r.P99Interval)) }},
	{Head: "CPU", Unit: "us per request", Short: "CPU us", Number: true, Roomy: true, Cell: func(r Row) string { return format.Format(r.CPU) }},
}

func rowColumn(head, unit, short string, read func(Row) format.Value) format.Column[Row] {
	return format.Column[Row]{Head: head, Unit: unit, Short: short, Number: true, Cell: func(r Row) string { return format.Format(read(r)) }}
}
