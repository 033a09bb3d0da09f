package capacity

import (
	"math"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
)

// steady is a run of 2 s at 1,000/s that meets any SLO of 20 ms, as changed by edit.
func steady(edit func(*record.Run)) *record.Run {
	r := &record.Run{
		Spec: record.RunSpec{Rate: 1000}, Load: record.LoadInfo{Model: "open"}, Length: 2 * time.Second,
		SLO: record.SLO{Latency: map[string]float64{"p99": 20}, Errors: 0.001},
		Totals: record.Totals{Offered: 2010, Sent: 2010, Ended: 2008, Completed: 2008, OfferedPerS: 1005, ThroughputPerS: 1004,
			Response: record.Quantiles{P50: 2, P99: 10, P999: 15}},
	}
	for i := range 20 {
		w := record.Window{Start: int64(i) * int64(record.WindowLength), Phase: record.PhaseMeasure,
			Client: record.Client{Offered: 100, Ended: 100, P50Ms: 2 + 0.1*math.Sin(float64(i)*9), P99Ms: 10 + math.Cos(float64(i)*9)},
			Server: &record.Server{Gauges: map[string]float64{"queue_depth": 5 + 3*math.Sin(float64(i)*5)}}}
		r.Series = append(r.Series, w)
	}
	if edit != nil {
		edit(r)
	}
	return r
}

