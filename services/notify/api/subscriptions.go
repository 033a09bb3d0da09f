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
	"dyno/services/notify/dispatch"
	"dyno/services/notify/subscription"
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

func viewOf(def subscription.Definition, secret string) subscriptionView {
	v := subscriptionView{
		ID: def.ID, URL: def.URL, Secret: secret, Types: def.Types, RatePerS: def.RatePerS,
		Concurrency: def.Concurrency, Batch: max(def.Batch, 1), Created: def.Created, Disabled: def.Disabled,
	}
	now := time.Now()
	for _, s := range def.Secrets {
		if s.InForce(now) {
			v.Secrets++
		}
	}
	if v.Concurrency == 0 {
		v.Concurrency = dispatch.DefaultConcurrency
	}
	return v
}

// maxRequest bounds the body of a subscription: 100 types of 256 bytes, a URL, a secret.
const maxRequest = 64 << 10

func readRequest(w http.ResponseWriter, r *http.Request) (ask dispatch.SubscriptionRequest, err error) {
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

func (a *API) postSubscription(w http.ResponseWriter, r *http.Request) (int, any, error) {
	ask, err := readRequest(w, r)
	if err != nil {
		return 0, nil, err
	}
	def, secret, err := a.Table.Subscribe(ask)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, viewOf(def, secret), nil
}

func (a *API) patchSubscription(w http.ResponseWriter, r *http.Request) (int, any, error) {
	ask, err := readRequest(w, r)
	if err != nil {
		return 0, nil, err
	}
	def, secret, err := a.Table.Update(r.PathValue("id"), ask)
	if err != nil {
		return 0, nil, noSubscription(r, err)
	}
	return http.StatusOK, viewOf(def, secret), nil
}

func (a *API) listSubscriptions(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	limit, err := limitOf(r, listedSubscriptions)
	var q search
	if err == nil {
		q, err = searchOf(r)
	}
	if err != nil {
		return 0, nil, err
	}
	out := struct {
		Subscriptions []subscriptionView `json:"subscriptions"`
		Next          string             `json:"next,omitempty"` // ?after=NEXT goes on
	}{Subscriptions: []subscriptionView{}}
	after := r.URL.Query().Get("after")
	for def := range a.Table.Definitions() {
		if def.ID <= after {
			continue
		}
		view := viewOf(def, "")
		if !q.finds(view.ID, view.URL, view.Types) {
			continue
		}
		if len(out.Subscriptions) == limit {
			out.Next = out.Subscriptions[limit-1].ID
			break
		}
		out.Subscriptions = append(out.Subscriptions, view)
	}
	return http.StatusOK, out, nil
}

func (a *API) getSubscription(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	def, err := a.Table.Get(r.PathValue("id"))
	return http.StatusOK, viewOf(def, ""), noSubscription(r, err)
}

func (a *API) deleteSubscription(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	if err := a.Table.Unsubscribe(r.PathValue("id")); err != nil {
		return 0, nil, noSubscription(r, err)
	}
	return http.StatusNoContent, nil, nil
}

func noSubscription(r *http.Request, err error) error {
	if errors.Is(err, dispatch.ErrUnknown) {
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
