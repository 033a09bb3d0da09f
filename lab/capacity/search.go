package capacity

import (
	"math"
	"time"

	"dyno/lab/record"
)

// Search plans the runs that find the capacity of one target. A zero field means its documented
// default; SLO and Length are required. It keeps no state: the plan depends only on the runs, so an
// interrupted experiment continues where it stopped.
//
// It doubles the rate until the SLO is missed (or halves it when the first step misses), and then
// bisects. A miss is repeated in two cases: (1) the rate below it had ample headroom; (2) it would
// end the search. If both hold, it is repeated twice. Every other miss counts: a wrong turn costs
// less than a second run each time. A collapse, where the target fell far behind the offered rate,
// is not repeated.
type Search struct {
	SLO record.SLO
	// Start is the first rate, in 1/s. 0: 100.
	Start float64
	// Tolerance is the relative difference between the highest rate met and the lowest rate missed
	// at which the search ends. 0: 0.05; at least 0.01, the finest that a machine resolves.
	Tolerance float64
	// Length is the shortest measured time of a step. A step lasts until it has MinCompletions.
	Length time.Duration
	// Bracket, when set, holds the rates between which the capacity is expected: the search then
	// takes one sample within two to five runs instead of starting at Start.
	Bracket [2]float64
}

const (
	defaultStart     = 100 // per second: low enough for a slow service, seven doublings from a fast one
	defaultTolerance = 0.05
	leastTolerance   = 0.01
	// maxRuns ends any search: from 100/s to 10,000,000/s it takes 17 doublings and 5 bisections,
	// and each may be repeated.
	maxRuns = 48
	// maxDescents is how many steps below a missed start may fail: each goes further down than the
	// one before, the last to a 2,048th at most.
	maxDescents = 5
	// spare lengthens a step beyond the completions it needs, so that chance does not leave it
	// short: 5% is 2.2 standard deviations of 2,000 Poisson arrivals.
	spare = 1.05
	// collapsed is the share of the offered rate below which a target did not keep up, so that a
	// miss needs no second run.
	collapsed = 0.9
)

// Next returns the search's next step (Rate, Length; the caller adds role, variant and round), or
// done. Runs are all runs of this search so far, in order. Invalid runs are skipped, so their step
// is repeated; but a rate at which the load generator was the limit twice closes the bracket from
// above.
func (s Search) Next(runs []*record.Run) (step record.Step, done bool) {
	if len(runs) >= maxRuns {
		return record.Step{}, true
	}
	points := pointsOf(runs, s.SLO)
	if s.Bracket[0] > 0 && s.Bracket[1] > s.Bracket[0] {
		return s.nearby(points)
	}
	lo, hi := bracket(points)
	switch {
	case lo == nil && hi == nil:
		if s.Start <= 0 {
			return s.at(defaultStart), false
		}
		return s.at(s.Start), false
	case hi == nil:
		return s.at(lo.rate * 2), false
	case lo == nil:
		return s.descend(points)
	}
	narrow := hi.rate/lo.rate <= 1+s.tolerance()
	switch {
	case !hi.counts(2) && (lo.ample() || narrow), !hi.counts(3) && lo.ample() && narrow:
		return s.at(hi.rate), false
	case !narrow:
		return s.at(math.Sqrt(lo.rate * hi.rate)), false
	}
	return record.Step{}, true
}

// descend goes below a start that missed: to half of it, or directly to what the target achieved,
// and from there by factors of 2, 4, 8 and 16.
func (s Search) descend(points []point) (record.Step, bool) {
	if len(points) > maxDescents {
		return record.Step{}, true
	}
	lowest := points[0]
	next := lowest.rate / math.Exp2(max(1, float64(len(points)-1)))
	if a := lowest.carried(); len(points) == 1 && a > lowest.rate/64 {
		next = min(lowest.rate/2, a)
	}
	return s.at(next), false
}

// at is a step at a rate, long enough for the completions it needs.
func (s Search) at(rate float64) record.Step {
	rate = round(rate)
	length := s.Length
	if rate > 0 {
		length = max(length, time.Duration(spare*MinCompletions/rate*float64(time.Second)))
	}
	whole := (length + record.WindowLength - 1) / record.WindowLength * record.WindowLength
	return record.Step{Rate: rate, Length: whole}
}

func (s Search) tolerance() float64 {
	if s.Tolerance <= 0 {
		return defaultTolerance
	}
	return max(s.Tolerance, leastTolerance)
}

// round keeps four digits, the precision of every table.
func round(rate float64) float64 {
	if rate <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(rate))-3)
	if unit < 1 {
		return math.Round(rate*math.Round(1/unit)) / math.Round(1/unit)
	}
	return math.Round(rate/unit) * unit
}
