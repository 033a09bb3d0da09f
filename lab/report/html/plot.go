package html

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"dyno/lab/report/format"
)

// plot is a chart as inline SVG. It can be printed and needs no script. It scales with the page,
// because every position is a percentage (lines are in an inner SVG that stretches). Labels
// extend into the margin that the page leaves around the plot. The page's style determines the
// colours by class, so that they follow light and dark mode.
type plot struct {
	title          string // for screen readers
	xLabel, yLabel string
	x, y           axis
	xTicks         []tick // nil: round figures on the x axis
	lines          []polyline
	dots           []dot
	notes          []note // drawn below the dots
	band           *band  // drawn below everything else; nil: none
	small          bool   // one of many: few ticks, no axis names
}

// axis maps figures to percent of the plot's width or height.
type axis struct {
	lo, hi float64
	log    bool
}

// band is a range of the x axis.
type band struct{ lo, hi float64 }

type tick struct {
	at    float64
	label string
}

type polyline struct {
	class string
	xs    []float64
	ys    []float64
}

type dot struct {
	x, y  float64
	class string
	label string // drawn next to the dot
	title string // shown on hover
}

// note is a text at a point; it is drawn toward the middle of the plot.
type note struct {
	x, y float64
	text string
}

// newAxis returns an axis that spans the known values with a small margin. A linear axis also
// spans 0.
func newAxis(log bool, values ...float64) axis {
	a := axis{lo: math.Inf(1), hi: math.Inf(-1), log: log}
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || log && v <= 0 {
			continue
		}
		a.lo, a.hi = min(a.lo, v), max(a.hi, v)
	}
	switch {
	case a.lo > a.hi: // no known value
		a.lo, a.hi = 1, 10
	case log:
		a.lo, a.hi = a.lo/1.3, a.hi*1.3
	default:
		a.lo, a.hi = min(0, a.lo), a.hi*1.08
		if a.hi == a.lo {
			a.hi = a.lo + 1
		}
	}
	return a
}

// percentOf returns the position of v between the axis's ends, limited to [0, 100].
func (a axis) percentOf(v float64) float64 {
	lo, hi := a.lo, a.hi
	if a.log {
		lo, hi, v = math.Log(lo), math.Log(hi), math.Log(max(v, math.SmallestNonzeroFloat64))
	}
	return max(0, min(100, (v-lo)/(hi-lo)*100))
}

// evenly is the ratio of its ends up to which a logarithmic axis has equidistant ticks.
const evenly = 4

// ticks returns round figures on the axis: 1, 2 and 5 times powers of ten, only powers of ten if
// the axis spans many, or, on a linear or short axis, equidistant figures.
func (a axis) ticks() []tick {
	var out []tick
	if a.log && a.hi/a.lo > evenly {
		steps, every := []float64{1, 2, 5}, 1.0
		if a.hi/a.lo > 1000 {
			steps, every = []float64{1}, math.Ceil(math.Log10(a.hi/a.lo)/8)
		}
		for e := math.Floor(math.Log10(a.lo)); e <= math.Log10(a.hi); e += every {
			for _, s := range steps {
				if v := s * math.Pow(10, e); v >= a.lo && v <= a.hi {
					out = append(out, tick{v, format.Round(format.Value(v))})
				}
			}
		}
		return out
	}
	step := roundStep((a.hi - a.lo) / 5)
	for i := math.Ceil(a.lo / step); i*step <= a.hi; i++ {
		out = append(out, tick{i * step, format.Round(format.Value(i * step))})
	}
	return out
}

// short abbreviates thousands in a tick's label with k.
func (t tick) short() tick {
	if t.at >= 1000 {
		t.label = format.Digits(t.at/1000, 3) + "k"
	}
	return t
}

// fewTicks returns two to four round figures, with abbreviated labels.
func (a axis) fewTicks() (out []tick) {
	if a.log {
		all := a.ticks()
		for i := 0; i < len(all); i += (len(all) + 3) / 4 {
			out = append(out, all[i].short())
		}
		return out
	}
	step := roundStep((a.hi - a.lo) / 3)
	for i := math.Ceil(a.lo / step); i*step <= a.hi; i++ {
		out = append(out, tick{i * step, format.Round(format.Value(i * step))}.short())
	}
	return out
}

// roundStep returns the smallest of 1, 2, 5 x 10^n that is not below v.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, s := range []float64{1, 2, 5} {
		if s*power >= v*(1-1e-9) {
			return s * power
		}
	}
	return 10 * power
}

