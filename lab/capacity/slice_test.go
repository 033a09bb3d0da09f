package capacity

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/parts/quicktest"
)

// short is a run of a slice: 500 requests in 0.8 s with p99 at half its bound of 20 ms, as changed by
// edit.
func short(edit func(*record.Run)) *record.Run {
	r := &record.Run{
		Spec: record.RunSpec{Rate: 625}, Load: record.LoadInfo{Model: "open"}, Length: 800 * time.Millisecond,
		SLO:    record.SLO{Latency: map[string]float64{"p99": 20}, Errors: 0.001},
		Totals: record.Totals{Offered: 500, Ended: 500, Completed: 500, OfferedPerS: 625, ThroughputPerS: 600, Response: record.Quantiles{P50: 2, P99: 10}},
	}
	for i := range 9 {
		w := record.Window{Start: int64(i) * int64(record.WindowLength), Phase: record.PhaseMeasure, Client: record.Client{Ended: 60, P50Ms: 2 + 0.1*float64(i%2), P99Ms: 10}}
		if i == 8 {
			w.Phase = record.PhaseDrain
		}
		r.Series = append(r.Series, w)
	}
	edit(r)
	return r
}

func TestCheckSlice(t *testing.T) {
	gauge := func(r *record.Run, v float64) {
		r.SLO.Gauges = map[string]float64{"queue_depth": 10}
		r.Series[3].Server = &record.Server{Gauges: map[string]float64{"queue_depth": v}}
	}
	for name, c := range map[string]struct {
		edit           func(*record.Run)
		miss, unjudged string // both empty: met
	}{
		"met":                            {func(r *record.Run) {}, "", ""},
		"completions lag by the latency": {func(r *record.Run) { r.Totals.ThroughputPerS = 400 }, "", ""},
		"p99 over":                       {func(r *record.Run) { r.Totals.Response.P99 = 21 }, "p99 21 ms is over 20 ms", ""},
		"one error of 500":               {func(r *record.Run) { r.Totals.Failed = 1 }, "", ""},
		"two errors":                     {func(r *record.Run) { r.Totals.Failed = 1; r.Totals.Unfinished = 1 }, "errors 0.4% are over 0.1%", ""},
		"one error, none allowed":        {func(r *record.Run) { r.Totals.Failed = 1; r.SLO.Errors = 0 }, "errors 0.2% are over 0%", ""},
		"hardly any came back":           {func(r *record.Run) { r.Totals.Ended, r.Totals.Unfinished = 50, 450 }, "errors 90%", ""},
		"too few":                        {func(r *record.Run) { r.Totals.Offered, r.Totals.Ended, r.Totals.Response.P99 = 150, 150, 90 }, "", "150 requests completed, a verdict needs 200"},
		"few are enough for a p50": {func(r *record.Run) {
			r.SLO.Latency = map[string]float64{"p50": 20}
			r.Totals.Offered, r.Totals.Ended = 40, 40
		}, "", ""},
		"delivery, a request is one error": {func(r *record.Run) {
			r.SLO.On, r.SLO.Errors = record.OnDelivery, 0.01
			r.Totals.Delivered, r.Totals.Undelivered, r.Totals.Unfinished, r.Totals.Delivery = 490, 10, 10, r.Totals.Response
		}, "errors 2% are over 1%", ""},
		"gauge within":         {func(r *record.Run) { gauge(r, 9) }, "", ""},
		"gauge over":           {func(r *record.Run) { gauge(r, 12) }, "queue_depth reached 12", ""},
		"gauge never reported": {func(r *record.Run) { r.SLO.Gauges = map[string]float64{"absent": 1} }, "", "absent was never reported"},
		"latency grows": {func(r *record.Run) {
			for i := range r.Series {
				r.Series[i].Client.P50Ms = 1 + 0.5*float64(i)
			}
		}, "p50 grows by 5 ms a second: over 20 ms within 5 s", ""},
		"latency grows slowly": {func(r *record.Run) {
			for i := range r.Series {
				r.Series[i].Client.P50Ms = 1 + 0.1*float64(i)
			}
		}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var s record.Slice
			r := short(c.edit)
			CheckSlice(&s, r)
			if s.Met != (c.miss == "" && c.unjudged == "") || s.Met && len(s.Misses) > 0 || (s.Inconclusive != "") != (c.unjudged != "") {
				t.Fatalf("%+v", s)
			}
			if words := strings.Join(s.Misses, "; "); !strings.Contains(words, c.miss) || !strings.HasPrefix(s.Inconclusive, c.unjudged) {
				t.Errorf("%q, %q", words, s.Inconclusive)
			}
			if s.Latency != r.SLO.Observed(r.Totals) {
				t.Errorf("latency %+v", s.Latency)
			}
		})
	}
}

