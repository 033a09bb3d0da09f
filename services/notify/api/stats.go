package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"dyno/parts/refusal"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/subscription"
)

// Stats is what GET /v1/stats answers: counts per (notice, subscription), in total and by
// subscription.
type Stats struct {
	Durable bool   `json:"durable"` // always true: what is pending outlives the process
	Log     string `json:"log"`
	Seq     uint64 `json:"seq"` // of the last notice
	subscription.Counts
	Pending          int     `json:"pending"`
	Attempts         int64   `json:"attempts"`     // webhooks sent since the process began
	Webhooks         int64   `json:"webhooks"`     // webhooks answered with 2xx since the process began
	DeadLetters      int     `json:"dead_letters"` // dead letters that are kept
	OldestAgeSeconds float64 `json:"oldest_age_seconds"`

	// OldestReachable leaves out receivers that are failing or disabled.
	OldestReachable float64 `json:"oldest_reachable_age_seconds"`

	Workers        int    `json:"workers"` // workers wanted, without those that hang
	BusyWorkers    int64  `json:"busy_workers"`
	HangingWorkers int    `json:"hanging_workers"` // workers whose webhooks take longer than a second; others take their places
	LanesReady     int64  `json:"lanes_ready"`     // lanes that wait for a worker
	MemoryBytes    int64  `json:"memory_bytes"`    // of pending notices in memory, each counted for every subscription
	LogBytes       int64  `json:"log_bytes"`
	LogFirstSeq    uint64 `json:"log_first_seq"`
	LogLastSeq     uint64 `json:"log_last_seq"`
	Backlog        int64  `json:"backlog"` // pending deliveries whose notices are not in memory
	Streams        int    `json:"streams"`

	HandedOver map[string]uint64 `json:"handed_over,omitempty"` // how often event loops handed a connection over to net/http, by reason

	States        map[string]int `json:"states"`         // subscriptions by state
	Matching      int            `json:"matching"`       // subscriptions that the query selects
	Subscriptions []StatsRow     `json:"subscriptions"`  // the selected ones, the oldest pending first; deleted subscriptions are in the totals only
	More          int            `json:"more,omitempty"` // selected ones behind those that are listed
}

// StatsRow is one subscription.
type StatsRow struct {
	ID    string   `json:"id"`
	URL   string   `json:"url"`
	Types []string `json:"types,omitempty"`
	State string   `json:"state"` // ok, throttled, failing, disabled
	subscription.Counts
	Pending          int     `json:"pending"` // counted in the lanes and the backlog, not derived from other counts
	Backlog          int64   `json:"backlog"` // pending notices that are not in memory
	InFlight         int     `json:"in_flight"`
	Limit            int     `json:"limit"` // webhooks that may be in flight at present
	OldestAgeSeconds float64 `json:"oldest_age_seconds"`
	LastStatus       int     `json:"last_status,omitempty"`
	LastError        string  `json:"last_error,omitempty"`
	DeadLetters      int     `json:"dead_letters"`

	Retrying    int       `json:"retrying,omitempty"`    // keys whose first notice failed and waits to be sent again
	Tried       int       `json:"tried,omitempty"`       // most attempts at one of these notices
	NextAttempt time.Time `json:"next_attempt,omitzero"` // when the first of them, or what is held back, is sent again
}

// question selects what is listed.
type question struct {
	search
	state         string // "" means any
	limit, offset int
}

// Stats reads the counters and lists up to limit subscriptions. While deliveries go on, the rows
// are of slightly different moments.
func (a *API) Stats(limit int) Stats { return a.stats(question{limit: limit}) }

