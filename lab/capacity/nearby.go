package capacity

import (
	"math"

	"dyno/lab/record"
)

const (
	// width is how far from a capacity that a search found its bracket reaches: a search is out by up to
	// 10% on a noisy machine.
	width = 1.12
	// maxDatumRuns ends a datum whose bracket was wrong: the last of them lies eight times the bracket's
	// half-width away, at 2.5 times its middle or at 0.4 of it.
	maxDatumRuns = 7
)

// Around is the bracket for data that follow a search which found this rate, in 1/s.
func Around(perSecond float64) [2]float64 {
	return [2]float64{perSecond / width, perSecond * width}
}

// nearby takes one datum within a bracket: its middle, then the quarter point on the side where the
// crossing lies. As soon as one rate was met and one missed the datum can be read; in simulation a third
// run does not make it any better, for what is left is the difference between one process and the next.
// While all runs fall on one side the search goes on that way, past the bracket's end if need be.
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
	case lo != nil && hi != nil || n >= maxDatumRuns:
		return record.Step{}, true
	case hi == nil:
		return s.at(middle * math.Pow(quarter, reach(n))), false
	}
	return s.at(middle / math.Pow(quarter, reach(n))), false
}

// reach is how many quarters of the bracket the n-th step from its middle goes: 1, 2, 4, 7, 11, 16.
func reach(n int) float64 { return float64(1 + n*(n-1)/2) }
