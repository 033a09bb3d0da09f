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
// within the SLO. It grows the number until the SLO is missed, and then halves the gap. It keeps no
// state: the position is read from the runs.
type Sessions struct {
	SLO        record.SLO
	Start, Max int     // numbers of sessions
	Grow       float64 // factor of the next number after one that met the SLO
	Fine       float64 // ratio of a miss to the number below it at which the search ends
	Repeat     bool    // a miss counts when it was repeated
	Length     time.Duration
}

// Next returns the search's next step, or done. Runs are all runs of this search so far, in order.
// Invalid runs are skipped, so their step is repeated.
func (s Sessions) Next(runs []*record.Run) (step record.Step, done bool) {
	points := bySessions(runs, s.SLO)
	if i := slices.IndexFunc(points, func(p point) bool { return p.missed() && len(p.judged) < 2 }); i >= 0 && s.Repeat {
		return s.at(points[i].units()), false
	}
	lo, hi := bracket(points)
	n := s.Start
	switch {
	case len(runs) >= maxRuns:
		return record.Step{}, true
	case lo == nil && hi == nil:
	case lo == nil:
		n = int(float64(hi.units()) / s.Grow)
	case hi == nil:
		n = int(math.Ceil(float64(lo.units()) * s.Grow))
	case float64(hi.units()) <= s.Fine*float64(lo.units()):
		return record.Step{}, true
	default:
		n = int(math.Round(math.Sqrt(float64(lo.units()) * float64(hi.units()))))
	}
	if s.Max > 0 {
		n = min(n, s.Max)
	}
	if n < 1 || slices.ContainsFunc(points, func(p point) bool { return p.units() == n }) {
		return record.Step{}, true
	}
	return s.at(n), false
}

func (s Sessions) at(n int) record.Step { return record.Step{Connections: n, Length: s.Length} }

// MetIn reports whether a run met the SLO, however few its completions.
func (res *Result) MetIn(run string) bool {
	return slices.ContainsFunc(res.Steps, func(s Step) bool { return s.Run == run && s.Met })
}

// planned is the number of sessions of a step; 0: it had none.
func (s Step) planned() int64 {
	if s.Sessions == nil {
		return 0
	}
	return s.Sessions.Planned
}

// ofSessions reports whether the load of runs is a number of sessions.
func ofSessions(runs []*record.Run) bool {
	return slices.ContainsFunc(runs, func(r *record.Run) bool { return r.Sessions() })
}

// bySessions groups valid runs by their number of sessions, from the lowest.
func bySessions(runs []*record.Run, slo record.SLO) []point {
	valid := slices.DeleteFunc(slices.Clone(runs), func(r *record.Run) bool { return r.Invalid != "" })
	return pointsOf(valid, slo, 0, func(r *record.Run) float64 { return float64(r.Step.Connections) })
}

// mostSessions reads the highest number of sessions that met the SLO, below all that missed it. The
// number takes the place of a rate per second.
func mostSessions(runs []*record.Run, slo record.SLO) (most Peak, ok bool, warnings []string) {
	points := bySessions(runs, slo)
	lo, hi := bracket(points)
	if slices.ContainsFunc(runs, func(r *record.Run) bool { return r.Load.Model == "closed" }) {
		warnings = append(warnings, "closed-loop: hides stalls, since a session that waits for an answer sends nothing")
	}
	switch {
	case lo == nil && hi == nil:
		return Peak{}, false, []string{"no run counts"}
	case lo == nil:
		v := hi.judged[len(hi.judged)-1].verdict
		return Peak{}, false, []string{fmt.Sprintf("the SLO was missed with %s, the fewest tried: %s", plural(hi.units(), "session", "sessions"), cmp.Or(firstOf(v.Misses), v.Unjudged))}
	case hi == nil:
		warnings = append(warnings, fmt.Sprintf("the SLO was met with %s, the most tried: more may meet it", plural(lo.units(), "session", "sessions")))
	}
	return Peak{PerS: lo.load, Concurrency: lo.units()}, true, warnings
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
