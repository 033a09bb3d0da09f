package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"dyno/parts/unrouted"
	"dyno/services/notify/journal"
)

// Handler serves the API.
func (d *Dispatcher) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/notices", d.postNotices)
	mux.HandleFunc("POST /v1/subscriptions", d.postSubscription)
	mux.HandleFunc("GET /v1/subscriptions", d.listSubscriptions)
	mux.HandleFunc("GET /v1/subscriptions/{id}", d.getSubscription)
	mux.HandleFunc("PATCH /v1/subscriptions/{id}", d.patchSubscription)
	mux.HandleFunc("DELETE /v1/subscriptions/{id}", d.deleteSubscription)
	mux.HandleFunc("POST /v1/subscriptions/{id}/test", d.testSubscription)
	mux.HandleFunc("GET /v1/stats", d.getStats)
	mux.HandleFunc("GET /v1/dead", d.listDead)
	mux.HandleFunc("GET /v1/dead/{id}", d.getDead)
	mux.HandleFunc("POST /v1/dead/{id}/replay", d.replayDead)
	mux.HandleFunc("DELETE /v1/dead/{id}", d.deleteDead)
	mux.HandleFunc("GET /v1/stream", d.streams.SSE)
	mux.HandleFunc("GET /v1/ws", d.streams.WebSocket)
	unrouted.Refuse(mux, func(w http.ResponseWriter, status int, text string) {
		answerError(w, &refusal{status: status, text: text})
	})
	return mux
}

func (d *Dispatcher) postNotices(w http.ResponseWriter, r *http.Request) {
	notices, batch, err := readNotices(w, r)
	if err != nil {
		answerError(w, err)
		return
	}
	d.spans.mark(r, notices)
	receipts, deliveries, err := d.accept(r.Context(), notices)
	if err != nil {
		answerError(w, err)
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
	receipt
	Deliveries int `json:"deliveries"` // one per subscription that wants it
}

type acceptedBatch struct {
	Accepted   int       `json:"accepted"`
	Duplicates int       `json:"duplicates"`
	Deliveries int       `json:"deliveries"` // one per notice and subscription that wants it
	Notices    []receipt `json:"notices"`    // in the order of the lines
}

// subscriptionView is what the API shows of a subscription.
type subscriptionView struct {
	ID          string    `json:"id"`
	URL         string    `json:"url"`
	Secret      string    `json:"secret,omitempty"` // in the answer to who gave it or had it made, only
	Secrets     int       `json:"secrets"`          // that webhooks are signed with
	Types       []string  `json:"types,omitempty"`
	RatePerS    float64   `json:"rate_per_s,omitempty"`
	Concurrency int       `json:"concurrency"`
	Batch       int       `json:"batch"`
	Created     time.Time `json:"created"`
	Disabled    string    `json:"disabled,omitempty"` // why
}

func (sub *subscription) view() subscriptionView {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	v := subscriptionView{
		ID: sub.id, URL: sub.def.URL, Secrets: len(sub.keys.Load().inForce(time.Now())), Types: sub.def.Types, RatePerS: sub.def.RatePerS,
		Concurrency: sub.def.Concurrency, Batch: max(sub.def.Batch, 1), Created: sub.def.Created, Disabled: sub.def.Disabled,
	}
	if v.Concurrency == 0 {
		v.Concurrency = defaultConcurrency
	}
	return v
}

// maxWish bounds the body of a subscription: 100 types of 256 bytes, a URL, a secret.
const maxWish = 64 << 10

func readWish(w http.ResponseWriter, r *http.Request) (ask wish, err error) {
	text, err := jsontext.NewDecoder(http.MaxBytesReader(w, r.Body, maxWish), lenient).ReadValue() // encoding/json makes U+FFFD of what is not UTF-8
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&ask)
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return ask, refuse(http.StatusRequestEntityTooLarge, "the subscription is larger than %d bytes", maxWish)
	}
	if err != nil {
		return ask, notJSON("a subscription {url, types, secret, rate_per_s, concurrency, batch}", err)
	}
	return ask, nil
}

func (d *Dispatcher) postSubscription(w http.ResponseWriter, r *http.Request) {
	ask, err := readWish(w, r)
	if err != nil {
		answerError(w, err)
		return
	}
	sub, secret, err := d.subscribe(ask)
	if err != nil {
		answerError(w, err)
		return
	}
	view := sub.view()
	view.Secret = secret
	answer(w, http.StatusCreated, view)
}

func (d *Dispatcher) patchSubscription(w http.ResponseWriter, r *http.Request) {
	ask, err := readWish(w, r)
	if err != nil {
		answerError(w, err)
		return
	}
	secret := ""
	sub, err := d.change(r.PathValue("id"), func(def *journal.Definition) (err error) {
		if secret, err = ask.apply(def, d.config.SecretOverlap); err != nil {
			return err
		}
		return d.checkHost(def.URL)
	})
	if err != nil {
		answerError(w, noSubscription(r, err))
		return
	}
	view := sub.view()
	view.Secret = secret
	answer(w, http.StatusOK, view)
}

func (d *Dispatcher) listSubscriptions(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r, listedSubscriptions)
	var q search
	if err == nil {
		q, err = searchOf(r)
	}
	if err != nil {
		answerError(w, err)
		return
	}
	out := struct {
		Subscriptions []subscriptionView `json:"subscriptions"`
		Next          string             `json:"next,omitempty"` // ?after=NEXT goes on
	}{Subscriptions: []subscriptionView{}}
	after := r.URL.Query().Get("after")
	for _, sub := range d.subscriptions() {
		if sub.id <= after {
			continue
		}
		view := sub.view()
		if !q.finds(view.ID, view.URL, view.Types) {
			continue
		}
		if len(out.Subscriptions) == limit {
			out.Next = out.Subscriptions[limit-1].ID
			break
		}
		out.Subscriptions = append(out.Subscriptions, view)
	}
	answer(w, http.StatusOK, out)
}

func (d *Dispatcher) getSubscription(w http.ResponseWriter, r *http.Request) {
	sub := d.subscription(r.PathValue("id"))
	if sub == nil {
		answerError(w, noSubscription(r, errNoSubscription))
		return
	}
	answer(w, http.StatusOK, sub.view())
}

func (d *Dispatcher) deleteSubscription(w http.ResponseWriter, r *http.Request) {
	if err := d.unsubscribe(r.PathValue("id")); err != nil {
		answerError(w, noSubscription(r, err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func noSubscription(r *http.Request, err error) error {
	if errors.Is(err, errNoSubscription) {
		return refuse(http.StatusNotFound, "no subscription %q", r.PathValue("id"))
	}
	return err
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.Encode(v) // an error means that the client has gone
}

func answerError(w http.ResponseWriter, err error) {
	r := refuse(http.StatusInternalServerError, "%v", err)
	errors.As(err, &r)
	switch r.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInsufficientStorage:
		w.Header().Set("Retry-After", "1")
	}
	answer(w, r.status, struct {
		Error string    `json:"error"`
		Field string    `json:"field,omitempty"`
		Lines []badLine `json:"lines,omitempty"`
	}{strings.ToValidUTF8(r.text, "?"), r.field, r.lines})
}

// postWorkers changes how many workers there are while they run.
func (d *Dispatcher) postWorkers(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Workers int `json:"workers"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&ask); err != nil || ask.Workers < 1 || ask.Workers > maxWorkers {
		answerError(w, badField("workers", "workers: send {\"workers\": N} with 1 to %d", maxWorkers))
		return
	}
	d.workers.resize(ask.Workers)
	answer(w, http.StatusOK, ask)
}
