package notify

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"dyno/services/notify/journal"
)

// Stats is what GET /v1/stats answers: counts per (notice, subscription), in total and by subscription.
type Stats struct {
	Durable bool   `json:"durable"` // false: what is pending is lost with the process
	Log     string `json:"log"`
	Seq     uint64 `json:"seq"` // of the last notice
	journal.Counts
	Pending          int     `json:"pending"`
	Webhooks         int64   `json:"webhooks"` // that were answered with 2xx, since the process began
	OldestAgeSeconds float64 `json:"oldest_age_seconds"`

	Workers        int    `json:"workers"` // that there are to be
	BusyWorkers    int64  `json:"busy_workers"`
	HangingWorkers int    `json:"hanging_workers"` // whose webhooks take longer than a second; others stand in for them
	LanesReady     int64  `json:"lanes_ready"`     // that wait for a worker
	QueueDepths    []int  `json:"queue_depths,omitempty"`
	MemoryBytes    int64  `json:"memory_bytes"` // of pending notices in memory, each counted for every subscription
	LogBytes       int64  `json:"log_bytes"`
	LogFirstSeq    uint64 `json:"log_first_seq"`
	LogLastSeq     uint64 `json:"log_last_seq"`
	Backlog        int64  `json:"backlog"` // of what is pending, what is not in memory
	Lost           int64  `json:"lost"`    // deliveries that cannot be made since the log is damaged; counted among the dead
	Streams        int    `json:"streams"`

	Subscriptions []StatsRow `json:"subscriptions"`  // the oldest pending first; departed ones are in the total only
	More          int        `json:"more,omitempty"` // subscriptions that are not listed
}

// StatsRow is one subscription's part.
type StatsRow struct {
	ID    string `json:"id"`
	URL   string `json:"url"`
	State string `json:"state"` // ok, throttled, failing, disabled
	journal.Counts
	Pending          int     `json:"pending"` // counted in the lanes and the backlog, not derived from the others
	Backlog          int64   `json:"backlog"` // of these, what is not in memory
	InFlight         int     `json:"in_flight"`
	Limit            int     `json:"limit"` // webhooks that it is trusted with at once, at present
	OldestAgeSeconds float64 `json:"oldest_age_seconds"`
	LastStatus       int     `json:"last_status,omitempty"`
	LastError        string  `json:"last_error,omitempty"`
	DeadLetters      int     `json:"dead_letters"`
}

// Stats reads the counters and lists up to limit subscriptions. While deliveries go on, the rows are of
// slightly different moments.
func (d *Dispatcher) Stats(limit int) Stats {
	now := time.Now()
	first, _ := d.notices.Bounds()
	out := Stats{
		Durable: !d.volatile(), Log: d.config.Log, Seq: d.head.Load() - 1, Counts: d.journal.Departed(), Webhooks: d.webhooks.Load(),
		OldestAgeSeconds: d.oldest(now).Seconds(), BusyWorkers: d.busy.Load(), LanesReady: d.lanes.waiting.Load(),
		QueueDepths: d.lanes.queue.Stats().Depths, MemoryBytes: d.loaded.Load(), LogBytes: d.notices.Size(), LogFirstSeq: first, LogLastSeq: d.head.Load() - 1,
		Lost: d.lost.Load(), Streams: d.streams.Count(), Subscriptions: []StatsRow{},
	}
	out.Workers, out.HangingWorkers = d.workers.count()
	for _, sub := range d.subscriptions() {
		row := sub.row(now)
		out.Counts = out.Counts.Plus(row.Counts)
		out.Pending += row.Pending
		out.Backlog += row.Backlog
		out.Subscriptions = append(out.Subscriptions, row)
	}
	slices.SortStableFunc(out.Subscriptions, func(a, b StatsRow) int { return cmp.Compare(b.OldestAgeSeconds, a.OldestAgeSeconds) })
	if out.More = len(out.Subscriptions) - limit; out.More > 0 {
		out.Subscriptions = out.Subscriptions[:limit]
	} else {
		out.More = 0
	}
	for i := range out.Subscriptions {
		row := &out.Subscriptions[i]
		row.DeadLetters = d.journal.CountLetters(row.ID)
	}
	return out
}

func (sub *subscription) row(now time.Time) StatsRow {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	r := StatsRow{
		ID: sub.id, URL: sub.def.URL, State: sub.state(), Counts: sub.counts, Pending: sub.pending(), Backlog: sub.behind.backlog,
		InFlight: sub.gate.sending, Limit: sub.gate.limit, LastStatus: sub.last.status, LastError: sub.last.err,
	}
	if it := sub.ages.oldest; it != nil {
		r.OldestAgeSeconds = now.Sub(time.Unix(0, it.notice.accepted)).Seconds()
	}
	return r
}

// listed is how many subscriptions and dead letters an answer lists unless the client says otherwise, and the
// most that it may ask for.
const (
	listedSubscriptions = 1000
	listedLetters       = 100
	maxListed           = 10_000
)

func (d *Dispatcher) getStats(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r, listedSubscriptions)
	if err != nil {
		answerError(w, err)
		return
	}
	answer(w, http.StatusOK, d.Stats(limit))
}

// limitOf reads how many a client wants to see.
func limitOf(r *http.Request, otherwise int) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxListed {
		return 0, badField("limit", "limit: give 1 to %d", maxListed)
	}
	return n, nil
}
