package html

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"

	"dyno/lab/report/curve"
	"dyno/lab/report/figure"
)

// flowCells draws the flow of each variant's offers, all to one scale.
func flowCells(p *curve.Panel) (out []Cell) {
	most := 0.0
	for _, f := range p.Flows {
		for _, values := range append(f.Parts[:], f.Offered) {
			for _, v := range values {
				if v > most { // not of what is unknown
					most = v
				}
			}
		}
	}
	scale := newAxis(false, most)
	classes := [3]string{"accepted", "delivered", "refused"}
	for _, f := range p.Flows {
		pl := plot{title: f.Name + ": accepted, delivered and refused against the offered rate", small: true, x: scale, y: scale}
		pl.lines = append(pl.lines, polyline{class: "offered", xs: []float64{0, most}, ys: []float64{0, most}})
		for i, ys := range f.Parts {
			pl.lines = append(pl.lines, polyline{class: classes[i], xs: f.Offered, ys: ys})
		}
		out = append(out, Cell{Name: f.Name, SVG: pl.SVG()})
	}
	return out
}

// queuePlot draws the measured queues with the predictions: p99 against the share dropped.
func queuePlot(p *curve.Panel) template.HTML {
	out := plot{title: "p99 against the share of offers dropped, measured and predicted", xLabel: "dropped, % of offers", yLabel: "p99, ms"}
	var xs, ys []float64
	var best []curve.Queue
	for i, q := range p.Queues {
		d := dot{x: q.DropRate * 100, y: q.P99Ms, class: "measured", label: q.Name}
		if p.Numbered() {
			d.label = strconv.Itoa(i + 1)
		}
		if q.OnFront {
			d.class, best = "measured best", append(best, q)
		}
		d.title = fmt.Sprintf("%s: capacity %s, p99 %s ms, %s dropped", q.Name, roomWords(q.N), figure.Format(figure.Value(q.P99Ms)), figure.Percent(figure.Value(q.DropRate)))
		xs, ys, out.dots = append(xs, d.x), append(ys, d.y), append(out.dots, d)
		if t := q.Predicted; t != nil {
			d := dot{x: t.Blocking * 100, y: t.P99Ms, class: "predicted",
				title: fmt.Sprintf("theory for %s: p99 %s ms, %s dropped", q.Name, figure.Format(figure.Value(t.P99Ms)), figure.Percent(figure.Value(t.Blocking)))}
			xs, ys, out.dots = append(xs, d.x), append(ys, d.y), append(out.dots, d)
			out.lines = append(out.lines, polyline{class: "pull", xs: []float64{q.DropRate * 100, d.x}, ys: []float64{q.P99Ms, d.y}})
		}
	}
	slices.SortFunc(best, func(a, b curve.Queue) int {
		return cmp.Or(cmp.Compare(a.DropRate, b.DropRate), cmp.Compare(b.P99Ms, a.P99Ms))
	})
	front := polyline{class: "front"}
	for _, q := range best {
		front.xs, front.ys = append(front.xs, q.DropRate*100), append(front.ys, q.P99Ms)
	}
	out.lines = append(out.lines, front)
	out.x, out.y = newAxis(false, xs...), newAxis(true, ys...)
	out.join()
	return out.SVG()
}

func roomWords(n int) string {
	if n <= 0 {
		return "an unknown number"
	}
	return figure.Count(int64(n))
}
