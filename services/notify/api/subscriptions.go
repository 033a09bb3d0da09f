package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"dyno/parts/refusal"
	"dyno/services/notify/delivery"
	"dyno/services/notify/routing"
)

// subscriptionView is what the API shows of a subscription.
type subscriptionView struct {
	ID          string    `json:"id"`
	URL         string    `json:"url"`
	Secret      string    `json:"secret,omitempty"` // only in the answer to the request that set it
	Secrets     int       `json:"secrets"`          // number of secrets that sign webhooks
	Types       []string  `json:"types,omitempty"`
	RatePerS    float64   `json:"rate_per_s,omitempty"`
	Concurrency int       `json:"concurrency"`
	Batch       int       `json:"batch"`
	Created     time.Time `json:"created"`
	Disabled    string    `json:"disabled,omitempty"` // reason
}

func viewOf(sub *routing.Subscription) subscriptionView {
	sub.Mu.Lock()
	defer sub.Mu.Unlock()
	v := subscriptionView{
		ID: sub.ID, URL: sub.Def.URL, Secrets: sub.Secrets(time.Now()), Types: sub.Def.Types, RatePerS: sub.Def.RatePerS,
		Concurrency: sub.Def.Concurrency, Batch: max(sub.Def.Batch, 1), Created: sub.Def.Created, Disabled: sub.Def.Disabled,
	}
	if v.Concurrency == 0 {
		v.Concurrency = delivery.DefaultConcurrency
	}
	return v
}

// maxRequest bounds the body of a subscription: 100 types of 256 bytes, a URL, a secret.
const maxRequest = 64 << 10

func readRequest(w http.ResponseWriter, r *http.Request) (ask routing.Request, err error) {
	text, err := jsontext.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest), jsontext.AllowDuplicateNames(true)).ReadValue() // encoding/json would replace what is not UTF-8 by U+FFFD
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&ask)
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return ask, refusal.New(http.StatusRequestEntityTooLarge, "the subscription is larger than %d bytes", maxRequest)
	}
	if err != nil {
		return ask, notJSON("a subscription {url, types, secret, rate_per_s, concurrency, batch}", err)
	}
	return ask, nil
}

func (a *API) postSubscription(w http.ResponseWriter, r *http.Request) {
	ask, err := readRequest(w, r)
	if err != nil {
		AnswerError(w, err)
		return
	}
	sub, secret, err := a.Table.Subscribe(ask)
	if err != nil {
		AnswerError(w, err)
		return
	}
	view := viewOf(sub)
	view.Secret = secret
	answer(w, http.StatusCreated, view)
}

func (a *API) patchSubscription(w http.ResponseWriter, r *http.Request) {
	ask, err := readRequest(w, r)
	if err != nil {
		AnswerError(w, err)
		return
	}
	sub, secret, err := a.Table.Update(r.PathValue("id"), ask)
	if err != nil {
		AnswerError(w, noSubscription(r, err))
		return
	}
	view := viewOf(sub)
	view.Secret = secret
	answer(w, http.StatusOK, view)
}

func (a *API) listSubscriptions(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r, listedSubscriptions)
	var q search
	if err == nil {
		q, err = searchOf(r)
	}
	if err != nil {
		AnswerError(w, err)
		return
	}
	out := struct {
		Subscriptions []subscriptionView `json:"subscriptions"`
		Next          string             `json:"next,omitempty"` // ?after=NEXT goes on
	}{Subscriptions: []subscriptionView{}}
	after := r.URL.Query().Get("after")
	for _, sub := range a.Table.All() {
		if sub.ID <= after {
			continue
		}
		view := viewOf(sub)
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

func (a *API) getSubscription(w http.ResponseWriter, r *http.Request) {
	sub := a.Table.Get(r.PathValue("id"))
	if sub == nil {
		AnswerError(w, noSubscription(r, routing.ErrUnknown))
		return
	}
	answer(w, http.StatusOK, viewOf(sub))
}

func (a *API) deleteSubscription(w http.ResponseWriter, r *http.Request) {
	if err := a.Table.Unsubscribe(r.PathValue("id")); err != nil {
		AnswerError(w, noSubscription(r, err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func noSubscription(r *http.Request, err error) error {
	if errors.Is(err, routing.ErrUnknown) {
		return refusal.New(http.StatusNotFound, "no subscription %q", r.PathValue("id"))
	}
	return err
}

// notJSON refuses a body, with the field that is wrong.
func notJSON(what string, err error) error {
	r := refusal.New(http.StatusBadRequest, "not %s: %v", what, err)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		r.Field = wrong.Field
	} else if text := (*jsontext.SyntacticError)(nil); errors.As(err, &text) {
		r.Field, _, _ = strings.Cut(strings.TrimPrefix(string(text.JSONPointer), "/"), "/")
	} else if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		r.Field, _ = strconv.Unquote(name)
	}
	return r
}
