package view

import (
	"math"

	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Pauses is a histogram of a variant's GC pauses.
type Pauses struct {
	Variant string
	Bars    []record.PauseBucket // bounds of 1, 2 and 5 times a power of ten, without gaps
	Count   int64
}

// longestPause is the bound of a pause without a recorded one, ms.
const longestPause = 10_000

// PausesOf returns the histograms of the variants at their capacity, all with the same bounds.
func PausesOf(e *record.Experiment, atCapacity func(variant string) []*record.Run) (out []Pauses) {
	counts := map[string]map[int]int64{}
	lo, hi := math.MaxInt, math.MinInt
	for _, name := range e.VariantNames() {
		n := countPauses(atCapacity(name))
		if len(n) == 0 {
			n = countPauses(saturated(e, name))
		}
		for at := range n {
			lo, hi = min(lo, at), max(hi, at)
		}
		counts[name] = n
	}
	for _, name := range e.VariantNames() {
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

func saturated(e *record.Experiment, variant string) []*record.Run {
	return e.Select(func(r *record.Run) bool {
		return r.Spec.Role == record.RoleSaturate && r.Spec.Variant == variant && r.Invalid == ""
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
func (p Pauses) Longest() format.Value { return format.Value(p.Bars[p.last()].UpToMs) }

func (p Pauses) last() (at int) {
	for i, b := range p.Bars {
		if b.Count > 0 {
			at = i
		}
	}
	return at
}
