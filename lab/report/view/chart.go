package view

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Chart plots figures against the offered rate, one group of lines per variant.
type Chart struct {
	ID     string         `json:"id"`
	Title  string         `json:"title"`
	X      format.Numbers `json:"x"` // the union of the groups' rates
	Groups []Group        `json:"groups"`
	XName  string         `json:"x_name"`
	YName  string         `json:"y_name"`
	Log    bool           `json:"log"`
	Bound  format.Value   `json:"bound"` // the SLO's line; null: none
	Legend string         `json:"-"`     // says what the lines are
}

// Group is a variant's lines; they are shown and hidden together.
type Group struct {
	Name  string `json:"name"`
	Hue   int    `json:"hue"`  // its colour
	Dash  int    `json:"dash"` // distinguishes groups of one colour
	Lines []Line `json:"lines"`
}

// Line has a figure for each of the chart's X; null where the variant was not measured.
type Line struct {
	Name string         `json:"name"`
	Y    format.Numbers `json:"y"`
}

// nearRates is the relative difference below which two offered rates count as one: Poisson arrivals
// of 2,000 requests differ by 2%.
const nearRates = 0.02

// point is a variant's results at about one offered rate: medians over runs.
type point struct {
	offered float64
	runs    []*record.Run
}

// median reads a figure from each run; NaN if none has it.
func (p point) median(read func(*record.Run) float64) float64 { return format.Median(p.sorted(read)) }

// interval is that of the median, nil for fewer than six runs.
func (p point) interval(read func(*record.Run) float64) *format.Interval {
	return format.IntervalOf(compare.MedianInterval(p.sorted(read)))
}

// sorted reads a figure from each run that has it.
func (p point) sorted(read func(*record.Run) float64) (all []float64) {
	for _, r := range p.runs {
		if v := read(r); !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}

// points groups a variant's valid runs by offered rate, in order.
func points(e *record.Experiment, variant string) []point {
	runs := e.Select(func(r *record.Run) bool {
		return r.Spec.Variant == variant && r.Spec.Role != record.RoleAblation && !r.Spec.Diagnostic() && r.Invalid == "" && plannedRate(r) > 0
	})
	slices.SortStableFunc(runs, func(a, b *record.Run) int { return cmp.Compare(plannedRate(a), plannedRate(b)) })
	var out []point
	for _, r := range runs {
		if n := len(out); n > 0 && plannedRate(r) <= out[n-1].offered*(1+nearRates) {
			out[n-1].runs = append(out[n-1].runs, r)
			continue
		}
		out = append(out, point{offered: plannedRate(r), runs: []*record.Run{r}})
	}
	for i := range out {
		out[i].offered = format.Significant(out[i].median(plannedRate), 4)
	}
	return out
}

// plannedRate is the rate that was planned or, without a plan, offered. The offered rate varies a
// little around a planned one.
func plannedRate(r *record.Run) float64 {
	if r.Spec.Rate > 0 {
		return r.Spec.Rate
	}
	return r.Totals.OfferedPerS
}

// reading names a figure of a run.
type reading struct {
	name string
	read func(*record.Run) float64
}

// newChart draws readings of every variant against the offered rate.
func newChart(e *record.Experiment, c Chart, readings ...reading) Chart {
	at := map[string]map[float64]point{}
	xs := map[float64]bool{}
	for _, name := range e.VariantNames() {
		at[name] = map[float64]point{}
		for _, p := range points(e, name) {
			at[name][p.offered] = p
			xs[p.offered] = true
		}
	}
	c.X = slices.Sorted(maps.Keys(xs))
	for _, name := range e.VariantNames() {
		if len(at[name]) == 0 {
			continue
		}
		g := Group{Name: name, Hue: len(c.Groups)}
		for _, rd := range readings {
			line := Line{Name: rd.name, Y: make(format.Numbers, len(c.X))}
			for i, x := range c.X {
				line.Y[i] = math.NaN()
				if p, ok := at[name][x]; ok {
					line.Y[i] = p.median(rd.read)
				}
			}
			g.Lines = append(g.Lines, line)
		}
		c.Groups = append(c.Groups, g)
	}
	return c
}

// drop removes the rates at which no line has a figure.
func (c *Chart) drop() {
	var keep []int
	for i := range c.X {
		if slices.ContainsFunc(c.Groups, func(g Group) bool {
			return slices.ContainsFunc(g.Lines, func(l Line) bool { return !math.IsNaN(l.Y[i]) })
		}) {
			keep = append(keep, i)
		}
	}
	only := func(from format.Numbers) format.Numbers {
		out := make(format.Numbers, len(keep))
		for i, k := range keep {
			out[i] = from[k]
		}
		return out
	}
	for _, g := range c.Groups {
		for i := range g.Lines {
			g.Lines[i].Y = only(g.Lines[i].Y)
		}
	}
	c.X = only(c.X)
}

// latencyChart is the load/latency curve of every variant.
func latencyChart(e *record.Experiment) Chart {
	name := "response"
	if e.SLO.On == record.OnDelivery {
		name = "delivery"
	}
	return newChart(e, Chart{
		ID: "chart-latency", Title: "Latency", XName: "offered, per second", YName: name + " time, ms", Log: true, Bound: format.P99Bound(e.SLO),
		Legend: "p99 as a line, p50 dashed, against the offered rate",
	},
		reading{"p99", p99Of},
		reading{"p50", p50Of})
}

// flowChart shows the accepted, delivered and refused rates.
func flowChart(e *record.Experiment) Chart {
	return newChart(e, Chart{
		ID: "chart-flow", Title: "Accepted, delivered, refused", XName: "offered, per second", YName: "per second", Bound: format.Unknown,
		Legend: "Accepted as a line, delivered dashed, refused dotted, against the offered rate",
	},
		reading{"accepted", acceptedOf},
		reading{"delivered", deliveredOf},
		reading{"refused", refusedOf})
}

func p50Of(r *record.Run) float64 { return format.Positive(r.SLO.Observed(r.Totals).P50) }
func p99Of(r *record.Run) float64 { return format.Positive(r.SLO.Observed(r.Totals).P99) }

// acceptedOf is the rate of successful responses.
func acceptedOf(r *record.Run) float64 {
	if r.Totals.Completed == 0 {
		return 0
	}
	return r.Totals.ThroughputPerS * float64(max(0, r.Totals.Ended-r.Totals.Failed)) / float64(r.Totals.Completed)
}

// refusedOf is the rate of requests that were refused without an error, over the measured time.
func refusedOf(r *record.Run) float64 {
	refused, windows := int64(0), 0
	for _, w := range r.Series {
		if w.Phase == record.PhaseMeasure {
			refused += w.Client.Refused
			windows++
		}
	}
	if windows == 0 {
		return math.NaN()
	}
	return float64(refused) / float64(windows) / record.WindowLength.Seconds()
}