func TestTrialsOf(t *testing.T) {
	slo := func(block int, variant string, met bool, edit func(*record.Slice)) record.Slice {
		s := record.Slice{Kind: record.SliceSLO, Role: record.RoleMeasure, Variant: variant, Generation: 1, Block: block, Rate: float64(100 * block), Met: met}
		if edit != nil {
			edit(&s)
		}
		return s
	}
	all := []record.Slice{
		slo(1, "a", true, nil),
		// its disturbance leaves a's slice out too
		slo(2, "a", true, nil), slo(2, "b", false, func(s *record.Slice) { s.Steal, s.Others = 0.05, 0.05 }),
		slo(3, "a", false, func(s *record.Slice) { s.Limited = "it lagged" }),
		slo(4, "a", true, func(s *record.Slice) { s.Limited = "it lagged" }), // met all the same
		slo(5, "a", false, func(s *record.Slice) { s.Inconclusive = "few" }),
		slo(6, "a", false, func(s *record.Slice) { s.Invalid = "the target ended" }),
		slo(7, "a", false, nil),
		slo(8, "a", true, func(s *record.Slice) { s.Role = record.RoleControl }),
		slo(9, "a", true, func(s *record.Slice) { s.Kind = record.SliceWork; s.Steal = 0.5 }),
	}
	trials, left := TrialsOf(all, record.RoleMeasure, "a")
	if want := []Trial{{Rate: 100, Met: true}, {Rate: 400, Met: true}, {Rate: 700}}; !reflect.DeepEqual(trials, want) || left != 1 {
		t.Errorf("%v, %d left out", trials, left)
	}
	for i := range all {
		// all of the experiment is disturbed: the worst 2 of 7 are left out
		all[i].Steal = 0.2 + float64(i)/100
	}
	if trials, left := TrialsOf(all, record.RoleMeasure, "a"); len(trials) != 3 || left != 1 {
		t.Errorf("on a disturbed machine: %v, %d left out", trials, left)
	}
}

// The rate at 50% of slices of 0.8 s, each from an empty queue, is the target's long-run capacity: the
// rate at which the p99 of the queue's steady state reaches the bound. Neither a queue that has not
// filled yet nor a slice that met its SLO by chance moves it by more than 3%, where the curve is
// steep.
func TestRate50IsTheCapacityInTheLongRun(t *testing.T) {
	for _, c := range []struct {
		service service
		bound   float64 // ms
		truth   float64 // per second: at this rate the p99 of M/M/c reaches the bound
		off     float64
	}{
		{service{servers: 2, mean: 500 * time.Microsecond}, 5, 3031, 0.05}, // a gradual curve: s is 5%
		{service{servers: 2, mean: 500 * time.Microsecond}, 20, 3766, 0.03},
		{service{servers: 2, mean: 500 * time.Microsecond}, 100, 3952, 0.03},
		{service{servers: 4, mean: 100 * time.Microsecond}, 5, 39063, 0.03},
		{service{servers: 8, mean: 4 * time.Millisecond}, 100, 1952, 0.03},
	}[:quicktest.Of(2, 5)] {
		slo := record.SLO{Latency: map[string]float64{"p99": c.bound}, Errors: 0.001}
		b := newBench(c.service, 5)
		b.drain = max(record.WindowLength, time.Duration(3*c.bound)*time.Millisecond)
		peak := float64(c.service.servers) / c.service.mean.Seconds()
		var trials []Trial
		for range 100 {
			s := record.Slice{Rate: NextRate(trials, peak, 0, b.rng.Float64())}
			CheckSlice(&s, b.run(record.RunSpec{Rate: s.Rate, Length: 800 * time.Millisecond}, slo, 0))
			if s.Inconclusive == "" {
				trials = append(trials, Trial{Rate: s.Rate, Met: s.Met})
			}
		}
		e := FitTrials(trials, peak)
		t.Logf("%d servers of %v, p99 within %3.0f ms: capacity %6.0f/s, %.1f%% of the peak; rate at 50%% %+.1f%% (interval +-%.1f%%), rate at 95%% %+.1f%%", c.service.servers, c.service.mean, c.bound,
			c.truth, 100*c.truth/peak, 100*(e.Rate50/c.truth-1), 50*math.Log(e.Rate50Interval[1]/e.Rate50Interval[0]), 100*(e.Rate95/c.truth-1))
		if math.Abs(e.Rate50/c.truth-1) > c.off || e.Rate95 > c.truth*1.01 {
			t.Errorf("rate at 50%% %.0f/s, at 95%% %.0f/s, in truth %.0f/s", e.Rate50, e.Rate95, c.truth)
		}
	}
}
