package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Handler serves the API.
func (d *Dispatcher) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/notices", d.postNotices)
	mux.HandleFunc("POST /v1/subscriptions", d.postSubscription)
	mux.HandleFunc("GET /v1/subscriptions", d.listSubscriptions)
	mux.HandleFunc("GET /v1/subscriptions/{id}", d.getSubscription)
	mux.HandleFunc("DELETE /v1/subscriptions/{id}", d.deleteSubscription)
	mux.HandleFunc("GET /v1/stats", d.getStats)
	return mux
}

func (d *Dispatcher) postNotices(w http.ResponseWriter, r *http.Request) {
	notices, err := readNotices(w, r)
	if err != nil {
		answerError(w, err)
		return
	}
	d.spans.mark(r.Context(), notices)
	deliveries, err := d.accept(notices)
	if err != nil {
		answerError(w, err)
		return
	}
	out := accepted{Accepted: len(notices), Deliveries: deliveries}
	if len(notices) == 1 {
		out.ID = notices[0].ID
	}
	answer(w, http.StatusAccepted, out)
}

type accepted struct {
	Accepted   int    `json:"accepted"`
	Deliveries int    `json:"deliveries"` // one per notice and subscription that wants it
	ID         string `json:"id,omitempty"`
}

// subscriptionRequest is what a client asks for.
type subscriptionRequest struct {
	URL    string   `json:"url"`
	Secret string   `json:"secret"` // whsec_...; "": one is made
	Types  []string `json:"types"`  // none: all
	Batch  int      `json:"batch"`  // most notices in one webhook; 0: 1
}

// subscriptionView is what the API shows of a subscription.
type subscriptionView struct {
	ID       string   `json:"id"`
	URL      string   `json:"url"`
	Secret   string   `json:"secret,omitempty"` // in the answer to its creation only
	Types    []string `json:"types,omitempty"`
	Batch    int      `json:"batch"`
	Disabled bool     `json:"disabled,omitempty"`
}

func (sub *subscription) view() subscriptionView {
	return subscriptionView{ID: sub.id, URL: sub.url.String(), Types: sub.types, Batch: sub.batch, Disabled: sub.disabled.Load()}
}

func (d *Dispatcher) postSubscription(w http.ResponseWriter, r *http.Request) {
	var ask subscriptionRequest
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxNotice))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&ask); err != nil {
		answerError(w, refuse(http.StatusBadRequest, "not a subscription {url, secret, types, batch}: %v", err))
		return
	}
	if ask.Secret == "" {
		ask.Secret = newSecret()
	}
	sub, err := newSubscription(ask)
	if err == nil {
		err = d.checkHost(sub.url.Hostname())
	}
	if err != nil {
		answerError(w, refuse(http.StatusBadRequest, "%v", err))
		return
	}
	if !d.add(sub) {
		answerError(w, refuse(http.StatusConflict, "there are %d subscriptions already; delete some", maxSubscriptions))
		return
	}
	view := sub.view()
	view.Secret = ask.Secret
	answer(w, http.StatusCreated, view)
}

// checkHost tells a client early what the guard would refuse later. A name is not resolved here: it may
// point elsewhere by then.
func (d *Dispatcher) checkHost(host string) error {
	if ip, err := netip.ParseAddr(host); err == nil && !d.config.AllowPrivate && !public(ip) {
		return fmt.Errorf("url: %s is not a public address; start with --set allow_private=true to permit it", ip)
	}
	return nil
}

func (d *Dispatcher) listSubscriptions(w http.ResponseWriter, _ *http.Request) {
	views := []subscriptionView{}
	for _, sub := range d.subscriptions() {
		views = append(views, sub.view())
	}
	answer(w, http.StatusOK, map[string]any{"subscriptions": views})
}

func (d *Dispatcher) getSubscription(w http.ResponseWriter, r *http.Request) {
	d.mu.RLock()
	sub := d.subs[r.PathValue("id")]
	d.mu.RUnlock()
	if sub == nil {
		answerError(w, noSubscription(r))
		return
	}
	answer(w, http.StatusOK, sub.view())
}

func (d *Dispatcher) deleteSubscription(w http.ResponseWriter, r *http.Request) {
	if !d.remove(r.PathValue("id")) {
		answerError(w, noSubscription(r))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func noSubscription(r *http.Request) error {
	return refuse(http.StatusNotFound, "no subscription %q", r.PathValue("id"))
}

func (d *Dispatcher) add(sub *subscription) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.subs) >= maxSubscriptions {
		return false
	}
	d.subs[sub.id] = sub
	return true
}

// remove deletes a subscription. What it has not got counts as dead.
func (d *Dispatcher) remove(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	sub := d.subs[id]
	if sub == nil {
		return false
	}
	sub.mu.Lock()
	d.bury(sub)
	d.departed.add(sub.counts)
	sub.mu.Unlock()
	delete(d.subs, id)
	return true
}

// subscriptions returns all, by id.
func (d *Dispatcher) subscriptions() []*subscription {
	d.mu.RLock()
	subs := make([]*subscription, 0, len(d.subs))
	for _, sub := range d.subs {
		subs = append(subs, sub)
	}
	d.mu.RUnlock()
	slices.SortFunc(subs, func(a, b *subscription) int { return strings.Compare(a.id, b.id) })
	return subs
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // an error means that the client has gone
}

func answerError(w http.ResponseWriter, err error) {
	r := refuse(http.StatusInternalServerError, "%v", err)
	errors.As(err, &r)
	if r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	out := map[string]any{"error": r.text}
	if r.line > 0 {
		out["line"] = r.line
		out["error"] = "line " + strconv.Itoa(r.line) + ": " + r.text
	}
	answer(w, r.status, out)
}
