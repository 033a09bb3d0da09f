package view

import (
	"cmp"
	"math"
	"slices"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Ratios are the pairs of a comparison by one metric.
type Ratios struct {
	Metric string
	Rows   []RatioRow
}

// RatioRow is one comparison of two sides, pair by pair.
type RatioRow struct {
	Name     string
	Ratios   []float64 // none: the ratio is of two estimates
	Ratio    format.Value
	Interval *format.Interval
	Verdict  string
}

// BlockRatios collects the blocks of a comparison by turns, by each metric.
func BlockRatios(e *record.Experiment, metrics []compare.Comparison) (out []Ratios) {
	for _, m := range metrics {
		over := m.B + " over " + m.A
		one := Ratios{Metric: m.Metric, Rows: []RatioRow{{over, nil, format.Measured(m.Ratio), format.IntervalOf(m.Interval), m.Verdict}}}
		if read := blockReaders[m.Metric]; read != nil {
			one.Rows[0].Ratios = blockRatios(e, read, record.RoleMeasure, m.B, m.A)
			again := blockRatios(e, read, record.RoleControl, m.A, m.A)
			if len(again) > 0 {
				one.Rows = append(one.Rows, RatioRow{m.A + "'s twin over " + m.A, again, format.Unknown, format.IntervalOf(m.NoiseFloor), ""})
			}
		}
		out = append(out, one)
	}
	return out
}

// blockReaders read a metric from a work slice.
var blockReaders = map[string]func(*record.Slice) float64{compare.MetricWork: (*record.Slice).PerS, compare.MetricCPU: (*record.Slice).CPUMicros}

// blockRatios are b, in a role, over a, as measured, in each block in which both have a work slice.
func blockRatios(e *record.Experiment, read func(*record.Slice) float64, role, b, a string) (out []float64) {
	base := map[[2]int]float64{}
	for _, s := range e.SlicesOf(record.SliceWork, func(s *record.Slice) bool {
		return s.Variant == a && s.Role == record.RoleMeasure && s.Invalid == ""
	}) {
		base[[2]int{s.Generation, s.Block}] = read(s)
	}
	for _, s := range e.SlicesOf(record.SliceWork, func(s *record.Slice) bool { return s.Variant == b && s.Role == role && s.Invalid == "" }) {
		if of := base[[2]int{s.Generation, s.Block}]; of > 0 && read(s) > 0 {
			out = append(out, read(s)/of)
		}
	}
	return out
}

// rate50Ratio compares two variants by the rates at which half of their slices meet the SLO.
func rate50Ratio(e *record.Experiment, a, b string, peak func(variant string) float64) compare.Comparison {
	of := func(variant string) capacity.Estimate {
		trials, _ := capacity.TrialsOf(e.Slices, record.RoleMeasure, variant)
		return capacity.FitTrials(trials, peak(variant))
	}
	x, y := of(a), of(b)
	if x.Rate50 <= 0 || y.Rate50 <= 0 {
		return compare.Comparison{Schema: compare.Schema, Metric: compare.MetricCapacity, A: a, B: b, Verdict: compare.NotDecided}
	}
	return compare.OfEstimates(compare.MetricCapacity, a, b, math.Log(y.Rate50/x.Rate50), math.Hypot(x.Rate50Error, y.Rate50Error), min(x.Trials, y.Trials))
}

// TurnMetrics compares two variants by every metric of their slices, the requested one first.
func TurnMetrics(e *record.Experiment, a, b string, peak func(string) float64) []compare.Comparison {
	of := func(metric string) compare.Comparison {
		if metric == compare.MetricCapacity {
			return rate50Ratio(e, a, b, peak)
		}
		return compare.Between(e, metric, a, b, nil)
	}
	metrics := []string{compare.MetricWork, compare.MetricCPU}
	if e.SLO.Bounded() && peak(a) > 0 && peak(b) > 0 { // at one equal rate there is no capacity
		metrics = slices.Insert(metrics, 0, compare.MetricCapacity)
	}
	asked := cmp.Or(e.Metric, metrics[0])
	all := []compare.Comparison{of(asked)}
	for _, metric := range metrics {
		if metric == asked {
			continue
		}
		if c := of(metric); c.Verdict != compare.Invalid { // there are slices for it
			all = append(all, c)
		}
	}
	return all
}
