package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"dyno/lab/record"
)

// Pauses is a histogram of a variant's GC pauses.
type Pauses struct {
	Variant string
	Bars    []record.PauseBucket // bounds of 1, 2 and 5 times a power of ten, without gaps
	Count   int64
}

// longestPause is the bound of a pause without a recorded one, ms.
const longestPause = 10_000

// pauses returns the histograms of the variants at their capacity, all with the same bounds.
func pauses(e *record.Experiment, a analysis) (out []Pauses) {
	counts := map[string]map[int]int64{}
	lo, hi := math.MaxInt, math.MinInt
	for _, name := range variantNames(e) {
		n := countPauses(atCapacity(e, a, name))
		if len(n) == 0 {
			n = countPauses(saturated(e, name))
		}
		for at := range n {
			lo, hi = min(lo, at), max(hi, at)
		}
		counts[name] = n
	}
	for _, name := range variantNames(e) {
		if len(counts[name]) == 0 {
			continue
		}
		p := Pauses{Variant: name}
		for at := lo; at <= hi; at++ {
			p.Bars = append(p.Bars, record.PauseBucket{UpToMs: pauseBound(at), Count: counts[name][at]})
			p.Count += counts[name][at]
		}
		out = append(out, p)
	}
	return out
}

// countPauses sums the runs' pauses by the index of their bound.
func countPauses(runs []*record.Run) map[int]int64 {
	n := map[int]int64{}
	for _, r := range runs {
		if r.Totals.Server == nil {
			continue
		}
		for _, b := range r.Totals.Server.GCPauses {
			if b.Count > 0 {
				n[pauseStep(b.UpToMs)] += b.Count
			}
		}
	}
	return n
}

// saturated returns the runs that saturated a variant.
func saturated(e *record.Experiment, variant string) []*record.Run {
	return e.Select(func(r *record.Run) bool {
		return r.Step.Role == record.RoleSaturate && r.Step.Variant == variant && r.Invalid == ""
	})
}

// pauseStep is the index of the first bound at or above ms in 1, 2, 5, 10, ... us, from 0.
func pauseStep(ms float64) int {
	if !(ms < longestPause) {
		ms = longestPause
	}
	step := 0
	for pauseBound(step) < ms*(1-1e-9) {
		step++
	}
	return step
}

// pauseBound is the bound of an index, in ms.
func pauseBound(step int) float64 {
	return [...]float64{1, 2, 5}[step%3] * math.Pow(10, float64(step/3-3))
}

// Longest is the bound above the longest pause, ms.
func (p Pauses) Longest() Value { return Value(p.Bars[p.last()].UpToMs) }

func (p Pauses) last() (at int) {
	for i, b := range p.Bars {
		if b.Count > 0 {
			at = i
		}
	}
	return at
}

// SVG draws the bars; their heights are logarithmic, so that a few long pauses are visible beside
// many short ones.
func (p Pauses) SVG() template.HTML {
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
				x, width*0.9, 100-height, height, plural(int(bar.Count), "pause"), pauseWords(bar.UpToMs))
		}
		if every := (len(p.Bars) + 2) / 3; i%every == every-1 {
			fmt.Fprintf(&b, `<text class="tick" x="%.2f%%" y="100%%" dy="16" text-anchor="middle">%s</text>`, x+width*0.95, pauseWords(bar.UpToMs))
		}
	}
	b.WriteString(`</svg></div>`)
	return template.HTML(b.String())
}

// pauseWords format a bound: 50 us, 2 ms, 1 s.
func pauseWords(ms float64) string {
	switch {
	case ms < 0.9995:
		return round(Value(ms*1000)) + " us"
	case ms < 999.5:
		return round(Value(ms)) + " ms"
	}
	return round(Value(ms/1000)) + " s"
}
