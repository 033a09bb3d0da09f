package html

import (
	"fmt"
	"html/template"
	"math"

	"dyno/lab/capacity/scaling"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// smooth is the number of line segments that approximate a curve.
const smooth = 120

// scalingPlot draws a curve's measured points and the models fitted to them.
func scalingPlot(c view.ScalingCurve) template.HTML {
	var ns, xs []float64
	for _, p := range c.Points {
		ns, xs = append(ns, float64(p.Concurrency)), append(xs, float64(p.PerS))
	}
	pl := plot{title: c.Variant + ": units per second against concurrency", xLabel: "concurrency, units in flight", yLabel: "units per second",
		x: newAxis(true, ns...), y: newAxis(false, xs...), xTicks: ticksAt(ns)}
	for _, r := range c.Ranked {
		pl.lines = append(pl.lines, fitLine(c, r.Curve, pl.x, pl.y))
	}
	for i, p := range c.Points {
		class := "measured"
		if p.Judged && !p.Met {
			class = "missed"
		}
		pl.dots = append(pl.dots, dot{x: ns[i], y: xs[i], class: class,
			title: fmt.Sprintf("%s at concurrency %d, p95 %s ms", format.Rate(p.PerS), p.Concurrency, format.Format(p.P95))})
	}
	return pl.SVG()
}

// fitLine returns the line of a model over the plot's x axis, without the parts that leave the
// plot.
func fitLine(c view.ScalingCurve, of scaling.Curve, x, y axis) polyline {
	l := polyline{class: "fit-" + of.Model}
	for i := range smooth + 1 {
		n := math.Exp(math.Log(x.lo) + (math.Log(x.hi)-math.Log(x.lo))*float64(i)/smooth)
		if v := of.At(n); v >= y.lo && v <= y.hi {
			l.xs, l.ys = append(l.xs, n), append(l.ys, v)
		}
	}
	return l
}

// ticksAt returns ticks at the measured concurrencies, except those whose labels would overlap.
func ticksAt(ns []float64) (out []tick) {
	const apart = 1.25
	last := 0.0
	for _, n := range ns {
		if n >= apart*last {
			out, last = append(out, tick{n, format.Round(format.Value(n))}), n
		}
	}
	return out
}

// tailPlot draws the tail latency of every variant over concurrency, with the SLO's bound.
func tailPlot(s *view.Scaling) template.HTML {
	var ns, ms []float64
	pl := plot{title: s.Tail + " of a unit against concurrency", xLabel: "concurrency, units in flight", yLabel: s.Tail + " of a unit, ms"}
	seen := map[float64]bool{}
	for i, c := range s.Curves {
		l := polyline{class: hueOf(i)}
		for _, p := range c.Points {
			n, v := float64(p.Concurrency), float64(p.Quantile(s.Tail))
			if !format.Value(v).Known() {
				continue
			}
			l.xs, l.ys = append(l.xs, n), append(l.ys, v)
			if ms = append(ms, v); !seen[n] {
				seen[n], ns = true, append(ns, n)
			}
		}
		pl.lines = append(pl.lines, l)
	}
	if s.Bound.Known() {
		ms = append(ms, float64(s.Bound))
	}
	pl.x, pl.y = newAxis(true, ns...), newAxis(true, ms...)
	if s.Bound.Known() {
		pl.lines = append(pl.lines, polyline{class: "bound", xs: []float64{pl.x.lo, pl.x.hi}, ys: []float64{float64(s.Bound), float64(s.Bound)}})
		pl.notes = append(pl.notes, note{x: pl.x.lo, y: float64(s.Bound), text: "SLO"})
	}
	return pl.SVG()
}

// hueOf returns the class with the colour of the i-th variant.
func hueOf(i int) string { return fmt.Sprintf("hue%d", i%view.MostLines) }
