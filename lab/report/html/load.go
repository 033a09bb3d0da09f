package html

import (
	"html/template"

	"dyno/lab/report/view"
)

// closedNote is the note at the percentiles of a closed loop.
func closedNote(l *view.Load) string {
	if l.Run.Load.Model == "closed" {
		return view.ClosedNote
	}
	return ""
}

// loadPlot draws the distributions with equal space for each further nine.
func loadPlot(l *view.Load) template.HTML {
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
