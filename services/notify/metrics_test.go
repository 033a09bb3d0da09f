package notify

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Every gauge can be registered beside the others, and says what it is.
func TestGauges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		registry := prometheus.NewPedanticRegistry()
		var names []string
		for _, g := range w.d.gauges() {
			if err := registry.Register(collector(g)); err != nil || g.help == "" || slices.Contains(names, g.name) {
				t.Errorf("%s (%s): %v", g.name, g.help, err)
			}
			names = append(names, g.name)
		}
		if err := registry.Register(w.d.tasks.histogram); err != nil {
			t.Error(err)
		}
		all, err := registry.Gather()
		if err != nil || len(all) != len(names)+1 {
			t.Errorf("%d of %d are shown, %v", len(all), len(names)+1, err)
		}
		for _, name := range []string{"async_queue_depth", "async_oldest_age_seconds", "channel_dropped_total", "lost_deliveries_total"} {
			if !slices.Contains(names, name) {
				t.Errorf("there is no %s", name)
			}
		}
		w.stop()
	})
}

// What the gauges tell is so.
func TestGaugesTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, func(hook) outcome { return outcome{} })
		w := newWorld(t, patient(map[string]string{"window": "3"}))
		w.subscribe(p.host, withConcurrency(2))
		w.mustPost(aSeries("n", 10, "", "t")...)
		pass(2 * time.Second)
		for _, g := range w.d.gauges() {
			want, known := map[string]float64{
				"async_queue_depth": 10, "async_busy_workers": 2, "async_hanging_workers": 2, "async_lagging_subscriptions": 1,
				"async_oldest_age_seconds": 2, "wal_records_total": 10, "lost_deliveries_total": 0, "streams": 0,
			}[g.name]
			if got := g.read(); known && got != want {
				t.Errorf("%s is %v, want %v", g.name, got, want)
			}
		}
		w.stop()
	})
}

// Each attempt is counted under its class of answer.
func TestTaskDurations(t *testing.T) {
	statuses := []int{200, 204, 299, 301, 400, 404, 410, 429, 429, 500, 503, 0}
	want := map[string]uint64{"2xx": 3, "3xx": 1, "4xx": 3, "429": 2, "5xx": 2, "none": 1}
	tasks := newTasks()
	for _, status := range statuses {
		tasks.observe(outcome{status: status}, int64(time.Second))
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(tasks.histogram)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "async_task_duration_seconds" {
		t.Fatalf("%v, %v", families, err)
	}
	got := 0
	for _, m := range families[0].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		got++
		if h, n := m.GetHistogram(), want[labels["status"]]; labels["async_type"] != "webhook" || h.GetSampleCount() != n || h.GetSampleSum() != float64(n) {
			t.Errorf("%v: %d of %v s, want %d of a second each", labels, h.GetSampleCount(), h.GetSampleSum(), n)
		}
	}
	if got != len(want) {
		t.Errorf("%d classes, want %d", got, len(want))
	}
}
