package capacity

import (
	"fmt"
	"math"
	"slices"

	"dyno/lab/record"

	"gonum.org/v1/gonum/stat"
)

// belowConfirmed is the factor applied to a capacity whose confirmation missed the SLO: the true
// value is below that rate by an unknown amount.
const belowConfirmed = 0.99

// ofSlices reads a variant's capacity from its slices. Runs are the variant's confirmations at the
// rate that the slices found.
func (res *Result) ofSlices(all []record.Slice, runs []*record.Run) {
	mine := func(s *record.Slice) bool { return s.Role == record.RoleMeasure && s.Variant == res.Variant }
	limited, tried, lowest := 0, 0, math.Inf(1)
	why := map[string]int{} // reasons why slices are no trials
	for i := range all {
		s := &all[i]
		if s.Kind != record.SliceSLO || !mine(s) {
			continue
		}
		point := ratePointOfSlice(s)
		res.Steps = append(res.Steps, point)
		tried++
		lowest = min(lowest, s.Rate)
		if s.Limited != "" {
			limited++
		}
		if point.Invalid != "" {
			why[point.Invalid]++
		}
	}
	res.PeakWorkPerS, res.PeakWorkInterval = peakWork(all, mine)
	trials, left := TrialsOf(all, record.RoleMeasure, res.Variant)
	if left > 0 {
		res.Warnings = append(res.Warnings, fmt.Sprintf("%d of %s left out: other processes or the hypervisor used the CPUs", left, plural(tried, "slice", "slices")))
	}
	e := FitTrials(trials, res.PeakWorkPerS)
	res.Trials = e.Trials
	from, to, highest := math.Inf(1), 0.0, 0.0 // the rates of the trials, and the highest that met the SLO
	for _, v := range trials {
		from, to = min(from, v.Rate), max(to, v.Rate)
		if v.Met {
			highest = max(highest, v.Rate)
		}
	}
	often := ""
	for _, w := range sorted(why) {
		if why[w] > why[often] {
			often = w
		}
	}
	switch {
	case tried == 0:
		res.Reason = "nothing was measured"
		if res.PeakWorkPerS > 0 {
			res.Reason = "only the peak work rate was measured"
			if len(res.SLO.Latency)+len(res.SLO.Gauges) == 0 {
				res.Reason = "the SLO bounds no latency and no gauge, so " + res.Reason
			}
		}
	case 2*limited > tried:
		res.CapacityPerS, res.AtLeast, res.Bound = highest, highest > 0, BoundGenerator
		res.Reason = fmt.Sprintf("the load generator was the limit in %d of %s", limited, plural(tried, "slice", "slices"))
	case e.Trials == 0:
		res.Reason = "no rate could be judged (lowest tried " + PerS(lowest) + ")"
		if often != "" {
			res.Reason += ": " + often
		}
	case e.AtMost():
		res.Reason = "no slice met the SLO (lowest tried " + PerS(from) + ")" + refusals(all, mine)
	case e.AtLeast() || e.Rate95 > to:
		res.CapacityPerS, res.AtLeast = highest, true
		res.Reason = "the SLO was met up to the highest rate tried, " + PerS(highest)
	default:
		res.Valid = true
		res.CapacityPerS, res.Interval = e.Rate95, e.Rate95Interval
		res.Rate50PerS, res.Rate50Interval = e.Rate50, e.Rate50Interval
		res.confirm(runs)
		res.Grows = res.grows(all, mine)
	}
}

// refusals says what was served where requests failed in most of the SLO slices, as behind a rate
// limiter, whose limit is the capacity; empty: they did not.
func refusals(all []record.Slice, mine func(*record.Slice) bool) string {
	const many = 0.05 // of the requests
	counted, served := 0, []float64{}
	for i := range all {
		s := &all[i]
		if s.Kind != record.SliceSLO || !mine(s) || WhyExcluded(s) != "" {
			continue
		}
		counted++
		if s.ErrorShare() >= many {
			served = append(served, s.PerS())
		}
	}
	if 2*len(served) <= counted {
		return ""
	}
	slices.Sort(served)
	return ": requests failed in most of them, and " + PerS(served[len(served)/2]) + " were served"
}

// raisePeak makes the peak at least the capacity: what met the SLO was carried. A closed loop of
// few connections may carry less than the open model.
func (res *Result) raisePeak() {
	if res.PeakWorkPerS <= 0 || res.PeakWorkPerS >= res.CapacityPerS {
		return
	}
	res.PeakWorkPerS = res.CapacityPerS
	if in := res.PeakWorkInterval; in != nil {
		res.PeakWorkInterval = &[2]float64{in[0], max(in[1], res.CapacityPerS)}
	}
}

// ratePointOfSlice reads an SLO slice as a point of the curve.
func ratePointOfSlice(s *record.Slice) RatePoint {
	p := RatePoint{
		Role: s.Role, Round: s.Block, OfferedPerS: s.Rate, ThroughputPerS: s.PerS(),
		P50Ms: s.Latency.P50, P99Ms: s.Latency.P99, P999Ms: s.Latency.P999, Errors: s.ErrorShare(),
		CPUPerRequest: s.CPUMicros(), Gauges: s.Gauges, Met: s.Met, Misses: s.Misses, Invalid: WhyExcluded(s),
	}
	if s.Length > 0 {
		p.CPU = s.TargetCPU / s.Length.Seconds()
	}
	return p
}

// peakWork is the peak work rate: the geometric mean of the work slices' medians, each over five
// slices in a row within a generation.
func peakWork(all []record.Slice, mine func(*record.Slice) bool) (perSecond float64, in *[2]float64) {
	const inARow = 5
	var logs, row []float64
	generation := 0
	flush := func() {
		if len(row) > 0 {
			slices.Sort(row)
			logs = append(logs, (row[(len(row)-1)/2]+row[len(row)/2])/2)
			row = nil
		}
	}
	for i := range all {
		s := &all[i]
		if s.Kind != record.SliceWork || !mine(s) || s.Invalid != "" || s.PerS() <= 0 {
			continue
		}
		if s.Generation != generation || len(row) == inARow {
			flush()
			generation = s.Generation
		}
		row = append(row, math.Log(s.PerS()))
	}
	if len(row) >= inARow/2+1 || len(logs) == 0 {
		flush()
	}
	if len(logs) == 0 {
		return 0, nil
	}
	return math.Exp(stat.Mean(logs, nil)), interval(logs)
}

// confirm checks the capacity against the longer runs at that rate. One that met the SLO raises
// nothing; one that missed it shows what no slice can: a queue that never drains.
func (res *Result) confirm(runs []*record.Run) {
	broke := math.Inf(1)
	for _, r := range runs {
		if !r.Spec.Confirm || r.Invalid != "" {
			continue
		}
		v := checkSLO(r, res.SLO, leastCompletions(r))
		if v.Met || v.Inconclusive != "" {
			continue
		}
		broke = min(broke, r.Spec.Rate)
		res.Warnings = append(res.Warnings, fmt.Sprintf("a hold of %.0f s at %s missed: %s; the capacity is below that", r.Length.Seconds(), PerS(r.Spec.Rate), v.Misses[0]))
	}
	if broke > res.CapacityPerS {
		return
	}
	res.CapacityPerS = broke * belowConfirmed
	res.Interval = &[2]float64{min(res.Interval[0], res.CapacityPerS), min(res.Interval[1], broke)}
}
