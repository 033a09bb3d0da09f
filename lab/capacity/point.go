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

// point is one load of a search, and its runs.
type point struct {
	load    float64  // rate per second, or units in flight
	judged  []judged // valid runs, in the order they ran
	limited int      // runs in which the load generator was the limit
}

// units is the load of a job.
func (p point) units() int { return int(p.load) }

// limits is how many runs must show that the load generator was the limit before a rate is
// abandoned.
const limits = 2

// sameRate is the relative difference below which two rates count as one.
const sameRate = 1e-3

// ratesOf groups a search's runs by rate.
func ratesOf(runs []*record.Run, slo record.SLO) []point {
	return pointsOf(runs, slo, sameRate, func(r *record.Run) float64 { return r.Step.Rate })
}

// pointsOf groups a search's runs by load, from the lowest. Loads that differ by no more than same,
// relative to each other, count as one; those without a usable run are left out.
func pointsOf(runs []*record.Run, slo record.SLO, same float64, load func(*record.Run) float64) []point {
	var points []point
	for _, r := range runs {
		limited := r.Invalid != "" && r.Totals.Generator.Limited
		if r.Invalid != "" && !limited {
			continue
		}
		x := load(r)
		i := slices.IndexFunc(points, func(p point) bool { return x <= p.load*(1+same) && p.load <= x*(1+same) })
		if i < 0 {
			points, i = append(points, point{load: x}), len(points)
		}
		if limited {
			points[i].limited++
			continue
		}
		points[i].judged = append(points[i].judged, judged{r, slo, judge(r, slo, 0)})
	}
	points = slices.DeleteFunc(points, func(p point) bool { return len(p.judged) == 0 && p.limited < limits })
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.load, b.load) })
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
