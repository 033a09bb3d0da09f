package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"dyno/lab/record"
)

// Concurrency plans the runs that find the capacity of a job whose load is how many units it has under way at
// once: the most units per second that meet the SLO, and the least concurrency at which they are reached. SLO
// and Length are needed. It keeps nothing, as Search does not.
//
// More at once is more per second until something else is the limit, then only more latency, and in the end
// less per second. So it doubles until the SLO is missed or two doublings brought nothing, and then looks
// between. A miss is tried again before it is believed.
type Concurrency struct {
	SLO        record.SLO
	Start, Max int           // units at once. Start 0: 1; Max 0: MaxConcurrency
	Length     time.Duration // measured time of a run; 0: until the job ends
}

// MaxConcurrency is where a search ends that nobody bounded: beyond it most servers count a client as an attack.
const MaxConcurrency = 256

const (
	// alike is how much less than the most may be carried and still count as much: the difference between two
	// runs of the same is about so large.
	alike = 0.03
	// fine is the ratio of neighbouring concurrencies below which there is nothing to look for between them.
	fine = 1.5
)

// Peak is what a job carried at the best of the concurrencies that were tried.
type Peak struct {
	PerS        float64
	Concurrency int
}

// Next returns the search's next step, or done. Runs are all runs of this search so far, in order; invalid ones
// are passed over, so that their step comes again.
func (s Concurrency) Next(runs []*record.Run) (step record.Step, done bool) {
	if len(runs) >= maxRuns {
		return record.Step{}, true
	}
	points := concurrencies(runs, s.SLO)
	if len(points) == 0 {
		return s.at(max(1, s.Start)), false
	}
	if i := slices.IndexFunc(points, func(p atOnce) bool { return p.missed() && len(p.judged) < 2 }); i >= 0 {
		return s.at(points[i].n), false
	}
	best := peakOf(points)
	if best < 0 { // all miss: with less at once the latency may be kept
		if lowest := points[0].n; lowest > 1 {
			return s.at(lowest / 2), false
		}
		return record.Step{}, true
	}
	if last := points[len(points)-1]; !last.missed() && last.n < s.most() && last.n < 4*points[best].n {
		return s.at(min(2*last.n, s.most())), false
	}
	return s.between(points, best)
}

// between looks on both sides of the best, below it first: less at once is less to hold.
func (s Concurrency) between(points []atOnce, best int) (record.Step, bool) {
	sides := [][2]int{{best - 1, best}, {best, best + 1}}
	for _, side := range sides {
		if side[0] < 0 || side[1] >= len(points) {
			continue
		}
		lo, hi := points[side[0]].n, points[side[1]].n
		middle := int(math.Round(math.Sqrt(float64(lo) * float64(hi))))
		if float64(hi) > fine*float64(lo) && lo < middle && middle < hi {
			return s.at(middle), false
		}
	}
	return record.Step{}, true
}

func (s Concurrency) most() int { return cmp.Or(s.Max, MaxConcurrency) }

// at is a run with so many units under way at once.
func (s Concurrency) at(n int) record.Step {
	return record.Step{Closed: true, Connections: n, Length: s.Length}
}

// PeakOf reads the most that was carried from the runs of one search, or of one round. Ok is false when the SLO
// was missed in every one.
func PeakOf(runs []*record.Run, slo record.SLO) (peak Peak, ok bool, warnings []string) {
	points := concurrencies(runs, slo)
	if len(points) == 0 {
		return Peak{}, false, []string{"no run counts"}
	}
	best := peakOf(points)
	if best < 0 {
		return Peak{}, false, []string{fmt.Sprintf("the SLO was missed at every concurrency, down to %d", points[0].n)}
	}
	p := points[best]
	if best > 0 && best == len(points)-1 {
		warnings = append(warnings, fmt.Sprintf("throughput still rose at %d units at once, the most that were tried: more may carry more", p.n))
	}
	return Peak{PerS: p.carried(), Concurrency: p.n}, true, warnings
}

// byConcurrency reports whether the load of runs is units at once.
func byConcurrency(runs []*record.Run) bool {
	return slices.ContainsFunc(runs, func(r *record.Run) bool { return r.ByConcurrency() })
}

// atOnce is one concurrency of a search and its tries.
type atOnce struct {
	n      int
	judged []judged
}

// concurrencies groups valid runs by concurrency, from the lowest.
func concurrencies(runs []*record.Run, slo record.SLO) []atOnce {
	var points []atOnce
	for _, r := range runs {
		if r.Invalid != "" {
			continue
		}
		i := slices.IndexFunc(points, func(p atOnce) bool { return p.n == r.Step.Connections })
		if i < 0 {
			points, i = append(points, atOnce{n: r.Step.Connections}), len(points)
		}
		points[i].judged = append(points[i].judged, judged{r, slo, judge(r, slo, 0)})
	}
	slices.SortFunc(points, func(a, b atOnce) int { return cmp.Compare(a.n, b.n) })
	return points
}

// missed reports whether no try met the SLO.
func (p atOnce) missed() bool { return !slices.ContainsFunc(p.judged, judged.met) }

// carried is the mean of what the tries that met the SLO carried, per second.
func (p atOnce) carried() float64 {
	sum, n := 0.0, 0
	for _, j := range p.judged {
		if j.met() {
			sum, n = sum+j.carried(), n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// peakOf is the index of the least concurrency that carried as much as any other, within what chance makes of
// it; -1: none met the SLO.
func peakOf(points []atOnce) int {
	most := 0.0
	for _, p := range points {
		most = max(most, p.carried())
	}
	if most == 0 {
		return -1
	}
	return slices.IndexFunc(points, func(p atOnce) bool { return p.carried() >= (1-alike)*most })
}