// SVG draws the plot.
func (p plot) SVG() template.HTML {
	var b strings.Builder
	esc := template.HTMLEscapeString
	yTicks, class := p.y.ticks(), "plot"
	if p.xTicks == nil {
		p.xTicks = p.x.ticks()
	}
	if p.small {
		class, yTicks, p.xTicks = "plot small", p.y.fewTicks(), p.x.fewTicks()
	}
	fmt.Fprintf(&b, `<div class="%s"><svg role="img" width="100%%" height="100%%"><title>%s</title>`, class, esc(p.title))
	fmt.Fprintf(&b, `<text class="axis-name" x="-56" y="-12">%s</text>`, esc(p.yLabel))
	fmt.Fprintf(&b, `<text class="axis-name" x="100%%" y="100%%" dy="36" text-anchor="end">%s</text>`, esc(p.xLabel))
	for _, t := range yTicks {
		y := 100 - p.y.percentOf(t.at)
		fmt.Fprintf(&b, `<line class="grid" x1="0" x2="100%%" y1="%.2f%%" y2="%.2f%%"/><text class="tick" x="-8" y="%.2f%%" dy="4" text-anchor="end">%s</text>`, y, y, y, esc(t.label))
	}
	for i, t := range p.xTicks {
		x := p.x.percentOf(t.at)
		thin := ""
		if i%2 == 1 {
			thin = " every-other" // hidden on narrow screens
		}
		fmt.Fprintf(&b, `<line class="grid" x1="%.2f%%" x2="%.2f%%" y1="0" y2="100%%"/><text class="tick%s" x="%.2f%%" y="100%%" dy="18" text-anchor="middle">%s</text>`, x, x, thin, x, esc(t.label))
	}
	if p.band != nil {
		lo, hi := p.x.percentOf(p.band.lo), p.x.percentOf(p.band.hi)
		fmt.Fprintf(&b, `<rect class="band" x="%.2f%%" width="%.2f%%" y="0" height="100%%"/>`, lo, hi-lo)
	}
	b.WriteString(`<svg width="100%" height="100%" viewBox="0 0 100 100" preserveAspectRatio="none" overflow="visible">`)
	for _, l := range p.lines {
		fmt.Fprintf(&b, `<polyline class="line %s" points="%s"/>`, esc(l.class), p.points(l))
	}
	b.WriteString(`</svg>`)
	for _, n := range p.notes {
		x, y := p.x.percentOf(n.x), 100-p.y.percentOf(n.y)
		anchor, dx, dy := "start", 8, 18
		if x > 50 {
			anchor, dx = "end", -8
		}
		if y > 50 {
			dy = -9
		}
		fmt.Fprintf(&b, `<text class="note" x="%.2f%%" y="%.2f%%" dx="%d" dy="%d" text-anchor="%s">%s</text>`, x, y, dx, dy, anchor, esc(n.text))
	}
	for _, d := range p.dots {
		x, y := p.x.percentOf(d.x), 100-p.y.percentOf(d.y)
		anchor, dx := "start", 9
		if x > 70 {
			anchor, dx = "end", -9
		}
		fmt.Fprintf(&b, `<g class="dot %s"><title>%s</title><circle cx="%.2f%%" cy="%.2f%%" r="5"/><text x="%.2f%%" y="%.2f%%" dx="%d" dy="-7" text-anchor="%s">%s</text></g>`,
			esc(d.class), esc(d.title), x, y, x, y, dx, anchor, esc(d.label))
	}
	b.WriteString(`</svg></div>`)
	return template.HTML(b.String())
}

// points returns a line's points on a canvas of 100 x 100.
func (p plot) points(l polyline) string {
	var b strings.Builder
	for i := range l.xs {
		if !format.Value(l.xs[i]).Known() || !format.Value(l.ys[i]).Known() {
			continue
		}
		fmt.Fprintf(&b, "%.3f,%.3f ", p.x.percentOf(l.xs[i]), 100-p.y.percentOf(l.ys[i]))
	}
	return strings.TrimSuffix(b.String(), " ")
}

// join gives dots that overlap a common label.
func (p *plot) join() {
	const nearX, nearY = 2.5, 6.0 // percent of the plot: a label's height and half its width
	for i := range p.dots {
		a := &p.dots[i]
		if a.label == "" {
			continue
		}
		labels := []string{a.label}
		for j := i + 1; j < len(p.dots); j++ {
			b := &p.dots[j]
			if b.label != "" && math.Abs(p.x.percentOf(a.x)-p.x.percentOf(b.x)) < nearX && math.Abs(p.y.percentOf(a.y)-p.y.percentOf(b.y)) < nearY {
				labels, b.label = append(labels, b.label), ""
			}
		}
		a.label = strings.Join(labels, ", ")
	}
}
