package html

import "dyno/lab/report/view"

// flowCells draws, for each variant, what became of its requests; all charts have the same scale.
func flowCells(p *view.Panel) (out []Cell) {
	most := 0.0
	for _, f := range p.Flows {
		for _, values := range append(f.Parts[:], f.Offered) {
			for _, v := range values {
				if v > most { // false for unknown values (NaN)
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
