package capacity

import (
	"fmt"
	"slices"
	"time"

	"dyno/lab/record"
)

// Verdict is the result of judging a run against its SLO.
type Verdict struct {
	Met      bool `json:"met"`
	TooShort bool `json:"too_short,omitempty"` // fewer completions than its quantiles need; then not Met
	// why the run is neither met nor missed; empty otherwise
	Inconclusive string `json:"unjudged,omitempty"`
	// the missed criteria; empty when Met or Inconclusive
	Misses   []string `json:"misses,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Trend    Trend    `json:"trend"` // of the latency within the run
}

// MinCompletions is how many completions a step needs before its p99 is reliable: 20 requests are
// above it then.
const MinCompletions = 2000

const (
	// carried is the share of the arrival rate that must be achieved.
	carried = 0.98
	// horizon is how far ahead a slope is extrapolated: a queue that never drains is not capacity.
	horizon = 60 * time.Second
)

// CheckSLO says whether a run met its SLO.
func CheckSLO(r *record.Run) Verdict { return checkSLO(r, r.SLO, leastCompletions(r)) }

// leastCompletions is how many completions a run's verdict needs. A job may complete ten units a
// second, and its SLO may bound a lower quantile than p99; the same number of completions must be
// above that one.
func leastCompletions(r *record.Run) int {
	const beyond = 20
	switch axis := r.Axis(); {
	case axis == record.AxisSessions && len(r.SLO.Latency) == 0:
		return 0 // frames and lost sessions are counted, not estimated
	case axis == record.AxisRate:
		return MinCompletions
	}
	least := beyond
	for name := range r.SLO.Latency {
		switch name {
		case "p90":
			least = max(least, beyond*10)
		case "p95":
			least = max(least, beyond*20)
		case "p99", "p999", "max":
			return MinCompletions
		}
	}
	return least
}

// checkSLO applies an SLO to a run, which must have at least the given number of completions.
func checkSLO(r *record.Run, slo record.SLO, completions int) Verdict {
	n := completed(r.Totals, slo)
	j := judgement{run: r, slo: slo, few: n < int64(completions)}
	j.quantiles()
	j.errors()
	j.achieved()
	j.frames()
	j.gauges()
	j.latencyTrend()
	v := j.verdict
	if j.few && len(v.Misses) == 0 {
		v.TooShort = true
		v.Inconclusive = fmt.Sprintf("not judged: %s requests completed, a verdict needs %s", grouped(int(n)), grouped(completions))
	}
	v.Met = len(v.Misses) == 0 && v.Inconclusive == ""
	return v
}

// completed is the number of latencies from which an SLO is read.
func completed(t record.Totals, slo record.SLO) int64 {
	if slo.On == record.OnDelivery {
		return t.Delivered
	}
	return t.Ended
}

// judgement collects a verdict, one criterion at a time.
type judgement struct {
	run     *record.Run
	slo     record.SLO
	few     bool // too few completions for the quantiles
	verdict Verdict
}

// miss records a criterion that was missed.
func (j *judgement) miss(missed bool, format string, args ...any) {
	if missed {
		j.verdict.Misses = append(j.verdict.Misses, fmt.Sprintf(format, args...))
	}
}

func (j *judgement) quantiles() {
	seen := j.slo.Observed(j.run.Totals)
	for _, name := range sorted(j.slo.Latency) {
		bound := j.slo.Latency[name]
		ms, known := seen.At(name)
		if !known {
			j.miss(true, "the SLO bounds %s, which is not recorded", name)
			continue
		}
		if j.few && ms > bound && seen.P50 <= bound {
			continue // one of few completions decides; half of them are not above the bound by chance
		}
		j.miss(ms > bound, "%s %.4g ms is over %.4g ms", name, ms, bound)
	}
}

func (j *judgement) errors() {
	share := errorShare(j.run.Totals, j.slo)
	j.miss(share > j.slo.Errors, "errors %.3g%% are over %.3g%%", share*100, j.slo.Errors*100)
}

// errorShare is the share of requests that the SLO counts as failed.
func errorShare(t record.Totals, slo record.SLO) float64 {
	if t.Offered == 0 {
		return t.ErrorShare()
	}
	return float64(errorCount(t, slo)) / float64(t.Offered)
}

// errorCount is how many requests the SLO counts as failed. An unfinished request also lacks its
// delivery: an SLO on delivery counts it as one error, not two.
func errorCount(t record.Totals, slo record.SLO) int64 {
	if slo.On == record.OnDelivery {
		return t.Failed + max(t.Unfinished, t.Undelivered)
	}
	return t.Failed + t.Unfinished
}

// frames judges whether 99% of the sessions received frames at their rate.
func (j *judgement) frames() {
	bound, s := j.slo.Frames, j.run.Totals.Sessions
	switch {
	case bound == 0:
	case s == nil || s.FramesP1 == 0:
		j.miss(true, "some sessions received no frame")
	default:
		j.miss(s.FramesP1 < bound, "frames %.4g/s are fewer than %.4g/s in 1%% of the sessions", s.FramesP1, bound)
	}
}

// achieved judges whether the target kept up with the arrival rate. In the closed model the
// target's answers set the rate, so it always does.
func (j *judgement) achieved() {
	t := j.run.Totals
	if j.run.Load.Model == "closed" || t.OfferedPerS <= 0 {
		return
	}
	name, rate := "achieved", t.ThroughputPerS
	if j.slo.On == record.OnDelivery {
		name, rate = "delivered", t.DeliveredPerS
	}
	share := rate / t.OfferedPerS
	j.miss(share < carried, "%s %.1f%% of the %.4g/s offered, less than %.0f%%", name, share*100, t.OfferedPerS, carried*100)
}

// latencyTrend judges whether the latency would stay within its bounds if the run went on.
func (j *judgement) latencyTrend() {
	for _, name := range []string{"p50", "p99"} {
		bound, ok := j.slo.Latency[name]
		if !ok {
			bound, ok = loosest(j.slo.Latency)
		}
		if !ok {
			return
		}
		line := trendOf(j.series(func(w record.Window) (float64, bool) { return windowLatency(w, j.slo, name) }))
		if name == "p50" || line.Clear && !j.verdict.Trend.Clear {
			j.verdict.Trend = line
		}
		ahead := line.End + line.PerSecond*horizon.Seconds()
		switch {
		case line.Clear && line.PerSecond > 0 && ahead > bound:
			j.miss(true, "%s grows by %.3g ms a second: over %.4g ms within %.0f s", name, line.PerSecond, bound, horizon.Seconds())
			return
		case line.Clear && line.PerSecond < 0 && -line.PerSecond*j.run.Length.Seconds() > line.End:
			j.verdict.Warnings = append(j.verdict.Warnings, name+" was still falling: warm up for longer")
			return
		}
	}
}

// loosest is the highest of the latency bounds.
func loosest(bounds map[string]float64) (ms float64, ok bool) {
	for _, b := range bounds {
		ms, ok = max(ms, b), true
	}
	return ms, ok
}

// windowLatency is a window's latency as the SLO measures it; false when no request finished in it.
func windowLatency(w record.Window, slo record.SLO, quantile string) (ms float64, ok bool) {
	n, p50, p99 := w.Client.Ended, w.Client.P50Ms, w.Client.P99Ms
	if slo.On == record.OnDelivery {
		n, p50, p99 = w.Client.Delivered, w.Client.DeliveryP50Ms, w.Client.DeliveryP99Ms
	}
	if quantile == "p99" {
		return p99, n > 0
	}
	return p50, n > 0
}

// gauges judges whether each bounded gauge stayed below its bound, and would within the horizon.
func (j *judgement) gauges() {
	for _, name := range sorted(j.slo.Gauges) {
		bound := j.slo.Gauges[name]
		t, values := j.series(func(w record.Window) (float64, bool) {
			if w.Server == nil {
				return 0, false
			}
			v, ok := w.Server.Gauges[name]
			return v, ok
		})
		if len(values) == 0 {
			j.miss(true, "%s was never reported: does the target export it, and can the lab reach it?", name)
			continue
		}
		high := highest(values)
		j.miss(high >= bound, "%s reached %.4g, its bound is %.4g", name, high, bound)
		line := trendOf(t, values)
		ahead := line.End + line.PerSecond*horizon.Seconds()
		if high < bound && line.Clear && line.PerSecond > 0 && ahead >= bound {
			j.miss(true, "%s grows by %.3g a second: over %.4g within %.0f s", name, line.PerSecond, bound, horizon.Seconds())
		}
	}
}

// highest is the highest value that lasted for more than one window: a single window of 100 ms may
// be a scrape during a stall. With few windows it is the maximum.
func highest(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if len(s) < trendWindows {
		return s[len(s)-1]
	}
	return s[len(s)-2]
}

// series reads one value per measured window, with its time in seconds since the start of the run.
func (j *judgement) series(read func(record.Window) (float64, bool)) (t, values []float64) {
	for _, w := range j.run.Series {
		if w.Phase != record.PhaseMeasure {
			continue
		}
		if v, ok := read(w); ok {
			t = append(t, float64(w.Start-j.run.Begin)/1e9)
			values = append(values, v)
		}
	}
	return t, values
}
