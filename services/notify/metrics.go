package notify

import (
	"time"

	"dyno/parts/daemon"
)

// prefix of all that Prometheus scrapes. The agent has the gauges' names without it.
const prefix = "notifyd_"

// gauges are the figures that the agent samples and Prometheus scrapes.
func (d *Dispatcher) gauges() []daemon.Metric {
	deliverer, notices, streams := d.deliverer, d.store.Notices, d.streams
	return []daemon.Metric{
		{Name: "async_queue_depth", Help: "notices accepted and not yet delivered, per subscription", Read: func() float64 { return float64(deliverer.Pending.Load()) }},
		{Name: "async_queue_bytes", Help: "bytes of pending notices in memory, per subscription", Read: func() float64 { return float64(deliverer.Loaded.Load()) }},
		{Name: "async_oldest_age_seconds", Help: "age of the oldest notice that a subscription has not got", Read: func() float64 {
			return d.table.Oldest(time.Now()).Seconds()
		}},
		{Name: "async_busy_workers", Help: "workers that are sending", Read: func() float64 { return float64(deliverer.Busy.Load()) }},
		{Name: "async_hanging_workers", Help: "workers whose webhooks take longer than a second", Read: func() float64 {
			_, hanging := deliverer.Workers()
			return float64(hanging)
		}},
		{Name: "async_lagging_subscriptions", Help: "subscriptions whose notices do not fit into memory and wait in the log", Read: func() float64 {
			return float64(deliverer.Lagging())
		}},
		{Name: "queue_parks_total", Help: "times that a worker found the queue empty and slept", Read: func() float64 { return float64(deliverer.QueueStats().Parks) }},
		{Name: "queue_peak", Help: "the most lanes that ever waited for a worker", Read: func() float64 { return float64(deliverer.QueueStats().Peak) }},
		{Name: "wal_bytes", Help: "bytes of the log of notices", Read: func() float64 { return float64(notices.Size()) }},
		{Name: "wal_records_total", Help: "notices appended since the process began", Read: func() float64 { return float64(notices.Stats().Records) }},
		{Name: "wal_groups_total", Help: "writes of the log of notices, each of one notice or more", Read: func() float64 { return float64(notices.Stats().Groups) }},
		{Name: "wal_syncs_total", Help: "fsyncs of the log of notices", Read: func() float64 { return float64(notices.Stats().Syncs) }},
		{Name: "lost_deliveries_total", Help: "deliveries lost to damage of the log", Read: func() float64 { return float64(deliverer.Lost.Load()) }},
		{Name: "streams", Help: "clients that follow by server-sent events or WebSocket", Read: func() float64 { return float64(streams.Count()) }},
		{Name: "streamed_notices_total", Help: "notices sent to streams", Read: func() float64 { return float64(streams.Stats().Sent) }},
		{Name: "streams_cut_total", Help: "streams cut off because their readers were too slow", Read: func() float64 { return float64(streams.Stats().CutOff) }},
	}
}

// totals are what GET /v1/stats sums up over all subscriptions.
var totals = []daemon.Metric{
	{Name: "accepted_total", Help: "deliveries owed so far: one for each notice and subscription that wants it"},
	{Name: "delivered_total", Help: "deliveries answered with 2xx"},
	{Name: "attempts_total", Help: "webhooks sent since the process began"},
	{Name: "webhooks_total", Help: "webhooks answered with 2xx since the process began"},
	{Name: "retries_total", Help: "attempts at a delivery after its first"},
	{Name: "refused_total", Help: "deliveries not taken on because of a 429, since the process began"},
	{Name: "purged_total", Help: "dead letters that were deleted, by hand or to make room"},
	{Name: "dead_deliveries", Help: "deliveries given up; one whose letter is replayed is pending again"},
	{Name: "dead_letters", Help: "dead letters that are kept and can be replayed"},
	{Name: "async_oldest_reachable_age_seconds", Help: "age of the oldest notice that a subscription has not got whose receiver is neither failing nor disabled"},
}

// handedOver is the help of a metric that exists with event loops.
const handedOver = "how often event loops handed a connection over to net/http, by reason: a header field's name, path, method, host, body (too large), HTTP/2 or framing"

// collect sets the totals from one reading.
func (d *Dispatcher) collect(set daemon.Set) {
	s := d.api.Stats(0)
	set("accepted_total", float64(s.Accepted))
	set("delivered_total", float64(s.Delivered))
	set("attempts_total", float64(s.Attempts))
	set("webhooks_total", float64(s.Webhooks))
	set("retries_total", float64(s.Retried))
	set("refused_total", float64(s.Refused))
	set("purged_total", float64(s.Purged))
	set("dead_deliveries", float64(s.Dead))
	set("dead_letters", float64(s.DeadLetters))
	set("async_oldest_reachable_age_seconds", s.OldestReachable)
}
