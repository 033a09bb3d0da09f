package capacity

import (
	"cmp"
	"slices"

	"dyno/lab/record"
)

// judged is a run with its verdict.
type judged struct {
	run     *record.Run
	verdict Verdict
}

func (j judged) met() bool { return j.verdict.Met }

// point is one load of a search, and its runs.
type point struct {
	load   int      // units in flight, or sessions
	judged []judged // valid runs, in the order they ran
}

// pointsOf groups the valid runs of a search by their load, from the lowest.
func pointsOf(runs []*record.Run, slo record.SLO) []point {
	var points []point
	for _, r := range runs {
		if r.Invalid != "" {
			continue
		}
		load := r.Spec.Connections
		i := slices.IndexFunc(points, func(p point) bool { return p.load == load })
		if i < 0 {
			points, i = append(points, point{load: load}), len(points)
		}
		points[i].judged = append(points[i].judged, judged{r, checkSLO(r, slo, 0)})
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.load, b.load) })
	return points
}

// missed reports whether every run missed the SLO.
func (p point) missed() bool { return !slices.ContainsFunc(p.judged, judged.met) }

// bracket returns the highest load that met the SLO below the lowest one that missed it.
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
