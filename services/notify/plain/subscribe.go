package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds on subscriptions.
const (
	maxSubscriptions = 100_000 // what one notice can fan out to
	maxTypes         = 100     // of one subscription
	maxSecrets       = 8       // in force at once
	maxPage          = 1000    // entries of one answer
)

// subscriptionRequest is what a client asks for; what is nil it says nothing about.
type subscriptionRequest struct {
	URL          *string   `json:"url"`
	Types        *[]string `json:"types"`
	Secret       *string   `json:"secret"`
	RatePerS     float64   `json:"rate_per_s"`
	Concurrency  int       `json:"concurrency"`
	Batch        *int      `json:"batch"`
	RotateSecret bool      `json:"rotate_secret"` // these two in a PATCH only
	Disabled     *bool     `json:"disabled"`
}

// subscriptionView is what the API shows of a subscription.
type subscriptionView struct {
	ID          string    `json:"id"`
	URL         string    `json:"url"`
	Types       []string  `json:"types"`
	RatePerS    float64   `json:"rate_per_s"`
	Concurrency int       `json:"concurrency"`
	Batch       int       `json:"batch"`
	Created     time.Time `json:"created"`
	Secret      string    `json:"secret,omitempty"`  // in the answer to what made it, and never again
	Secrets     int       `json:"secrets,omitempty"` // in force
	Disabled    string    `json:"disabled,omitempty"`
}

func (d *definition) view() subscriptionView {
	types := d.Types
	if types == nil {
		types = []string{}
	}
	return subscriptionView{ID: d.ID, URL: d.URL, Types: types, Batch: d.Batch, Created: d.Created, Disabled: d.Disabled}
}

// subscribe answers POST /v1/subscriptions.
func (s *server) subscribe(w http.ResponseWriter, r *http.Request) {
	ask, bad := readSubscription(w, r)
	switch {
	case bad != nil:
	case ask.URL == nil:
		bad = refuseField("url", "is missing: give the address of the receiver")
	case ask.Disabled != nil:
		bad = refuseField("disabled", "is for PATCH; a new subscription is enabled")
	case ask.RotateSecret:
		bad = refuseField("rotate_secret", "is for PATCH; a new subscription has a new secret")
	}
	d := definition{ID: "sub_" + rand.Text(), Batch: 1, Created: time.Now().UTC()}
	var secret string
	if bad == nil {
		ask.RotateSecret = ask.Secret == nil
		secret, bad = s.change(&d, ask)
	}
	if bad != nil {
		answerError(w, bad)
		return
	}
	s.changes.Lock()
	defer s.changes.Unlock()
	s.mu.Lock()
	have := len(s.subs)
	s.mu.Unlock()
	if have >= maxSubscriptions {
		answerError(w, refuse(http.StatusConflict, "there are %d subscriptions already; delete some", have))
		return
	}
	if err := s.commit(event{Do: put, Change: &d}); err != nil {
		answerError(w, err)
		return
	}
	view := d.view()
	view.Secret = secret
	answer(w, http.StatusCreated, view)
}

func readSubscription(w http.ResponseWriter, r *http.Request) (ask subscriptionRequest, bad *refusal) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxNotice))
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		err = d.Decode(&ask)
	}
	if err == nil {
		err = checkText(data)
	}
	if err != nil {
		return ask, refuseJSON("a subscription {url, types, secret, batch}", err)
	}
	return ask, nil
}

// definition returns a copy of a subscription's.
func (s *server) definition(id string) (definition, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub := s.subs[id]; sub != nil {
		return sub.definition, true
	}
	return definition{}, false
}

func (s *server) getSubscription(w http.ResponseWriter, r *http.Request) {
	d, ok := s.definition(r.PathValue("id"))
	if !ok {
		answerError(w, noSubscription(r))
		return
	}
	view := d.view()
	view.Secrets = len(d.inForce(time.Now()))
	answer(w, http.StatusOK, view)
}

func (s *server) listSubscriptions(w http.ResponseWriter, r *http.Request) {
	limit, bad := readLimit(r, maxPage)
	if bad != nil {
		answerError(w, bad)
		return
	}
	after, text := r.FormValue("after"), strings.ToLower(r.FormValue("q"))
	var out struct {
		Subscriptions []subscriptionView `json:"subscriptions"`
		Next          string             `json:"next,omitempty"`
	}
	out.Subscriptions = []subscriptionView{}
	s.mu.Lock()
	for _, id := range slices.Sorted(maps.Keys(s.subs)) {
		if id <= after || !s.subs[id].has(text) {
			continue
		}
		if len(out.Subscriptions) == limit {
			out.Next = out.Subscriptions[limit-1].ID
			break
		}
		out.Subscriptions = append(out.Subscriptions, s.subs[id].view())
	}
	s.mu.Unlock()
	answer(w, http.StatusOK, out)
}

// has says whether a subscription's id, address or one of its types has a text.
func (d *definition) has(text string) bool {
	all := strings.Join(append([]string{d.ID, d.URL}, d.Types...), "\n")
	return strings.Contains(strings.ToLower(all), text)
}

// readLimit reads how many entries a client wants at most.
func readLimit(r *http.Request, usual int) (int, *refusal) {
	text := r.FormValue("limit")
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPage {
		return 0, refuseField("limit", "give 1 to %d", maxPage)
	}
	return n, nil
}

func (s *server) deleteSubscription(w http.ResponseWriter, r *http.Request) {
	s.changes.Lock()
	defer s.changes.Unlock()
	d, ok := s.definition(r.PathValue("id"))
	if !ok {
		answerError(w, noSubscription(r))
		return
	}
	if err := s.commit(event{Do: remove, Sub: d.ID}); err != nil {
		answerError(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func noSubscription(r *http.Request) error {
	return refuse(http.StatusNotFound, "no subscription %q", r.PathValue("id"))
}
