package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"dyno/lab/record"
)

const (
	// disturbed is the share of the machine taken by the hypervisor and other processes above which
	// a round of SLO slices is left out, and mostLeftOut the largest share of rounds left out: if
	// more rounds are disturbed, the disturbance is a property of the machine.
	disturbed   = 0.09
	mostLeftOut = 0.30
	// ahead is how far a slice's latency trend is extrapolated. An overload of 5% builds a queue of
	// only 40 ms in 0.8 s, which a bound of 100 ms would not notice.
	ahead = 5 * time.Second
)

// TrialsOf returns a variant's TrialSlices as trials, and the number of those left out.
func TrialsOf(all []record.Slice, role, variant string) (trials []Trial, left int) {
	counted, left := TrialSlices(all, role, variant)
	for _, s := range counted {
		trials = append(trials, Trial{Rate: s.Rate, Met: s.Met})
	}
	return trials, left
}

// TrialSlices returns a variant's SLO slices in a role that count as trials. Heavily disturbed
// rounds are left out for all variants, at most 30% of the rounds: leaving out only the misses
// would bias the curve. left is the number of the variant's trials in them.
func TrialSlices(all []record.Slice, role, variant string) (counted []*record.Slice, left int) {
	out := disturbedRounds(all)
	for i := range all {
		s := &all[i]
		if s.Kind != record.SliceSLO || s.Role != role || s.Variant != variant || s.Rate <= 0 || WhyExcluded(s) != "" {
			continue
		}
		if out[roundOf(s)] {
			left++
			continue
		}
		counted = append(counted, s)
	}
	return counted, left
}

// WhyExcluded is the reason why an SLO slice is no trial; empty: it is one. A slice that met the
// SLO despite the load generator's lag counts as met.
func WhyExcluded(s *record.Slice) string {
	if !s.Met && s.Invalid == "" && s.Inconclusive == "" {
		return s.Limited
	}
	return cmp.Or(s.Invalid, s.Inconclusive)
}

// round identifies a round of turns, after a restart of the processes.
type round struct{ restart, number int }

func roundOf(s *record.Slice) round { return round{s.Generation, s.Block} }

// disturbedRounds returns the rounds to leave out, the most disturbed first.
func disturbedRounds(all []record.Slice) map[round]bool {
	worst := map[round]float64{}
	for i := range all {
		if s := &all[i]; s.Kind == record.SliceSLO && s.Invalid == "" {
			worst[roundOf(s)] = max(worst[roundOf(s)], s.Steal+s.Others)
		}
	}
	var rounds []round
	for b, taken := range worst {
		if taken >= disturbed {
			rounds = append(rounds, b)
		}
	}
	slices.SortFunc(rounds, func(a, b round) int {
		return cmp.Or(cmp.Compare(worst[b], worst[a]), a.restart-b.restart, a.number-b.number)
	})
	out := map[round]bool{}
	for _, b := range rounds[:min(len(rounds), int(mostLeftOut*float64(len(worst))))] {
		out[b] = true
	}
	return out
}

// CheckSlice judges a slice, measured as a short run, against its SLO. It sets Met, Misses and
// Inconclusive, and the figures they depend on: Latency and Gauges. The run begins with an empty
// queue and has no warm-up; a request without a response by the end of the drain is an error. The
// achieved rate is not judged, since completions lag behind the arrivals by the latency.
func CheckSlice(s *record.Slice, r *record.Run) {
	j := judgement{run: r, slo: r.SLO}
	s.Met, s.Misses, s.Inconclusive = false, nil, ""
	s.Latency, s.Gauges = r.SLO.Observed(r.Totals), highestGauges(r)
	j.sliceErrors()
	n, needed := completed(r.Totals, r.SLO), sliceCompletions(r.SLO)
	if n < needed && len(j.verdict.Misses) == 0 {
		s.Inconclusive = fmt.Sprintf("%d requests completed, a verdict needs %d", n, needed)
		return
	}
	j.quantiles()
	for _, name := range sorted(r.SLO.Gauges) {
		bound := r.SLO.Gauges[name]
		high, seen := s.Gauges[name]
		if !seen {
			s.Inconclusive = name + " was never reported: does the target export it, and can the lab reach it?"
			return
		}
		j.miss(high >= bound, "%s reached %.4g, its bound is %.4g", name, high, bound)
	}
	if len(j.verdict.Misses) == 0 {
		j.sliceTrend()
	}
	s.Misses = j.verdict.Misses
	s.Met = len(s.Misses) == 0
}

// sliceErrors allows one error where the SLO allows a share: 0.1% of 500 requests is less than one,
// and a target that fails one request in a thousand would miss every other slice.
func (j *judgement) sliceErrors() {
	t := j.run.Totals
	share, allowed := errorShare(t, j.slo), j.slo.Errors
	if allowed > 0 && t.Offered > 0 {
		allowed = max(allowed, 1/float64(t.Offered))
	}
	j.miss(share > allowed, "errors %.3g%% are over %.3g%%", share*100, j.slo.Errors*100)
}

// sliceCompletions is how many completions a slice's verdict needs: so that two are above the highest
// bounded quantile. A single verdict may then be wrong, which makes the fitted curve more gradual but
// does not shift it.
func sliceCompletions(slo record.SLO) int64 {
	const least = 20
	needed := int64(least)
	for name := range slo.Latency {
		switch name {
		case "p95":
			needed = max(needed, 40)
		case "p99":
			needed = max(needed, 200)
		case "p999":
			needed = max(needed, 2000)
		}
	}
	return needed
}

// settles is the part of a slice, as one in settles, in which the queue fills to its steady length, so
// that latency grows at any rate.
const settles = 4

// sliceTrend judges whether the latency would stay within its bound if the slice went on.
func (j *judgement) sliceTrend() {
	bound, ok := j.slo.Latency["p50"]
	if !ok {
		bound, ok = loosest(j.slo.Latency)
	}
	t, values := j.series(func(w record.Window) (float64, bool) { return windowLatency(w, j.slo, "p50") })
	first := len(values) / settles
	if t, values = t[first:], values[first:]; !ok || len(values) < 4 {
		return
	}
	line := fitLine(t, values)
	if reached := line.End + line.PerSecond*ahead.Seconds(); line.PerSecond > 0 && reached > bound {
		j.miss(true, "p50 grows by %.3g ms a second: over %.4g ms within %.0f s", line.PerSecond, bound, ahead.Seconds())
	}
}

// highestGauges returns each bounded gauge's maximum over the run.
func highestGauges(r *record.Run) map[string]float64 {
	var out map[string]float64
	set := func(name string, v float64) {
		if out == nil {
			out = map[string]float64{}
		}
		if old, ok := out[name]; !ok || v > old {
			out[name] = v
		}
	}
	for name := range r.SLO.Gauges {
		if t := r.Totals.Server; t != nil {
			if v, ok := t.Gauges[name]; ok {
				set(name, v)
			}
		}
		for _, w := range r.Series {
			if w.Server == nil {
				continue
			}
			if v, ok := w.Server.Gauges[name]; ok && !math.IsNaN(v) {
				set(name, v)
			}
		}
	}
	return out
}