func (a *API) stats(q question) Stats {
	now := time.Now()
	first, _ := a.Store.Notices.Bounds()
	last := a.Store.Last()
	out := Stats{
		Durable: true, Log: a.Store.Engine(), Seq: last, Counts: a.Store.Journal.Departed(),
		LanesReady: int64(a.Deliverer.QueueStats().Ready), MemoryBytes: a.Deliverer.Loaded.Load(),
		Attempts: a.Deliverer.Attempts.Load(), Webhooks: a.Deliverer.Webhooks.Load(), BusyWorkers: a.Deliverer.Busy.Load(),
		LogBytes: a.Store.Notices.Size(), LogFirstSeq: first, LogLastSeq: last,
		Streams: a.Streams.Count(), States: map[string]int{}, Subscriptions: []StatsRow{},
	}
	out.Workers, out.HangingWorkers = a.Deliverer.Workers()
	if f := a.front.Load(); f != nil {
		out.HandedOver = f.HandedOver()
	}
	if q.limit > 0 {
		out.Subscriptions = make([]StatsRow, 0, a.Table.Len())
	}
	for status := range a.Table.Statuses() {
		row := rowOf(status, now)
		row.DeadLetters = a.Store.Journal.CountDeadLetters(row.ID)
		out.add(row)
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

// add counts a subscription in the totals.
func (s *Stats) add(row StatsRow) {
	s.Counts = s.Counts.Plus(row.Counts)
	s.Pending += row.Pending
	s.Backlog += row.Backlog
	s.DeadLetters += row.DeadLetters
	s.States[row.State]++
	s.OldestAgeSeconds = max(s.OldestAgeSeconds, row.OldestAgeSeconds)
	if row.State == "ok" || row.State == "throttled" {
		s.OldestReachable = max(s.OldestReachable, row.OldestAgeSeconds)
	}
}

func rowOf(s dispatch.Status, now time.Time) StatsRow {
	r := StatsRow{
		ID: s.Definition.ID, URL: s.Definition.URL, Types: s.Definition.Types, State: s.State, Counts: s.Counts, Pending: s.Pending, Backlog: s.Backlog,
		InFlight: s.InFlight, Limit: s.Limit, LastStatus: s.Last.Status, LastError: s.Last.Err,
		Retrying: s.Retrying, Tried: s.Tried, NextAttempt: s.NextAttempt,
	}
	if s.Oldest != 0 {
		r.OldestAgeSeconds = now.Sub(time.Unix(0, s.Oldest)).Seconds()
	}
	return r
}

// search is a text that subscriptions are searched for.
type search string

// maxSearch bounds it, in bytes: a URL is no longer.
const maxSearch = dispatch.MaxURL

// searchOf reads the search of a request.
func searchOf(r *http.Request) (search, error) {
	text := r.URL.Query().Get("q")
	if len(text) > maxSearch {
		return "", refusal.Field("q", "q: give %d bytes at most", maxSearch)
	}
	return search(strings.ToLower(text)), nil
}

// finds reports whether a subscription's id, address or one of its types contains the text, in any
// case.
func (s search) finds(id, url string, types []string) bool {
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), string(s)) }
	return s == "" || has(id) || has(url) || slices.ContainsFunc(types, has)
}

const (
	listedSubscriptions = 1000 // unless the client gives a limit
	listedLetters       = 100  // unless the client gives a limit

	// MaxListed is the largest limit.
	MaxListed = 10_000
)

func (a *API) getStats(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	q := question{state: r.URL.Query().Get("state")}
	var err error
	if q.limit, err = limitOf(r, listedSubscriptions); err == nil {
		q.search, err = searchOf(r)
	}
	if text := r.URL.Query().Get("offset"); text != "" && err == nil {
		if q.offset, err = strconv.Atoi(text); errors.Is(err, strconv.ErrRange) {
			err = nil // the offset is the largest int, or the smallest
		}
		if err != nil || q.offset < 0 {
			err = refusal.Field("offset", "offset: give how many of the list to leave out")
		}
	}
	if err == nil && !slices.Contains([]string{"", "ok", "throttled", "failing", "disabled"}, q.state) {
		err = refusal.Field("state", "state: give ok, throttled, failing or disabled")
	}
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, a.stats(q), nil
}

// limitOf reads the limit of a request.
func limitOf(r *http.Request, otherwise int) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxListed {
		return 0, refusal.Field("limit", "limit: give 1 to %d", MaxListed)
	}
	return n, nil
}
