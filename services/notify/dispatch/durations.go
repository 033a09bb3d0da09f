package dispatch

import (
	"github.com/prometheus/client_golang/prometheus"

	"dyno/services/notify/webhook"
)

// durations times attempts, by class of answer.
type durations struct {
	histogram *prometheus.HistogramVec
	by        map[string]prometheus.Observer // by class, so that an attempt looks nothing up by labels
}

// Classes of answers.
var classes = []string{"2xx", "3xx", "4xx", "429", "5xx", "none"}

func newDurations() *durations {
	d := &durations{
		histogram: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "notifyd_async_task_duration_seconds", Help: "attempts to deliver, by type of task and class of answer",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16), // 0.5 ms to 16 s
		}, []string{"async_type", "status"}),
		by: map[string]prometheus.Observer{},
	}
	for _, class := range classes {
		d.by[class] = d.histogram.WithLabelValues("webhook", class)
	}
	return d
}

func (d *durations) observe(o webhook.Outcome, ns int64) { d.by[classOf(o)].Observe(float64(ns) / 1e9) }

func classOf(o webhook.Outcome) string {
	switch {
	case o.Status == 429:
		return "429"
	case o.Status >= 500:
		return "5xx"
	case o.Status >= 400:
		return "4xx"
	case o.Status >= 300:
		return "3xx"
	case o.Status >= 200:
		return "2xx"
	}
	return "none"
}
