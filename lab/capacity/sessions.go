package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"dyno/lab/record"
)

// Sessions plans the runs that find how many sessions, each with a fixed rate, a target carries
// within the SLO. It raises the number until the SLO is missed, and then tries numbers in between. It
// keeps no state: the position is read from the runs.
type Sessions struct {
	SLO        record.SLO
	Start, Max int     // numbers of sessions
	Grow       float64 // factor of the next number after one that met the SLO
	Fine       float64 // ratio of a miss to the number below it at which the search ends
	Repeat     bool    // a miss counts only if a second run misses, too
	Length     time.Duration
}

// Next returns the search's next step, or done. Runs are all runs of this search so far, in order.
// Invalid runs are skipped, so their step is repeated.
func (s Sessions) Next(runs []*record.Run) (step record.RunSpec, done bool) {
	points := pointsOf(runs, s.SLO)
	if i := slices.IndexFunc(points, func(p point) bool { return p.missed() && len(p.judged) < 2 }); i >= 0 && s.Repeat {
		return s.at(points[i].load), false
	}
	lo, hi := bracket(points)
	n := s.Start
	switch {
	case len(runs) >= maxRuns:
		return record.RunSpec{}, true
	case lo == nil && hi == nil:
	case lo == nil:
		n = int(float64(hi.load) / s.Grow)
	case hi == nil:
		n = int(math.Ceil(float64(lo.load) * s.Grow))
	case float64(hi.load) <= s.Fine*float64(lo.load):
		return record.RunSpec{}, true
	default:
		n = int(math.Round(math.Sqrt(float64(lo.load) * float64(hi.load))))
	}
	if s.Max > 0 {
		n = min(n, s.Max)
	}
	if n < 1 || slices.ContainsFunc(points, func(p point) bool { return p.load == n }) {
		return record.RunSpec{}, true
	}
	return s.at(n), false
}

func (s Sessions) at(n int) record.RunSpec { return record.RunSpec{Connections: n, Length: s.Length} }

// MetIn reports whether a run met the SLO, however few its completions.
func (res *Result) MetIn(run string) bool {
	return slices.ContainsFunc(res.Steps, func(s RatePoint) bool { return s.Run == run && s.Met })
}

// planned is the number of sessions of a point; 0: it had none.
func (s RatePoint) planned() int64 {
	if s.Sessions == nil {
		return 0
	}
	return s.Sessions.Planned
}

// onAxis reports whether the size of the runs' load is counted in the unit of an axis.
func onAxis(runs []*record.Run, axis string) bool {
	return slices.ContainsFunc(runs, func(r *record.Run) bool { return r.Axis() == axis })
}

// mostSessions reads the highest number of sessions that met the SLO, below all that missed it. The
// number takes the place of a rate per second.
func mostSessions(runs []*record.Run, slo record.SLO) (most Peak, ok bool, warnings []string) {
	points := pointsOf(runs, slo)
	lo, hi := bracket(points)
	if slices.ContainsFunc(runs, func(r *record.Run) bool { return r.Load.Model == "closed" }) {
		warnings = append(warnings, "closed-loop: hides stalls, since a session that waits for an answer sends nothing")
	}
	switch {
	case lo == nil && hi == nil:
		return Peak{}, false, []string{"no run counts"}
	case lo == nil:
		v := hi.judged[len(hi.judged)-1].verdict
		return Peak{}, false, []string{fmt.Sprintf("the SLO was missed with %s, the fewest tried: %s", plural(hi.load, "session", "sessions"), cmp.Or(firstOf(v.Misses), v.Inconclusive))}
	case hi == nil:
		warnings = append(warnings, fmt.Sprintf("the SLO was met with %s, the most tried: more may meet it", plural(lo.load, "session", "sessions")))
	}
	return Peak{PerS: float64(lo.load), Concurrency: lo.load}, true, warnings
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
