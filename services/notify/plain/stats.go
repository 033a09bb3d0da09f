package main

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// row is one line of the statistics.
type row struct {
	ID    string `json:"id"`
	URL   string `json:"url"`
	State string `json:"state"` // ok, failing or disabled
	counts
	Pending    int     `json:"pending"`
	Backlog    int     `json:"backlog"` // what is pending and not in memory: nothing
	InFlight   int     `json:"in_flight"`
	Oldest     float64 `json:"oldest_age_seconds"`
	LastStatus int     `json:"last_status"`
	LastError  string  `json:"last_error"`
	Letters    int     `json:"dead_letters"`
}

// stats answers GET /v1/stats. What is pending is counted in the lanes, not derived.
func (s *server) stats(w http.ResponseWriter, r *http.Request) {
	limit, bad := readLimit(r, maxPage)
	if bad != nil {
		answerError(w, bad)
		return
	}
	out := struct {
		Durable bool   `json:"durable"`
		Log     string `json:"log"`
		Seq     uint64 `json:"seq"`
		counts
		Pending       int     `json:"pending"`
		Webhooks      int64   `json:"webhooks"`
		Oldest        float64 `json:"oldest_age_seconds"`
		Subscriptions []row   `json:"subscriptions"`
	}{Durable: true, Log: "lines", Oldest: s.age(), Subscriptions: []row{}}
	now := time.Now()
	s.mu.Lock()
	out.Seq, out.Webhooks, out.counts = s.seq, s.webhooks, s.departed
	for _, sub := range s.subs {
		one := sub.row(now)
		out.counts.add(one.counts)
		out.Pending += one.Pending
		out.Subscriptions = append(out.Subscriptions, one)
	}
	s.mu.Unlock()
	slices.SortFunc(out.Subscriptions, func(a, b row) int {
		return cmp.Or(-cmp.Compare(a.Oldest, b.Oldest), cmp.Compare(a.ID, b.ID))
	})
	out.Subscriptions = out.Subscriptions[:min(limit, len(out.Subscriptions))]
	answer(w, http.StatusOK, out)
}

func (sub *subscription) row(now time.Time) row {
	out := row{
		ID: sub.ID, URL: sub.URL, State: "ok", counts: sub.counts, InFlight: sub.inFlight,
		LastStatus: sub.lastStatus, LastError: sub.lastError, Letters: len(sub.letters),
	}
	if sub.lastError != "" {
		out.State = "failing"
	}
	if sub.Disabled != "" {
		out.State = "disabled"
	}
	for _, l := range sub.lanes {
		out.Pending += len(l.items)
		if len(l.items) > 0 {
			out.Oldest = max(out.Oldest, now.Sub(l.items[0].since.Value.(time.Time)).Seconds())
		}
	}
	return out
}

// depth and age are what the lab watches: how many notices wait, and for how long the oldest has.
func (s *server) depth() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return float64(s.oldest.Len())
}

func (s *server) age() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.oldest.Front(); first != nil {
		return time.Since(first.Value.(time.Time)).Seconds()
	}
	return 0
}
