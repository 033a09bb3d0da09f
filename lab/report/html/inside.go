package html

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// pausesSVG draws the histogram of GC pauses. The heights are logarithmic, so that a few long
// pauses are visible next to many short ones.
func pausesSVG(p view.Pauses) template.HTML {
	most := 0.0
	for _, b := range p.Bars {
		most = max(most, float64(b.Count))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<div class="plot small pauses"><svg role="img" width="100%%" height="100%%"><title>%s: GC pauses by their length</title>`, template.HTMLEscapeString(p.Variant))
	width := 100 / float64(len(p.Bars))
	for i, bar := range p.Bars {
		x := float64(i) * width
		if bar.Count > 0 {
			height := 100 * math.Log1p(float64(bar.Count)) / math.Log1p(most)
			fmt.Fprintf(&b, `<rect x="%.2f%%" width="%.2f%%" y="%.2f%%" height="%.2f%%"><title>%s up to %s</title></rect>`,
				x, width*0.9, 100-height, height, format.Plural(int(bar.Count), "pause"), format.Pause(bar.UpToMs))
		}
		if every := (len(p.Bars) + 2) / 3; i%every == every-1 {
			fmt.Fprintf(&b, `<text class="tick" x="%.2f%%" y="100%%" dy="16" text-anchor="middle">%s</text>`, x+width*0.95, format.Pause(bar.UpToMs))
		}
	}
	b.WriteString(`</svg></div>`)
	return template.HTML(b.String())
}

// stageSVG draws a stage's mean and, within it, the mean time spent in none of its children, both
// relative to the longest stage of its transaction.
func stageSVG(s view.StageRow) template.HTML {
	if !(s.Whole > 0) {
		return ""
	}
	share := func(ms float64) float64 { return 100 * max(0, min(1, ms/s.Whole)) }
	return template.HTML(fmt.Sprintf(`<svg class="stage" width="100%%" height="14" aria-hidden="true"><rect class="all" y="2" height="10" width="%.2f%%"/><rect y="2" height="10" width="%.2f%%"/></svg>`,
		share(s.Latency.Mean), share(s.Self)))
}
