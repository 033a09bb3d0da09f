package capacity

import (
	"cmp"
	"slices"

	"dyno/lab/record"
)

// judged is a run with what was made of it.
type judged struct {
	run     *record.Run
	slo     record.SLO
	verdict Verdict
}

func (j judged) met() bool { return j.verdict.Met }

// carried is the rate that came through: delivered, when the SLO asks for delivery.
func (j judged) carried() float64 {
	if j.slo.On == record.OnDelivery {
		return j.run.Totals.DeliveredPerS
	}
	return j.run.Totals.AchievedPerS
}

// collapse reports whether the target fell far behind what was offered.
func (j judged) collapse() bool { return j.carried() < collapsed*j.run.Totals.OfferedPerS }

// point is one rate of a search and its tries.
type point struct {
	rate    float64
	judged  []judged // valid runs, in the order they ran
	limited int      // runs in which the load generator was the limit
}

// limits is how many runs must show that the load generator was the limit before a rate is given up.
const limits = 2

// sameRate is how far apart two rates may be and still count as one.
const sameRate = 1e-3

// pointsOf groups a search's runs by rate, from the lowest. Rates with nothing to say are left out.
func pointsOf(runs []*record.Run, slo record.SLO) []point {
	var points []point
	for _, r := range runs {
		limited := r.Invalid != "" && r.Totals.Generator.Limited
		if r.Invalid != "" && !limited {
			continue
		}
		i := slices.IndexFunc(points, func(p point) bool {
			return r.Step.Rate < p.rate*(1+sameRate) && p.rate < r.Step.Rate*(1+sameRate)
		})
		if i < 0 {
			points, i = append(points, point{rate: r.Step.Rate}), len(points)
		}
		if limited {
			points[i].limited++
			continue
		}
		points[i].judged = append(points[i].judged, judged{r, slo, judge(r, slo, 0)})
	}
	points = slices.DeleteFunc(points, func(p point) bool { return len(p.judged) == 0 && p.limited < limits })
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.rate, b.rate) })
	return points
}

// missed reports whether no try met the SLO.
func (p point) missed() bool { return !slices.ContainsFunc(p.judged, judged.met) }

// byGenerator reports whether it is the load generator that this rate was too much for.
func (p point) byGenerator() bool { return len(p.judged) == 0 }

// counts reports whether a miss is to be believed: it was seen so many times, or the target did not keep up.
func (p point) counts(times int) bool {
	return p.byGenerator() || len(p.judged) >= times || slices.ContainsFunc(p.judged, judged.collapse)
}

// carried is the highest rate that came through at this point.
func (p point) carried() float64 {
	best := 0.0
	for _, j := range p.judged {
		best = max(best, j.carried())
	}
	return best
}

// ample reports whether this rate was carried with so much to spare that a miss close above it would
// surprise.
func (p point) ample() bool {
	return slices.ContainsFunc(p.judged, func(j judged) bool { return j.headroom() >= ample })
}

// bracket is the highest rate that was met below the lowest that was missed.
func bracket(points []point) (lo, hi *point) {
	for i := range points {
		p := &points[i]
		if p.missed() {
			return lo, p
		}
		lo = p
	}
	return lo, nil
}
