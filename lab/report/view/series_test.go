package view

import (
	"math"
	"testing"

	"dyno/lab/record"
	"dyno/lab/report/format"

	"pgregory.net/rapid"
)

// drawWindows makes any series of windows that a producer could write.
func drawWindows(t *rapid.T) []record.Window {
	phases := []string{record.PhaseWarmup, record.PhaseMeasure, record.PhaseDrain, record.PhaseProfile}
	n := rapid.IntRange(1, 400).Draw(t, "windows")
	out := make([]record.Window, n)
	phase := 0
	for i := range out {
		if rapid.IntRange(0, 20).Draw(t, "turn") == 0 {
			phase = rapid.IntRange(0, 3).Draw(t, "phase")
		}
		out[i] = record.Window{Start: int64(i) * 1e8, Phase: phases[phase], Client: record.Client{
			Offered: rapid.Int64Range(0, 1000).Draw(t, "offered"), P99Ms: rapid.Float64Range(0, 5000).Draw(t, "p99"), Backlog: rapid.Int64Range(0, 9000).Draw(t, "backlog")}}
		if rapid.Bool().Draw(t, "seen") {
			out[i].Server = &record.Server{CPU: 1, Profiling: rapid.IntRange(0, 9).Draw(t, "profile") == 0}
		}
	}
	return out
}

// TestTracesKeepWhatMatters thins any series and holds that no stall is lost, that nothing from a
// profile is shown as latency, that offers are conserved and that the result is small.
func TestTracesKeepWhatMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		series := drawWindows(t)
		points := rapid.IntRange(1, 500).Draw(t, "points")
		tr := newTrace(&record.Run{Series: series}, points)

		turns, worst, backlog, offered := 0, 0.0, 0.0, 0.0
		for i, w := range series {
			if i > 0 && phaseOf(w) != phaseOf(series[i-1]) {
				turns++
			}
			backlog = max(backlog, float64(w.Client.Backlog))
			offered += float64(w.Client.Offered)
			if !profiled(w) {
				worst = max(worst, w.Client.P99Ms)
			}
		}
		if len(tr.T) > points+turns+1 {
			t.Fatalf("%d points from %d windows in %d phases, asked for %d", len(tr.T), len(series), turns+1, points)
		}
		if got := most(tr.Series["p99"]); got != worst {
			t.Fatalf("worst p99 is %v, was %v", got, worst)
		}
		if got := most(tr.Series["backlog"]); got != backlog {
			t.Fatalf("highest backlog is %v, was %v", got, backlog)
		}
		at, sum := 0, 0.0
		for i := range tr.T {
			n := 0
			for at+n < len(series) && (i+1 == len(tr.T) || float64(series[at+n].Start)/1e9 < tr.T[i+1]-1e-9) {
				if phaseOf(series[at+n]) != phaseOf(series[at]) {
					t.Fatalf("point %d mixes phases", i)
				}
				n++
			}
			if p99 := tr.Series["p99"]; p99 != nil && profiled(series[at]) && !math.IsNaN(p99[i]) {
				t.Fatalf("point %d shows latency from a profile", i)
			}
			if o := tr.Series["offered"]; o != nil {
				sum += o[i] * float64(n) / 10
			}
			at += n
		}
		if at != len(series) || math.Abs(sum-offered) > 1e-6*(1+offered) {
			t.Fatalf("%d of %d windows, %v of %v offers", at, len(series), sum, offered)
		}
	})
}

func most(c format.Numbers) (most float64) {
	for _, v := range c {
		if !math.IsNaN(v) {
			most = max(most, v)
		}
	}
	return most
}
