package capacity

import (
	"cmp"
	"slices"

	"dyno/lab/record"
)

// judged is a run with its verdict.
type judged struct {
	run     *record.Run
	slo     record.SLO
	verdict Verdict
}

func (j judged) met() bool { return j.verdict.Met }

// carried is the achieved rate, or the delivered rate when the SLO bounds delivery.
func (j judged) carried() float64 {
	if j.slo.On == record.OnDelivery {
		return j.run.Totals.DeliveredPerS
	}
	return j.run.Totals.AchievedPerS
}

// point is one rate of a search and its runs.
type point struct {
	rate    float64
	judged  []judged // valid runs, in the order they ran
	limited int      // runs in which the load generator was the limit
}

// limits is how many runs must show that the load generator was the limit before a rate is
// abandoned.
const limits = 2

// sameRate is the relative difference below which two rates count as one.
const sameRate = 1e-3

// pointsOf groups a search's runs by rate, from the lowest. Rates without a usable run are left
// out.
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

// missed reports whether every run missed the SLO.
func (p point) missed() bool { return !slices.ContainsFunc(p.judged, judged.met) }

// byGenerator reports whether the load generator was the limit at this rate.
func (p point) byGenerator() bool { return len(p.judged) == 0 }

// bracket returns the highest rate met below the lowest rate missed.
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
