package notify

import (
	"net/http"

	"dyno/agent/monotonic"
)

// Stats is what GET /v1/stats answers: counts per (notice, subscription), in total and by subscription.
type Stats struct {
	Durable bool `json:"durable"` // false: what is pending is lost with the process
	StatsRow
	Webhooks         int64      `json:"webhooks"` // that were answered with 2xx
	OldestAgeSeconds float64    `json:"oldest_age_seconds"`
	Subscriptions    []StatsRow `json:"subscriptions"` // departed ones are in the total only
}

// StatsRow is one subscription's part, or the total.
type StatsRow struct {
	ID string `json:"id,omitempty"`
	counts
	Pending int `json:"pending"` // counted in the lanes, not derived from the others
}

// Stats reads the counters. While deliveries go on, the rows are of slightly different moments.
func (d *Dispatcher) Stats() Stats {
	out := Stats{Webhooks: d.webhooks.Load(), OldestAgeSeconds: d.oldestAge(), Subscriptions: []StatsRow{}}
	d.mu.RLock()
	defer d.mu.RUnlock()
	out.counts = d.departed
	for _, sub := range d.subs {
		sub.mu.Lock()
		row := StatsRow{ID: sub.id, counts: sub.counts, Pending: sub.pending()}
		sub.mu.Unlock()
		out.counts.add(row.counts)
		out.Pending += row.Pending
		out.Subscriptions = append(out.Subscriptions, row)
	}
	return out
}

func (d *Dispatcher) getStats(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, d.Stats())
}

// oldestAge is the age in seconds of the oldest notice that some subscription has not got; 0 if there is
// none.
func (d *Dispatcher) oldestAge() float64 {
	now := monotonic.Now()
	oldest := now
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, sub := range d.subs {
		if accepted, ok := sub.oldest(); ok {
			oldest = min(oldest, accepted)
		}
	}
	return float64(now-oldest) / 1e9
}

// gauges are the figures that the agent samples and Prometheus scrapes.
func (d *Dispatcher) gauges() []gauge {
	return []gauge{
		{"async_queue_depth", "notices accepted and not yet delivered, per subscription", func() float64 { return float64(d.reserved.Load()) }},
		{"async_queue_bytes", "bytes of these", func() float64 { return float64(d.reservedBytes.Load()) }},
		{"async_oldest_age_seconds", "age of the oldest of these", d.oldestAge},
		{"async_busy_workers", "workers that are sending", func() float64 { return float64(d.busy.Load()) }},
		{"channel_dropped_total", "lanes that the queue refused; they wait beside it, nothing is lost", func() float64 { return float64(d.lanes.spilled.Load()) }},
		{"queue_growths_total", "times that the queue enlarged its memory", func() float64 { return float64(d.lanes.queue.Stats().Growths) }},
		{"queue_peak", "the most lanes that ever waited in the queue", func() float64 { return float64(d.lanes.queue.Stats().Peak) }},
		{"queue_skew", "the deepest shard's depth by the mean; 1: even, or no shards", func() float64 { return skew(d.lanes.queue.Stats().Depths) }},
	}
}

type gauge struct {
	name, help string
	read       func() float64
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
