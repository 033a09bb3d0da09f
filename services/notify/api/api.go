// Package api is notifyd's HTTP API: requests in, answers out, by net/http or by event loops (the
// seam "ingest"). It reads the statistics as well, which the metrics share. It is not for what a
// request does: that is services/notify/dispatch.
//
// An API starts no goroutines. A Front owns its event loops and one goroutine that stores; Drain
// waits for them.
package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"dyno/parts/refusal"
	"dyno/parts/unrouted"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/push"
)

// API serves requests.
type API struct {
	Store     *dispatch.Store
	Table     *dispatch.Table
	Acceptor  *dispatch.Acceptor
	Deliverer *dispatch.Deliverer
	Streams   *push.Streams

	testing chan struct{} // holds a token for each test webhook in progress
	front   *atomic.Pointer[Front]
}

// New fills in the rest of an API.
func New(a API) *API {
	a.testing, a.front = make(chan struct{}, maxTesting), new(atomic.Pointer[Front])
	return &a
}

// Behind has the statistics say what a front hands over to the API.
func (a *API) Behind(f *Front) { a.front.Store(f) }

// Handler serves the API.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, e := range map[string]endpoint{
		"POST /v1/notices":                 a.postNotices,
		"POST /v1/subscriptions":           a.postSubscription,
		"GET /v1/subscriptions":            a.listSubscriptions,
		"GET /v1/subscriptions/{id}":       a.getSubscription,
		"PATCH /v1/subscriptions/{id}":     a.patchSubscription,
		"DELETE /v1/subscriptions/{id}":    a.deleteSubscription,
		"POST /v1/subscriptions/{id}/test": a.testSubscription,
		"GET /v1/stats":                    a.getStats,
		"GET /v1/dead":                     a.listDead,
		"GET /v1/dead/{id}":                a.getDead,
		"POST /v1/dead/{id}/replay":        a.replayDead,
		"DELETE /v1/dead/{id}":             a.deleteDead,
	} {
		mux.Handle(pattern, e)
	}
	mux.HandleFunc("GET /v1/stream", a.Streams.SSE)
	mux.HandleFunc("GET /v1/ws", a.Streams.WebSocket)
	unrouted.Refuse(mux, func(w http.ResponseWriter, status int, text string) {
		AnswerError(w, &refusal.Error{Status: status, Text: text})
	})
	return mux
}

// endpoint serves one kind of request: it returns a status and a body, of which nil is none, or an
// error.
type endpoint func(w http.ResponseWriter, r *http.Request) (status int, body any, err error)

func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch status, body, err := e(w, r); {
	case err != nil:
		AnswerError(w, err)
	case body == nil:
		w.WriteHeader(status)
	default:
		answer(w, status, body)
	}
}

func (a *API) postNotices(w http.ResponseWriter, r *http.Request) (int, any, error) {
	notices, batch, err := readNotices(w, r)
	if err != nil {
		return 0, nil, err
	}
	MarkTraces(r, notices)
	receipts, deliveries, err := a.Acceptor.Accept(r.Context(), notices)
	if err != nil {
		return 0, nil, err
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
		return status, acceptedOne{receipts[0], deliveries}, nil
	}
	return status, acceptedBatch{len(receipts) - duplicates, duplicates, deliveries, receipts}, nil
}

type acceptedOne struct {
	dispatch.Receipt
	Deliveries int `json:"deliveries"` // one per subscription that wants it
}

type acceptedBatch struct {
	Accepted   int                `json:"accepted"`
	Duplicates int                `json:"duplicates"`
	Deliveries int                `json:"deliveries"` // one per notice and subscription that wants it
	Notices    []dispatch.Receipt `json:"notices"`    // in the order of the lines
}

// Workers serves the requests that change the number of workers while they run.
func (a *API) Workers() http.Handler { return endpoint(a.postWorkers) }

func (a *API) postWorkers(w http.ResponseWriter, r *http.Request) (int, any, error) {
	var ask struct {
		Workers int `json:"workers"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&ask); err != nil || ask.Workers < 1 || ask.Workers > dispatch.MaxWorkers {
		return 0, nil, refusal.Field("workers", "workers: send {\"workers\": N} with 1 to %d", dispatch.MaxWorkers)
	}
	a.Deliverer.Resize(ask.Workers)
	return http.StatusOK, ask, nil
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
	batch := new(dispatch.BatchError)
	errors.As(err, &batch)
	switch r.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInsufficientStorage:
		w.Header().Set("Retry-After", "1")
	}
	answer(w, r.Status, struct {
		Error string             `json:"error"`
		Field string             `json:"field,omitempty"`
		Lines []dispatch.BadLine `json:"lines,omitempty"`
	}{strings.ToValidUTF8(r.Text, "?"), r.Field, batch.Lines})
}
