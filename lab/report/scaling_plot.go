package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"dyno/lab/capacity/fit"
)

// smooth is the number of points of a drawn curve.
const smooth = 120

// Drawn reports whether there are enough points for a curve.
func (c ScalingCurve) Drawn() bool { return len(c.Points) > 1 }

// Missing reports whether the SLO was missed at some point.
func (c ScalingCurve) Missing() bool {
	return slices.ContainsFunc(c.Points, func(p ScalingPoint) bool { return p.Judged && !p.Met })
}

// Plot draws a curve's points and the models through them.
func (c ScalingCurve) Plot() template.HTML {
	var ns, xs []float64
	for _, p := range c.Points {
		ns, xs = append(ns, float64(p.Concurrency)), append(xs, float64(p.PerS))
	}
	pl := plot{title: c.Variant + ": units per second against concurrency", xLabel: "concurrency, units in flight", yLabel: "units per second",
		x: newAxis(true, ns...), y: newAxis(false, xs...), xTicks: ticksAt(ns)}
	for _, r := range c.Ranked {
		pl.lines = append(pl.lines, c.line(r.Curve, pl.x, pl.y))
	}
	for i, p := range c.Points {
		class := "measured"
		if p.Judged && !p.Met {
			class = "missed"
		}
		pl.dots = append(pl.dots, dot{x: ns[i], y: xs[i], class: class,
			title: fmt.Sprintf("%s at concurrency %d, p95 %s ms", rate(p.PerS), p.Concurrency, figure(p.P95))})
	}
	return pl.SVG()
}

// line is a model over the plotted span; parts outside the plot are not drawn.
func (c ScalingCurve) line(of fit.Curve, x, y axis) polyline {
	l := polyline{class: "fit-" + of.Model}
	for i := range smooth + 1 {
		n := math.Exp(math.Log(x.lo) + (math.Log(x.hi)-math.Log(x.lo))*float64(i)/smooth)
		if v := of.At(n, float64(c.Units)); v >= y.lo && v <= y.hi {
			l.xs, l.ys = append(l.xs, n), append(l.ys, v)
		}
	}
	return l
}

// ticksAt marks the measured concurrencies; if there are many, those that do not overlap.
func ticksAt(ns []float64) (out []tick) {
	const apart = 1.25
	last := 0.0
	for _, n := range ns {
		if n >= apart*last {
			out, last = append(out, tick{n, round(Value(n))}), n
		}
	}
	return out
}

// TailPlot draws the tail of every variant against concurrency, with the SLO's bound.
func (s *Scaling) TailPlot() template.HTML {
	var ns, ms []float64
	pl := plot{title: s.tail + " of a unit against concurrency", xLabel: "concurrency, units in flight", yLabel: s.tail + " of a unit, ms"}
	seen := map[float64]bool{}
	for i, c := range s.Curves {
		l := polyline{class: fmt.Sprintf("hue%d", i%mostLines)}
		for _, p := range c.Points {
			n, v := float64(p.Concurrency), float64(p.tail(s.tail))
			if !Value(v).Known() {
				continue
			}
			l.xs, l.ys = append(l.xs, n), append(l.ys, v)
			if ms = append(ms, v); !seen[n] {
				seen[n], ns = true, append(ns, n)
			}
		}
		pl.lines = append(pl.lines, l)
	}
	if s.bound.Known() {
		ms = append(ms, float64(s.bound))
	}
	pl.x, pl.y = newAxis(true, ns...), newAxis(true, ms...)
	if s.bound.Known() {
		pl.lines = append(pl.lines, polyline{class: "bound", xs: []float64{pl.x.lo, pl.x.hi}, ys: []float64{float64(s.bound), float64(s.bound)}})
		pl.notes = append(pl.notes, note{x: pl.x.lo, y: float64(s.bound), text: "SLO"})
	}
	return pl.SVG()
}

// tail reads the quantile by its label; a quantile in between uses p99, the next higher one.
func (p ScalingPoint) tail(label string) Value {
	switch label {
	case "p50":
		return p.P50
	case "p95", "p90":
		return p.P95
	}
	return p.P99
}

// Tail is the quantile that is drawn.
func (s *Scaling) Tail() string { return s.tail }

// Hue is the colour of the i-th variant.
func (s *Scaling) Hue(i int) string { return fmt.Sprintf("hue%d", i%mostLines) }

// Table is the table of all points, for the page.
func (s *Scaling) Table() (t struct {
	Head   []string
	Number []bool
	Rows   [][]string
}) {
	t.Head, t.Number, t.Rows = s.scalingTable()
	return t
}
