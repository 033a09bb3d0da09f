package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"dyno/lab/record"
)

// Concurrency plans the runs that find the capacity of a job whose load is a number of units in
// flight: the highest throughput that meets the SLO, and the lowest concurrency that reaches it.
// SLO and Length are required. It keeps no state: the position is read from the runs.
//
// Higher concurrency raises the throughput until another limit is reached; then it raises only the
// latency, and in the end lowers the throughput. The search therefore doubles until the SLO is
// missed or two doublings brought no gain, and then tries values between. A miss is repeated before
// it counts. With Listed, only those are tried.
type Concurrency struct {
	SLO        record.SLO
	Start, Max int           // units in flight; zero Start means 1, zero Max means MaxConcurrency
	Listed     []int         // units in flight that are tried, instead of a search; nil: a search
	Length     time.Duration // measured time of a run; zero means until the job ends
}

// MaxConcurrency is the default upper bound of a search. Most servers treat a client with more
// requests in flight as an attack.
const MaxConcurrency = 256

const (
	// alike is the share below the maximum that still counts as equal to it: two runs of the same
	// program differ by about this much.
	alike = 0.03
	// fine is the ratio of neighbouring concurrencies below which no value between them is tried.
	fine = 1.5
	// maxRuns ends any search: 8 doublings and 5 values between, each of which may be repeated.
	maxRuns = 48
)

// Peak is the throughput of a job at the best concurrency tried.
type Peak struct {
	PerS        float64
	Concurrency int
}

// Next returns the search's next step, or done. Runs are all runs of this search so far, in order.
// Invalid runs are skipped, so their step is repeated.
func (s Concurrency) Next(runs []*record.Run) (step record.RunSpec, done bool) {
	if len(runs) >= maxRuns {
		return record.RunSpec{}, true
	}
	points := pointsOf(runs, s.SLO)
	if i := slices.IndexFunc(points, func(p point) bool { return p.missed() && len(p.judged) < 2 }); i >= 0 {
		return s.at(points[i].load), false
	}
	switch {
	case len(s.Listed) > 0:
		return s.next(points)
	case len(points) == 0:
		return s.at(max(1, s.Start)), false
	}
	best := peakOf(points)
	if best < 0 { // every concurrency missed: a lower one may meet the latency bound
		if lowest := points[0].load; lowest > 1 {
			return s.at(lowest / 2), false
		}
		return record.RunSpec{}, true
	}
	last := points[len(points)-1]
	if n := last.load; !last.missed() && n < s.most() && n < 4*points[best].load {
		return s.at(min(2*n, s.most())), false
	}
	return s.between(points, best)
}

// next returns the first listed concurrency that was not tried.
func (s Concurrency) next(points []point) (record.RunSpec, bool) {
	for _, n := range s.Listed {
		if !slices.ContainsFunc(points, func(p point) bool { return p.load == n }) {
			return s.at(n), false
		}
	}
	return record.RunSpec{}, true
}

// between tries values on both sides of the best, the lower side first: it needs fewer resources.
func (s Concurrency) between(points []point, best int) (record.RunSpec, bool) {
	sides := [][2]int{{best - 1, best}, {best, best + 1}}
	for _, side := range sides {
		if side[0] < 0 || side[1] >= len(points) {
			continue
		}
		lo, hi := points[side[0]].load, points[side[1]].load
		middle := int(math.Round(math.Sqrt(float64(lo) * float64(hi))))
		if float64(hi) > fine*float64(lo) && lo < middle && middle < hi {
			return s.at(middle), false
		}
	}
	return record.RunSpec{}, true
}

func (s Concurrency) most() int { return cmp.Or(s.Max, MaxConcurrency) }

// at is a run with n units in flight.
func (s Concurrency) at(n int) record.RunSpec {
	return record.RunSpec{Closed: true, Connections: n, Length: s.Length}
}

// PeakOf reads the highest throughput from the runs of one search, or of one round. Ok is false
// when every run missed the SLO.
func PeakOf(runs []*record.Run, slo record.SLO) (peak Peak, ok bool, warnings []string) {
	if ofSessions(runs) {
		return mostSessions(runs, slo)
	}
	points := pointsOf(runs, slo)
	if len(points) == 0 {
		return Peak{}, false, []string{"no run counts"}
	}
	best := peakOf(points)
	if best < 0 {
		return Peak{}, false, []string{fmt.Sprintf("the SLO was missed at every concurrency, down to %d", points[0].load)}
	}
	p := points[best]
	if best > 0 && best == len(points)-1 {
		warnings = append(warnings, fmt.Sprintf("throughput still rose at concurrency %d, the highest tried: a higher one may carry more", p.load))
	}
	return Peak{PerS: p.carried(), Concurrency: p.load}, true, warnings
}

// byConcurrency reports whether the load of runs is a number of units in flight.
func byConcurrency(runs []*record.Run) bool {
	return slices.ContainsFunc(runs, func(r *record.Run) bool { return r.ByConcurrency() })
}

// carried is the mean throughput of the runs that met the SLO, per second.
func (p point) carried() float64 {
	sum, n := 0.0, 0
	for _, j := range p.judged {
		if j.met() {
			sum, n = sum+j.run.Totals.ThroughputPerS, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// peakOf is the index of the lowest concurrency whose throughput equals the highest one within
// chance; -1 means that no run met the SLO.
func peakOf(points []point) int {
	most := 0.0
	for _, p := range points {
		most = max(most, p.carried())
	}
	if most == 0 {
		return -1
	}
	return slices.IndexFunc(points, func(p point) bool { return p.carried() >= (1-alike)*most })
}
