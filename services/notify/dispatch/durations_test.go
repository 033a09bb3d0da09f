package dispatch

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/services/notify/webhook"
)

// Each attempt is counted under its class of answer.
func TestTaskDurations(t *testing.T) {
	statuses := []int{200, 204, 299, 301, 400, 404, 410, 429, 429, 500, 503, 0}
	want := map[string]uint64{"2xx": 3, "3xx": 1, "4xx": 3, "429": 2, "5xx": 2, "none": 1}
	d := newDurations()
	for _, status := range statuses {
		d.observe(webhook.Outcome{Status: status}, int64(time.Second))
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(d.histogram)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "notifyd_async_task_duration_seconds" {
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
