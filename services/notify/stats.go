package notify

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
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
	Attempts         int64   `json:"attempts"`     // webhooks that were sent, since the process began
	Webhooks         int64   `json:"webhooks"`     // of these, answered with 2xx
	DeadLetters      int     `json:"dead_letters"` // that are kept
	OldestAgeSeconds float64 `json:"oldest_age_seconds"`

	// OldestReachable leaves out receivers that are failing or disabled.
	OldestReachable float64 `json:"oldest_reachable_age_seconds"`

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
	Streams        int    `json:"streams"`

	States        map[string]int `json:"states"`         // subscriptions by state
	Matching      int            `json:"matching"`       // subscriptions that fit the question
	Subscriptions []StatsRow     `json:"subscriptions"`  // of these, the oldest pending first; departed ones are in the total only
	More          int            `json:"more,omitempty"` // of these, those behind what is listed
}

// StatsRow is one subscription's part.
type StatsRow struct {
	ID    string   `json:"id"`
	URL   string   `json:"url"`
	Types []string `json:"types,omitempty"`
	State string   `json:"state"` // ok, throttled, failing, disabled
	journal.Counts
	Pending          int     `json:"pending"` // counted in the lanes and the backlog, not derived from the others
	Backlog          int64   `json:"backlog"` // of these, what is not in memory
	InFlight         int     `json:"in_flight"`
	Limit            int     `json:"limit"` // webhooks that it is trusted with at once, at present
	OldestAgeSeconds float64 `json:"oldest_age_seconds"`
	LastStatus       int     `json:"last_status,omitempty"`
	LastError        string  `json:"last_error,omitempty"`
	DeadLetters      int     `json:"dead_letters"`

	Retrying    int       `json:"retrying,omitempty"`    // keys whose first notice failed and waits to be sent again
	Tried       int       `json:"tried,omitempty"`       // most attempts at one of these notices
	NextAttempt time.Time `json:"next_attempt,omitzero"` // when the first of them, or whatever is held back, is sent again
}

// question is what a client wants listed.
type question struct {
	search
	state         string // "": any
	limit, offset int
}

// Stats reads the counters and lists up to limit subscriptions. While deliveries go on, the rows are of
// slightly different moments.
func (d *Dispatcher) Stats(limit int) Stats { return d.stats(question{limit: limit}) }

func (d *Dispatcher) stats(q question) Stats {
	now := time.Now()
	first, _ := d.notices.Bounds()
	out := Stats{
		Durable: !d.volatile(), Log: d.config.Log, Seq: d.head.Load() - 1, Counts: d.journal.Departed(), Attempts: d.attempts.Load(), Webhooks: d.webhooks.Load(),
		States: map[string]int{}, BusyWorkers: d.busy.Load(), LanesReady: d.lanes.waiting.Load(),
		QueueDepths: d.lanes.queue.Stats().Depths, MemoryBytes: d.loaded.Load(), LogBytes: d.notices.Size(), LogFirstSeq: first, LogLastSeq: d.head.Load() - 1,
		Streams: d.streams.Count(), Subscriptions: []StatsRow{},
	}
	out.Workers, out.HangingWorkers = d.workers.count()
	subs := d.subscriptions()
	if q.limit > 0 {
		out.Subscriptions = make([]StatsRow, 0, len(subs))
	}
	for _, sub := range subs {
		row := sub.row(now)
		out.Counts = out.Counts.Plus(row.Counts)
		out.Pending += row.Pending
		out.Backlog += row.Backlog
		row.DeadLetters = d.journal.CountLetters(row.ID)
		out.DeadLetters += row.DeadLetters
		out.States[row.State]++
		out.OldestAgeSeconds = max(out.OldestAgeSeconds, row.OldestAgeSeconds)
		if row.State == "ok" || row.State == "throttled" {
			out.OldestReachable = max(out.OldestReachable, row.OldestAgeSeconds)
		}
		if q.limit > 0 && (q.state == "" || q.state == row.State) && q.finds(row.ID, row.URL, row.Types) {
			out.Subscriptions = append(out.Subscriptions, row)
		}
	}
	out.Matching = len(out.Subscriptions)
	slices.SortStableFunc(out.Subscriptions, func(a, b StatsRow) int { return cmp.Compare(b.OldestAgeSeconds, a.OldestAgeSeconds) })
	out.Subscriptions = out.Subscriptions[min(q.offset, out.Matching):]
	if out.More = len(out.Subscriptions) - q.limit; out.More > 0 {
		out.Subscriptions = out.Subscriptions[:q.limit]
	} else {
		out.More = 0
	}
	return out
}

func (sub *subscription) row(now time.Time) StatsRow {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	r := StatsRow{
		ID: sub.id, URL: sub.def.URL, Types: sub.def.Types, State: sub.state(), Counts: sub.counts, Pending: sub.pending(), Backlog: sub.behind.backlog,
		InFlight: sub.gate.sending, Limit: sub.gate.limit, LastStatus: sub.last.status, LastError: sub.last.err,
	}
	if it := sub.ages.oldest; it != nil {
		r.OldestAgeSeconds = now.Sub(time.Unix(0, it.notice.accepted)).Seconds()
	}
	for _, l := range sub.lanes {
		if l.n == 0 || l.first.tries == 0 || l.state == laneRunning {
			continue
		}
		r.Retrying++
		r.Tried = max(r.Tried, l.first.tries)
		if l.state == laneParked && (r.NextAttempt.IsZero() || l.due.Before(r.NextAttempt)) {
			r.NextAttempt = l.due
		}
	}
	if g := &sub.gate; g.paused && g.throttled && r.Pending > 0 && g.until.After(r.NextAttempt) {
		r.NextAttempt = g.until // it holds back all
	}
	return r
}

// search is a text that subscriptions are looked through for.
type search string

// maxSearch bounds it, bytes: a URL is no longer.
const maxSearch = maxURL

// searchOf reads what a client looks for.
func searchOf(r *http.Request) (search, error) {
	text := r.URL.Query().Get("q")
	if len(text) > maxSearch {
		return "", badField("q", "q: give %d bytes at most", maxSearch)
	}
	return search(strings.ToLower(text)), nil
}

// finds reports whether a subscription's id, address or one of its types has the text, in any case.
func (s search) finds(id, url string, types []string) bool {
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), string(s)) }
	return s == "" || has(id) || has(url) || slices.ContainsFunc(types, has)
}

// listed is how many subscriptions and dead letters an answer lists unless the client says otherwise, and the
// most that it may ask for.
const (
	listedSubscriptions = 1000
	listedLetters       = 100
	maxListed           = 10_000
)

func (d *Dispatcher) getStats(w http.ResponseWriter, r *http.Request) {
	q := question{state: r.URL.Query().Get("state")}
	var err error
	if q.limit, err = limitOf(r, listedSubscriptions); err == nil {
		q.search, err = searchOf(r)
	}
	if text := r.URL.Query().Get("offset"); text != "" && err == nil {
		if q.offset, err = strconv.Atoi(text); err != nil || q.offset < 0 {
			err = badField("offset", "offset: give how many of the list to leave out")
		}
	}
	if err == nil && !slices.Contains([]string{"", "ok", "throttled", "failing", "disabled"}, q.state) {
		err = badField("state", "state: give ok, throttled, failing or disabled")
	}
	if err != nil {
		answerError(w, err)
		return
	}
	answer(w, http.StatusOK, d.stats(q))
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
