package html

import (
	"html/template"

	"dyno/lab/report/view"
)

// closedNote returns the note on the percentiles of a closed loop; empty: the load is open.
func closedNote(l *view.SingleLoad) string {
	if l.Run.Load.Model == "closed" {
		return view.ClosedNote
	}
	return ""
}

// loadPlot draws the latency distributions; each further nine of the percentile has the same
// space.
func loadPlot(l *view.SingleLoad) template.HTML {
	p := plot{title: "Latency by percentile", xLabel: "percentile", yLabel: "ms"}
	var xs, ys []float64
	for _, t := range l.Tails {
		line := polyline{class: "tail-" + t.Name}
		for _, point := range t.Points {
			line.xs, line.ys = append(line.xs, 1/(1-point.Share)), append(line.ys, point.Ms)
		}
		p.lines = append(p.lines, line)
		xs, ys = append(xs, line.xs...), append(ys, line.ys...)
	}
	p.x, p.y = newAxis(true, xs...), newAxis(true, ys...)
	p.x.lo = 1
	label := "0"
	for at := 1.0; at <= p.x.hi; at *= 10 {
		p.xTicks = append(p.xTicks, tick{at, label})
		switch label {
		case "0":
			label = "90"
		case "90":
			label = "99"
		case "99":
			label = "99.9"
		default:
			label += "9"
		}
	}
	return p.SVG()
}
