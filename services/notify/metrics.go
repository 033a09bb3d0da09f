package notify

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// prefix of all that Prometheus scrapes. The agent has the gauges' names without it.
const prefix = "notifyd_"

// gauges are the figures that the agent samples and Prometheus scrapes.
func (d *Dispatcher) gauges() []gauge {
	return []gauge{
		{"async_queue_depth", "notices accepted and not yet delivered, per subscription", func() float64 { return float64(d.pending.Load()) }},
		{"async_queue_bytes", "bytes of those in memory, per subscription", func() float64 { return float64(d.loaded.Load()) }},
		{"async_oldest_age_seconds", "age of the oldest notice that a subscription has not got", func() float64 {
			return d.oldest(time.Now()).Seconds()
		}},
		{"async_busy_workers", "workers that are sending", func() float64 { return float64(d.busy.Load()) }},
		{"async_hanging_workers", "of these, those whose webhooks take longer than a second", func() float64 {
			_, hanging := d.workers.count()
			return float64(hanging)
		}},
		{"async_lagging_subscriptions", "subscriptions whose notices do not fit into memory and wait in the log", func() float64 {
			return float64(len(d.pager.all()))
		}},
		{"channel_dropped_total", "lanes that the queue refused; they wait beside it, nothing is lost", func() float64 { return float64(d.lanes.spilled.Load()) }},
		{"queue_growths_total", "times that the queue enlarged its memory", func() float64 { return float64(d.lanes.queue.Stats().Growths) }},
		{"queue_parks_total", "times that a worker found the queue empty and slept", func() float64 { return float64(d.lanes.queue.Stats().Waits) }},
		{"queue_peak", "the most lanes that ever waited in the queue", func() float64 { return float64(d.lanes.queue.Stats().Peak) }},
		{"queue_skew", "the deepest shard's depth by the mean; 1: even, or no shards", func() float64 { return skew(d.lanes.queue.Stats().Depths) }},
		{"wal_bytes", "of the log of notices", func() float64 { return float64(d.notices.Size()) }},
		{"wal_records_total", "notices appended since the process began", func() float64 { return float64(d.notices.Stats().Records) }},
		{"wal_groups_total", "writes that they shared", func() float64 { return float64(d.notices.Stats().Groups) }},
		{"wal_syncs_total", "fsyncs of the log of notices", func() float64 { return float64(d.notices.Stats().Syncs) }},
		{"lost_deliveries_total", "deliveries that cannot be made since the log is damaged", func() float64 { return float64(d.lost.Load()) }},
		{"streams", "clients that follow by server-sent events or WebSocket", func() float64 { return float64(d.streams.Count()) }},
		{"streamed_notices_total", "notices sent to them", func() float64 { return float64(d.streams.Stats().Sent) }},
		{"streams_cut_total", "streams cut off because their readers were too slow", func() float64 { return float64(d.streams.Stats().CutOff) }},
	}
}

type gauge struct {
	name, help string
	read       func() float64
}

// collector gives a gauge to Prometheus, which wants to know what only grows.
func collector(g gauge) prometheus.Collector {
	if strings.HasSuffix(g.name, "_total") {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: prefix + g.name, Help: g.help}, g.read)
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + g.name, Help: g.help}, g.read)
}

// totals gives Prometheus what GET /v1/stats sums up over all subscriptions, in one look.
type totals struct{ d *Dispatcher }

func total(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, nil, nil)
}

var totalsOf = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*Stats) float64
}{
	{total("accepted_total", "deliveries owed: one for each notice and subscription that wants it"), prometheus.CounterValue, func(s *Stats) float64 { return float64(s.Accepted) }},
	{total("delivered_total", "of these, answered with 2xx"), prometheus.CounterValue, func(s *Stats) float64 { return float64(s.Delivered) }},
	{total("attempts_total", "webhooks sent since the process began"), prometheus.CounterValue, func(s *Stats) float64 { return float64(s.Attempts) }},
	{total("webhooks_total", "of these, answered with 2xx"), prometheus.CounterValue, func(s *Stats) float64 { return float64(s.Webhooks) }},
	{total("retries_total", "attempts at a delivery after its first"), prometheus.CounterValue, func(s *Stats) float64 { return float64(s.Retried) }},
	{total("refused_total", "deliveries not taken on because of a 429, since the process began"), prometheus.CounterValue, func(s *Stats) float64 { return float64(s.Refused) }},
	{total("purged_total", "dead letters that were deleted, by hand or to make room"), prometheus.CounterValue, func(s *Stats) float64 { return float64(s.Purged) }},
	{total("dead_deliveries", "deliveries given up; one whose letter is replayed is pending again"), prometheus.GaugeValue, func(s *Stats) float64 { return float64(s.Dead) }},
	{total("dead_letters", "dead letters that are kept and can be replayed"), prometheus.GaugeValue, func(s *Stats) float64 { return float64(s.DeadLetters) }},
	{total("async_oldest_reachable_age_seconds", "age of the oldest notice that a subscription has not got whose receiver is neither failing nor disabled"), prometheus.GaugeValue,
		func(s *Stats) float64 { return s.OldestReachable }},
}

func (totals) Describe(out chan<- *prometheus.Desc) {
	for _, t := range totalsOf {
		out <- t.desc
	}
}

func (t totals) Collect(out chan<- prometheus.Metric) {
	s := t.d.Stats(0)
	for _, t := range totalsOf {
		out <- prometheus.MustNewConstMetric(t.desc, t.kind, t.of(&s))
	}
}

func skew(depths []int) float64 {
	sum, deepest := 0, 0
	for _, n := range depths {
		sum += n
		deepest = max(deepest, n)
	}
	if sum == 0 {
		return 1
	}
	return float64(deepest*len(depths)) / float64(sum)
}

// tasks times attempts, by what came of them.
type tasks struct {
	histogram *prometheus.HistogramVec
	by        map[string]prometheus.Observer // by class, so that a webhook looks nothing up by labels
}

// Classes of answers.
var classes = []string{"2xx", "3xx", "4xx", "429", "5xx", "none"}

func newTasks() *tasks {
	t := &tasks{
		histogram: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "async_task_duration_seconds", Help: "attempts to deliver, by type of task and class of answer",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16), // 0.5 ms to 16 s
		}, []string{"async_type", "status"}),
		by: map[string]prometheus.Observer{},
	}
	for _, class := range classes {
		t.by[class] = t.histogram.WithLabelValues("webhook", class)
	}
	return t
}

func (t *tasks) observe(o outcome, ns int64) { t.by[o.class()].Observe(float64(ns) / 1e9) }

func (o outcome) class() string {
	switch {
	case o.status == 429:
		return "429"
	case o.status >= 500:
		return "5xx"
	case o.status >= 400:
		return "4xx"
	case o.status >= 300:
		return "3xx"
	case o.status >= 200:
		return "2xx"
	}
	return "none"
}
