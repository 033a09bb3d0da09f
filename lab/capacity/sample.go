package capacity

import (
	"cmp"
	"math"
	"slices"

	"dyno/lab/record"
)

// The capacity of one search is the rate at which the headroom (bound over observed: 1 at the
// bound, near 0 in overload) crosses 1. The line is fitted to the headroom, not the latency: near
// saturation the headroom is a straight line in the rate (exactly so for a single exponential
// server), and in overload, where latency depends only on the length of the run, it is 0.
const (
	// ample is the highest headroom that enters the fit, so that the latency of an idle target does
	// not tilt the line.
	ample = 2
	// near is the distance from the crossing, in ln(rate), within which a run has weight: 25%.
	near = 0.22
	// leastSlope is the flattest line, d(headroom)/d(ln rate), that is accepted: each doubling of
	// the rate at least halves the headroom. Chance produces flatter lines through close rates.
	leastSlope = -1.5
	// refinements is how often the line is fitted again around its own crossing.
	refinements = 8
)

// observation is a run as the fit sees it.
type observation struct {
	x float64 // ln(rate)
	y float64 // headroom, at most ample
	w float64 // weight: random error falls with the square root of a run's length
}

// Sample estimates the capacity from the runs of one search: a line through the headroom of the
// runs near the bracket, each weighted by its length and nearness, so that no single noisy run
// decides and the result is not limited to the rates tried. A rate that passed or missed a hold
// outranks the line. Ok is false when the SLO was met, or missed, at every rate; perSecond is then
// the highest rate that met it. For jobs driven by concurrency it is the peak (PeakOf).
func Sample(runs []*record.Run, slo record.SLO) (perSecond float64, ok bool, warnings []string) {
	if byConcurrency(runs) || ofSessions(runs) {
		peak, ok, warnings := PeakOf(runs, slo)
		return peak.PerS, ok, warnings
	}
	points := ratesOf(runs, slo)
	lo, hi := bracket(points)
	switch {
	case lo == nil && hi == nil:
		return 0, false, []string{noneJudged(runs)}
	case lo == nil && slices.ContainsFunc(points, func(p point) bool { return !p.missed() }):
		return 0, false, []string{"the SLO was missed at " + PerS(hi.load) + " but met at a higher rate: the runs disagree"}
	case lo == nil:
		return 0, false, []string{"no rate met the SLO (lowest tried " + PerS(hi.load) + ")"}
	case hi == nil:
		return lo.load, false, []string{"the SLO was met at every rate, up to " + PerS(lo.load)}
	case hi.byGenerator():
		return lo.load, false, []string{"the load generator was the limit at " + PerS(hi.load) + "; the capacity is above " + PerS(lo.load)}
	}
	perSecond = crossing(points, math.Log(lo.load), math.Log(hi.load))
	held, broke := holds(points)
	if broke > 0 && perSecond > broke {
		perSecond = broke
	}
	if perSecond < held {
		perSecond = held
	}
	if broke > 0 && held == 0 {
		warnings = append(warnings, "no rate met the SLO in a longer run (lowest tried "+PerS(broke)+")")
	}
	return perSecond, true, warnings
}

// noneJudged is the reason why no run counts.
func noneJudged(runs []*record.Run) string {
	if len(runs) == 0 {
		return "nothing was measured"
	}
	lowest := slices.MinFunc(runs, func(a, b *record.Run) int { return cmp.Compare(a.Step.Rate, b.Step.Rate) })
	return "no rate could be judged (lowest tried " + PerS(lowest.Step.Rate) + ")"
}

// crossing fits the line through the runs near the bracket [lo, hi], in ln(rate), and returns the
// rate at which it crosses a headroom of 1.
func crossing(points []point, lo, hi float64) float64 {
	observations := observationsOf(points)
	x := (lo + hi) / 2
	for range refinements {
		var w, wx, wy, wxx, wxy float64
		for _, s := range observations {
			d := math.Abs(s.x-x) / max(near, (hi-lo)/2*1.01)
			if d >= 1 {
				continue
			}
			k := s.w * math.Pow(1-d*d*d, 3)
			w, wx, wy = w+k, wx+k*s.x, wy+k*s.y
			wxx, wxy = wxx+k*s.x*s.x, wxy+k*s.x*s.y
		}
		if w == 0 {
			break
		}
		mx, my := wx/w, wy/w
		slope := leastSlope
		if spread := wxx/w - mx*mx; spread > 1e-12 {
			slope = min(slope, (wxy/w-mx*my)/spread)
		}
		x = min(max(mx+(1-my)/slope, lo-near/4), hi+near/4)
	}
	return math.Exp(x)
}

// observationsOf reads the headroom of every run. A miss is left out when its repetition met the
// SLO by a wide margin: its cause was not the rate.
func observationsOf(points []point) []observation {
	var out []observation
	for _, p := range points {
		best := 0.0
		for _, j := range p.judged {
			best = max(best, j.headroom())
		}
		for _, j := range p.judged {
			y := j.headroom()
			if !j.met() && best > 1 && y < best/2 {
				continue
			}
			out = append(out, observation{math.Log(p.load), y, math.Sqrt(j.run.Length.Seconds())})
		}
	}
	return out
}

// headroom is bound over observed, at most ample; 1 or more means that the SLO was met.
func (j judged) headroom() float64 {
	y := math.Exp(-j.verdict.LogExcess)
	if j.met() {
		return min(max(y, 1), ample)
	}
	return min(y, 1)
}

// holds returns the highest rate that passed a hold and the lowest that missed one; 0 means none.
func holds(points []point) (held, broke float64) {
	for _, p := range points {
		for _, j := range p.judged {
			rate := j.run.Step.Rate
			switch {
			case !j.run.Step.Hold:
			case j.met():
				held = max(held, rate)
			case broke == 0 || rate < broke:
				broke = rate
			}
		}
	}
	return held, broke
}
