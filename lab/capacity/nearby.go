package capacity

import (
	"math"

	"dyno/lab/record"
)

const (
	// width is the ratio of the bracket's ends to a capacity that a search found: a search errs by
	// up to 10% on a noisy machine.
	width = 1.12
	// maxSampleRuns ends a sample whose bracket was wrong: its last run is eight half-widths from
	// the bracket's middle, at 2.5 or 0.4 times the middle.
	maxSampleRuns = 7
)

// Around is the bracket for samples that follow a search which found perSecond, in 1/s.
func Around(perSecond float64) [2]float64 {
	return [2]float64{perSecond / width, perSecond * width}
}

// nearby takes one sample within a bracket: its middle, then the quarter point on the side of the
// crossing. One met and one missed rate are enough to read it. In simulation a third run does not
// improve it, since the remaining error is the difference between processes. While all runs are on
// one side the search continues that way, beyond the bracket if necessary.
func (s Search) nearby(points []point) (record.Step, bool) {
	lo, hi := bracket(points)
	middle := math.Sqrt(s.Bracket[0] * s.Bracket[1])
	quarter := math.Sqrt(s.Bracket[1] / middle)
	n := 0
	for _, p := range points {
		n += max(len(p.judged), 1)
	}
	switch {
	case n == 0:
		return s.at(middle), false
	case lo != nil && hi != nil || n >= maxSampleRuns:
		return record.Step{}, true
	case hi == nil:
		return s.at(middle * math.Pow(quarter, reach(n))), false
	}
	return s.at(middle / math.Pow(quarter, reach(n))), false
}

// reach is how many quarters of the bracket the n-th step is from its middle: 1, 2, 4, 7, 11, 16.
func reach(n int) float64 { return float64(1 + n*(n-1)/2) }
