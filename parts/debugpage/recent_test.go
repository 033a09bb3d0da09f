package debugpage

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// toy is a service's metrics, and what its page shows of them.
type toy struct {
	registry       *prometheus.Registry
	requests, good *prometheus.CounterVec
	took           *prometheus.HistogramVec
	heap           prometheus.Gauge
	figures        []Figure
}

func newToy() *toy {
	y := &toy{registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "toy_requests_total"}, []string{"route"}),
		good:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "toy_good_total"}, []string{"route"}),
		took:     prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "toy_seconds", Buckets: []float64{0.01, 0.02}}, []string{"route"}),
		heap:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "toy_heap"}),
		figures: []Figure{
			{Title: "Requests", Kind: Rate, Metric: "toy_requests_total"},
			{Title: "Of one route", Kind: Rate, Metric: "toy_seconds_count", Labels: map[string]string{"route": "a"}},
			{Title: "Good", Kind: Share, Metric: "toy_good_total", Of: "toy_requests_total"},
			{Title: "Mean", Kind: Mean, Metric: "toy_seconds"},
			{Title: "p99", Kind: P99, Metric: "toy_seconds"},
			{Title: "Heap", Kind: Now, Metric: "toy_heap"},
			{Title: "Lacking", Kind: Now, Metric: "toy_lacking"},
		}}
	y.registry.MustRegister(y.requests, y.good, y.took, y.heap)
	return y
}

// work serves 300 requests to each of two routes, of which three in four are good, in 15 ms each.
func (y *toy) work() {
	for _, route := range []string{"a", "b"} {
		y.requests.WithLabelValues(route).Add(300)
		y.good.WithLabelValues(route).Add(225)
		for range 300 {
			y.took.WithLabelValues(route).Observe(0.015)
		}
	}
	y.heap.Set(2 << 20)
}

// TestRecentShowsWhatWas: an answer holds what happened before anybody asked, for five minutes, and
// the goroutine ends with its context.
func TestRecentShowsWhatWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newToy()
		r := NewRecent(y.figures, y.registry)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() { r.Run(ctx); close(ended) }()
		synctest.Wait()
		for range 4 { // the incident
			y.work()
			time.Sleep(every)
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest("GET", "/recent", nil))
		var got recent
		if err := json.NewDecoder(w.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		const incident = 4 // the index of its last point
		if age := got.AgesS[incident]; age != 60 || len(got.AgesS) != 25 {
			t.Errorf("%d points, the last of the incident %v s ago", len(got.AgesS), age)
		}
		for i, want := range []float64{200, 100, 0.75, 0.015, 0.0199, 2 << 20} {
			if v := got.Figures[i][incident]; v == nil || math.Abs(*v-want) > 1e-6*want {
				t.Errorf("%s: %v during the incident, want %v", y.figures[i].Title, v, want)
			}
		}
		if v := got.Figures[0][len(got.AgesS)-1]; v == nil || *v != 0 {
			t.Errorf("%v requests a second after it", v)
		}
		if got.Figures[6][incident] != nil || got.Figures[2][0] != nil {
			t.Error("what was not known has a value")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := r.answer(time.Now()); len(got.AgesS) != most || got.AgesS[0] > Kept.Seconds() || *got.Figures[0][0] != 0 {
			t.Errorf("%d points after an hour, the oldest %v s old", len(got.AgesS), got.AgesS[0])
		}
		cancel()
		<-ended
	})
}

// TestShareOfWhatNeverHappened: a share is 0, as on the page, before its part is counted at all.
func TestShareOfWhatNeverHappened(t *testing.T) {
	y := newToy()
	r := NewRecent([]Figure{{Kind: Share, Metric: "toy_good_total", Of: "toy_requests_total"}}, y.registry)
	now := time.Now()
	for range 2 {
		y.requests.WithLabelValues("a").Add(10)
		now = now.Add(every)
		r.read(now)
	}
	if got := r.points[1].values[0]; got != 0 {
		t.Errorf("%v of the requests were good", got)
	}
}

// TestRecentOutlivesAPanic: figures that panic are not known, and those read later are.
func TestRecentOutlivesAPanic(t *testing.T) {
	open, registry := true, prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "toy_stored"}, func() float64 {
		if !open {
			panic("closed")
		}
		return 7
	}))
	r := NewRecent([]Figure{{Kind: Now, Metric: "toy_stored"}}, registry)
	for i, is := range []bool{false, true} {
		open = is
		r.read(time.Now())
		if got := r.points[i].values[0]; math.IsNaN(got) == is {
			t.Errorf("%v, open: %v", got, is)
		}
	}
}

// TestRecentIsBounded: neither time nor the number of series makes what is kept larger.
func TestRecentIsBounded(t *testing.T) {
	y := newToy()
	r := NewRecent(y.figures, y.registry)
	for i := range 1000 { // series
		route := fmt.Sprint(i)
		y.requests.WithLabelValues(route).Add(1)
		y.took.WithLabelValues(route).Observe(0.015)
	}
	now := time.Now()
	later := func(readings int) {
		for range readings {
			now = now.Add(every)
			r.read(now)
		}
	}
	later(most)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	later(2 * most)
	runtime.GC()
	runtime.ReadMemStats(&after)
	const slack = 64 << 10
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > slack {
		t.Errorf("it has grown by %d bytes in ten minutes", grown)
	}
	if len(r.points) != most || len(r.before) != back {
		t.Errorf("%d points and %d readings are kept", len(r.points), len(r.before))
	}
	for _, reading := range r.before[0] {
		if len(reading.buckets) > 3 {
			t.Errorf("%d buckets of a histogram that has 3", len(reading.buckets))
		}
	}
}