func TestJudge(t *testing.T) {
	gauge := func(r *record.Run, bound float64, value func(i int) float64) {
		r.SLO.Gauges = map[string]float64{"queue_depth": bound}
		for i := range r.Series {
			r.Series[i].Server.Gauges["queue_depth"] = value(i)
		}
	}
	for name, c := range map[string]struct {
		edit func(*record.Run)
		miss string // "" : met
	}{
		"met":                     {nil, ""},
		"met exactly":             {func(r *record.Run) { r.Totals.Response.P99 = 20 }, ""},
		"p99 over":                {func(r *record.Run) { r.Totals.Response.P99 = 20.1 }, "p99 20.1 ms is over 20 ms"},
		"another quantile over":   {func(r *record.Run) { r.SLO.Latency["p50"] = 1 }, "p50 2 ms is over 1 ms"},
		"an unknown quantile":     {func(r *record.Run) { r.SLO.Latency["p42"] = 1 }, "p42, which is not recorded"},
		"errors at the limit":     {func(r *record.Run) { r.Totals.Failed = 2 }, ""},
		"errors over":             {func(r *record.Run) { r.Totals.Failed = 2; r.Totals.Unfinished = 1 }, "errors 0.149% are over 0.1%"},
		"one error, none allowed": {func(r *record.Run) { r.Totals.Failed = 1; r.SLO.Errors = 0 }, "over 0%"},
		"did not keep up":         {func(r *record.Run) { r.Totals.ThroughputPerS = 980 }, "achieved 97.5% of the 1005/s offered"},
		"closed loop":             {func(r *record.Run) { r.Totals.ThroughputPerS = 980; r.Load.Model = "closed" }, ""},
		"delivery": {func(r *record.Run) {
			r.SLO.On = record.OnDelivery
			r.Totals.Delivered, r.Totals.DeliveredPerS, r.Totals.Delivery.P99 = 2008, 1004, 19
		}, ""},
		"delivery too late": {func(r *record.Run) {
			r.SLO.On = record.OnDelivery
			r.Totals.Delivered, r.Totals.DeliveredPerS, r.Totals.Delivery.P99 = 2008, 1004, 30
		}, "p99 30 ms"},
		"accepted, not delivered": {func(r *record.Run) {
			r.SLO.On = record.OnDelivery
			r.Totals.Delivered, r.Totals.DeliveredPerS, r.Totals.Undelivered = 1800, 900, 208
		}, "delivered 89.6%"},
		"gauge within":         {func(r *record.Run) { gauge(r, 10, func(i int) float64 { return 5 + float64(i%3) }) }, ""},
		"gauge over":           {func(r *record.Run) { gauge(r, 10, func(i int) float64 { return 9 + float64(i%3) }) }, "queue_depth reached 11"},
		"gauge at its bound":   {func(r *record.Run) { gauge(r, 10, func(int) float64 { return 10 }) }, "queue_depth reached 10"},
		"gauge over only once": {func(r *record.Run) { gauge(r, 10, func(i int) float64 { return 3 + 50*b2f(i == 7) }) }, ""},
		"gauge fills":          {func(r *record.Run) { gauge(r, 100, func(i int) float64 { return 10 + 0.3*float64(i) + float64(i%3) }) }, "queue_depth grows by"},
		"gauge fills slowly":   {func(r *record.Run) { gauge(r, 1000, func(i int) float64 { return 10 + 0.3*float64(i) + float64(i%3) }) }, ""},
		"gauge never reported": {func(r *record.Run) { r.SLO.Gauges = map[string]float64{"absent": 1} }, "absent was never reported"},
		"latency grows": {func(r *record.Run) {
			for i := range r.Series {
				r.Series[i].Client.P50Ms += 0.2 * float64(i)
			}
		}, "p50 grows by 2"},
		"only the tail grows": {func(r *record.Run) {
			for i := range r.Series {
				r.Series[i].Client.P99Ms += 0.4 * float64(i)
			}
		}, "p99 grows by 3.9"},
		"grows in the warm-up only": {func(r *record.Run) {
			for i := range r.Series[:10] {
				r.Series[i].Phase = record.PhaseWarmup
				r.Series[i].Client.P50Ms = float64(i) * 10
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := CheckSLO(steady(c.edit))
			if v.Met != (c.miss == "") || v.Met != (len(v.Misses) == 0) {
				t.Fatalf("met %v with misses %q", v.Met, v.Misses)
			}
			if !strings.Contains(strings.Join(v.Misses, "\n"), c.miss) {
				t.Errorf("misses %q do not say %q", v.Misses, c.miss)
			}
		})
	}
}

// Too few completions for a p99 do not make a miss, unless half of them are above the bound too.
func TestTooFewCompletionsAreNotJudged(t *testing.T) {
	for name, edit := range map[string]func(*record.Run){
		"within":          func(r *record.Run) {},
		"one slow answer": func(r *record.Run) { r.Totals.Response.P99 = 400 },
	} {
		v := CheckSLO(steady(func(r *record.Run) { r.Totals.Ended = 604; edit(r) }))
		if v.Met || !v.TooShort || len(v.Misses) != 0 || v.Inconclusive != "not judged: 604 requests completed, a verdict needs 2,000" {
			t.Errorf("%s: %+v", name, v)
		}
	}
	v := CheckSLO(steady(func(r *record.Run) { r.Totals.Ended = 604; r.Totals.Response.P50, r.Totals.Response.P99 = 30, 60 }))
	if v.Met || v.TooShort || v.Inconclusive != "" || len(v.Misses) != 1 {
		t.Errorf("%+v", v)
	}
}

// A request that is unfinished at the end also awaits its delivery.
func TestARequestFailsOnce(t *testing.T) {
	v := CheckSLO(steady(func(r *record.Run) {
		r.SLO.On, r.SLO.Errors = record.OnDelivery, 0.1
		r.Totals.Offered, r.Totals.Unfinished, r.Totals.Undelivered = 1000, 123, 123
		r.Totals.Delivered, r.Totals.DeliveredPerS = 2000, 1000
	}))
	if words := strings.Join(v.Misses, "; "); !strings.Contains(words, "errors 12.3% are over 10%") {
		t.Errorf("%q", words)
	}
}

func TestJudgeWarnsOfAShortWarmup(t *testing.T) {
	v := CheckSLO(steady(func(r *record.Run) {
		for i := range r.Series {
			r.Series[i].Client.P50Ms = 12 - 0.5*float64(i)
		}
	}))
	if !v.Met || len(v.Warnings) != 1 || !strings.Contains(v.Warnings[0], "still falling") {
		t.Errorf("%+v", v)
	}
}

func TestAnEmptyRunIsNotJudged(t *testing.T) {
	if v := CheckSLO(&record.Run{}); v.Met || !v.TooShort {
		t.Errorf("%+v", v)
	}
}
