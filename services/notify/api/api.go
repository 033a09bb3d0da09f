// Package api is notifyd's HTTP API: requests in, answers out, by net/http or by event loops (the
// seam "ingest"). It reads the statistics as well, which the metrics share. It is not for what a
// request does: that is services/notify/ingest, routing and the packages below.
//
// An API starts no goroutines. A Front owns its event loops and one goroutine that stores; Drain
// waits for them.
package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"dyno/parts/refusal"
	"dyno/parts/unrouted"
	"dyno/services/notify/backlog"
	"dyno/services/notify/delivery"
	"dyno/services/notify/ingest"
	"dyno/services/notify/push"
	"dyno/services/notify/routing"
	"dyno/services/notify/store"
)

// API serves requests.
type API struct {
	Store     *store.Store
	Table     *routing.Table
	Acceptor  *ingest.Acceptor
	Reader    *backlog.Reader
	Deliverer *delivery.Deliverer
	Streams   *push.Streams

	testing chan struct{} // holds a token for each test webhook in progress
}

// New fills in the rest of an API.
func New(a API) *API {
	a.testing = make(chan struct{}, maxTesting)
	return &a
}

// Handler serves the API.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/notices", a.postNotices)
	mux.HandleFunc("POST /v1/subscriptions", a.postSubscription)
	mux.HandleFunc("GET /v1/subscriptions", a.listSubscriptions)
	mux.HandleFunc("GET /v1/subscriptions/{id}", a.getSubscription)
	mux.HandleFunc("PATCH /v1/subscriptions/{id}", a.patchSubscription)
	mux.HandleFunc("DELETE /v1/subscriptions/{id}", a.deleteSubscription)
	mux.HandleFunc("POST /v1/subscriptions/{id}/test", a.testSubscription)
	mux.HandleFunc("GET /v1/stats", a.getStats)
	mux.HandleFunc("GET /v1/dead", a.listDead)
	mux.HandleFunc("GET /v1/dead/{id}", a.getDead)
	mux.HandleFunc("POST /v1/dead/{id}/replay", a.replayDead)
	mux.HandleFunc("DELETE /v1/dead/{id}", a.deleteDead)
	mux.HandleFunc("GET /v1/stream", a.Streams.SSE)
	mux.HandleFunc("GET /v1/ws", a.Streams.WebSocket)
	unrouted.Refuse(mux, func(w http.ResponseWriter, status int, text string) {
		AnswerError(w, &refusal.Error{Status: status, Text: text})
	})
	return mux
}

func (a *API) postNotices(w http.ResponseWriter, r *http.Request) {
	notices, batch, err := ingest.Read(w, r)
	if err != nil {
		AnswerError(w, err)
		return
	}
	ingest.MarkTraces(r, notices)
	receipts, deliveries, err := a.Acceptor.Accept(r.Context(), notices)
	if err != nil {
		AnswerError(w, err)
		return
	}
	duplicates := 0
	for _, receipt := range receipts {
		if receipt.Duplicate {
			duplicates++
		}
	}
	status := http.StatusAccepted
	if duplicates == len(receipts) {
		status = http.StatusOK
	}
	if !batch {
		answer(w, status, acceptedOne{receipts[0], deliveries})
		return
	}
	answer(w, status, acceptedBatch{len(receipts) - duplicates, duplicates, deliveries, receipts})
}

type acceptedOne struct {
	ingest.Receipt
	Deliveries int `json:"deliveries"` // one per subscription that wants it
}

type acceptedBatch struct {
	Accepted   int              `json:"accepted"`
	Duplicates int              `json:"duplicates"`
	Deliveries int              `json:"deliveries"` // one per notice and subscription that wants it
	Notices    []ingest.Receipt `json:"notices"`    // in the order of the lines
}

// PostWorkers changes the number of workers while they run.
func (a *API) PostWorkers(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Workers int `json:"workers"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&ask); err != nil || ask.Workers < 1 || ask.Workers > delivery.MaxWorkers {
		AnswerError(w, refusal.Field("workers", "workers: send {\"workers\": N} with 1 to %d", delivery.MaxWorkers))
		return
	}
	a.Deliverer.Resize(ask.Workers)
	answer(w, http.StatusOK, ask)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.Encode(v) // an error means that the client has gone
}

// AnswerError answers with an error: a refusal.Error with its status, any other with 500.
func AnswerError(w http.ResponseWriter, err error) {
	r := refusal.New(http.StatusInternalServerError, "%v", err)
	errors.As(err, &r)
	batch := new(ingest.BatchError)
	errors.As(err, &batch)
	switch r.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInsufficientStorage:
		w.Header().Set("Retry-After", "1")
	}
	answer(w, r.Status, struct {
		Error string           `json:"error"`
		Field string           `json:"field,omitempty"`
		Lines []ingest.BadLine `json:"lines,omitempty"`
	}{strings.ToValidUTF8(r.Text, "?"), r.Field, batch.Lines})
}
