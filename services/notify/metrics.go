package notify

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/services/notify/api"
)

// prefix of all that Prometheus scrapes. The agent has the gauges' names without it.
const prefix = "notifyd_"

// gauges are the figures that the agent samples and Prometheus scrapes.
func (d *Dispatcher) gauges() []gauge {
	deliverer, notices, streams := d.deliverer, d.store.Notices, d.streams
	return []gauge{
		{"async_queue_depth", "notices accepted and not yet delivered, per subscription", func() float64 { return float64(deliverer.Pending.Load()) }},
		{"async_queue_bytes", "bytes of pending notices in memory, per subscription", func() float64 { return float64(deliverer.Loaded.Load()) }},
		{"async_oldest_age_seconds", "age of the oldest notice that a subscription has not got", func() float64 {
			return d.table.Oldest(time.Now()).Seconds()
		}},
		{"async_busy_workers", "workers that are sending", func() float64 { return float64(deliverer.Busy.Load()) }},
		{"async_hanging_workers", "workers whose webhooks take longer than a second", func() float64 {
			_, hanging := deliverer.Workers()
			return float64(hanging)
		}},
		{"async_lagging_subscriptions", "subscriptions whose notices do not fit into memory and wait in the log", func() float64 {
			return float64(len(d.reader.Lagging()))
		}},
		{"channel_dropped_total", "lanes that the queue refused; they wait beside it, none is lost", func() float64 {
			_, rejected := deliverer.Lanes()
			return float64(rejected)
		}},
		{"queue_growths_total", "times that the queue enlarged its memory", func() float64 { return float64(deliverer.QueueStats().Growths) }},
		{"queue_parks_total", "times that a worker found the queue empty and slept", func() float64 { return float64(deliverer.QueueStats().Waits) }},
		{"queue_peak", "the most lanes that ever waited in the queue", func() float64 { return float64(deliverer.QueueStats().Peak) }},
		{"queue_skew", "the deepest shard's depth divided by the mean; 1 means even, or no shards", func() float64 { return skew(deliverer.QueueStats().Depths) }},
		{"wal_bytes", "bytes of the log of notices", func() float64 { return float64(notices.Size()) }},
		{"wal_records_total", "notices appended since the process began", func() float64 { return float64(notices.Stats().Records) }},
		{"wal_groups_total", "writes of the log of notices, each of one notice or more", func() float64 { return float64(notices.Stats().Groups) }},
		{"wal_syncs_total", "fsyncs of the log of notices", func() float64 { return float64(notices.Stats().Syncs) }},
		{"lost_deliveries_total", "deliveries lost to damage of the log", func() float64 { return float64(d.reader.Lost()) }},
		{"streams", "clients that follow by server-sent events or WebSocket", func() float64 { return float64(streams.Count()) }},
		{"streamed_notices_total", "notices sent to streams", func() float64 { return float64(streams.Stats().Sent) }},
		{"streams_cut_total", "streams cut off because their readers were too slow", func() float64 { return float64(streams.Stats().CutOff) }},
	}
}

type gauge struct {
	name, help string
	read       func() float64
}

// collector gives a gauge to Prometheus, as a counter if it only grows.
func collector(g gauge) prometheus.Collector {
	if strings.HasSuffix(g.name, "_total") {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: prefix + g.name, Help: g.help}, g.read)
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + g.name, Help: g.help}, g.read)
}

// totals gives Prometheus what GET /v1/stats sums up over all subscriptions, in one look.
type totals struct{ api *api.API }

func total(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, nil, nil)
}

var totalsOf = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*api.Stats) float64
}{
	{total("accepted_total", "deliveries owed so far: one for each notice and subscription that wants it"), prometheus.CounterValue, func(s *api.Stats) float64 { return float64(s.Accepted) }},
	{total("delivered_total", "deliveries answered with 2xx"), prometheus.CounterValue, func(s *api.Stats) float64 { return float64(s.Delivered) }},
	{total("attempts_total", "webhooks sent since the process began"), prometheus.CounterValue, func(s *api.Stats) float64 { return float64(s.Attempts) }},
	{total("webhooks_total", "webhooks answered with 2xx since the process began"), prometheus.CounterValue, func(s *api.Stats) float64 { return float64(s.Webhooks) }},
	{total("retries_total", "attempts at a delivery after its first"), prometheus.CounterValue, func(s *api.Stats) float64 { return float64(s.Retried) }},
	{total("refused_total", "deliveries not taken on because of a 429, since the process began"), prometheus.CounterValue, func(s *api.Stats) float64 { return float64(s.Refused) }},
	{total("purged_total", "dead letters that were deleted, by hand or to make room"), prometheus.CounterValue, func(s *api.Stats) float64 { return float64(s.Purged) }},
	{total("dead_deliveries", "deliveries given up; one whose letter is replayed is pending again"), prometheus.GaugeValue, func(s *api.Stats) float64 { return float64(s.Dead) }},
	{total("dead_letters", "dead letters that are kept and can be replayed"), prometheus.GaugeValue, func(s *api.Stats) float64 { return float64(s.DeadLetters) }},
	{total("async_oldest_reachable_age_seconds", "age of the oldest notice that a subscription has not got whose receiver is neither failing nor disabled"), prometheus.GaugeValue,
		func(s *api.Stats) float64 { return s.OldestReachable }},
}

func (totals) Describe(out chan<- *prometheus.Desc) {
	for _, t := range totalsOf {
		out <- t.desc
	}
}

func (t totals) Collect(out chan<- prometheus.Metric) {
	s := t.api.Stats(0)
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
