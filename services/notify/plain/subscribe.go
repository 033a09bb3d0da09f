package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// maxSubscriptions bounds what one notice can fan out to.
const maxSubscriptions = 100_000

// subscribe answers POST /v1/subscriptions. The secret is shown here and never again.
func (s *server) subscribe(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		URL    string   `json:"url"`
		Secret string   `json:"secret"`
		Types  []string `json:"types"`
		Batch  int      `json:"batch"`
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxNotice))
	d.DisallowUnknownFields()
	if err := d.Decode(&ask); err != nil {
		answerError(w, refuse(http.StatusBadRequest, "not a subscription {url, secret, types, batch}: %v", err))
		return
	}
	if ask.Secret == "" {
		key := make([]byte, 32)
		rand.Read(key)
		ask.Secret = "whsec_" + base64.StdEncoding.EncodeToString(key)
	}
	if err := errors.Join(s.checkURL(ask.URL), checkSecret(ask.Secret), checkTypes(ask.Types), checkBatch(ask.Batch)); err != nil {
		answerError(w, refuse(http.StatusBadRequest, "%v", err))
		return
	}
	webhook, err := webhooks.NewWebhook(ask.Secret)
	if err != nil {
		answerError(w, refuse(http.StatusBadRequest, "secret: %v", err))
		return
	}
	sub := &subscription{
		ID: "sub_" + rand.Text(), URL: ask.URL, Types: ask.Types, Batch: max(ask.Batch, 1),
		webhook: webhook, lanes: map[string]*lane{},
	}
	s.mu.Lock()
	full := len(s.subs) >= maxSubscriptions
	if !full {
		s.subs[sub.ID] = sub
	}
	view := sub.view()
	s.mu.Unlock()
	if full {
		answerError(w, refuse(http.StatusConflict, "there are %d subscriptions already; delete some", maxSubscriptions))
		return
	}
	view.Secret = ask.Secret
	answer(w, http.StatusCreated, view)
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
	return subscriptionView{ID: sub.ID, URL: sub.URL, Types: sub.Types, Batch: sub.Batch, Disabled: sub.disabled}
}

func (s *server) listSubscriptions(w http.ResponseWriter, _ *http.Request) {
	views := []subscriptionView{}
	s.mu.Lock()
	for _, sub := range s.subs {
		views = append(views, sub.view())
	}
	s.mu.Unlock()
	slices.SortFunc(views, func(a, b subscriptionView) int { return strings.Compare(a.ID, b.ID) })
	answer(w, http.StatusOK, map[string]any{"subscriptions": views})
}

func (s *server) getSubscription(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	sub := s.subs[r.PathValue("id")]
	var view subscriptionView
	if sub != nil {
		view = sub.view()
	}
	s.mu.Unlock()
	if sub == nil {
		answerError(w, refuse(http.StatusNotFound, "no subscription %q", r.PathValue("id")))
		return
	}
	answer(w, http.StatusOK, view)
}

func (s *server) deleteSubscription(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	sub := s.subs[r.PathValue("id")]
	if sub != nil {
		sub.disabled = true
		s.bury(sub)
		delete(s.subs, sub.ID)
	}
	s.mu.Unlock()
	if sub == nil {
		answerError(w, refuse(http.StatusNotFound, "no subscription %q", r.PathValue("id")))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *server) checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil {
		return fmt.Errorf("url: give an http or https address without user and password")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !s.allowPrivate && !public(ip) {
		return fmt.Errorf("url: %s is not a public address; start with --allow-private to permit it", ip)
	}
	return nil
}

func checkSecret(secret string) error {
	text, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return errors.New("secret: give whsec_ and 24 to 64 bytes in base64, or leave it out to have one made")
	}
	return nil
}

func checkTypes(types []string) error {
	if len(types) > 100 {
		return errors.New("types: give at most 100, or none for all")
	}
	return nil
}

func checkBatch(n int) error {
	if n < 0 || n > 1000 {
		return errors.New("batch: give 1 to 1000 notices per webhook")
	}
	return nil
}

// guard refuses connections to addresses that are not public. It sees the address after the name was
// resolved, so that a name which points inwards does not help.
func (s *server) guard(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !s.allowPrivate && !public(at.Addr()) {
		return fmt.Errorf("%s is not a public address", at.Addr())
	}
	return nil
}

// inward are networks that lead inwards and that netip's own predicates do not know.
var inward = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),     // this network
	netip.MustParsePrefix("100.64.0.0/10"), // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),  // protocol assignments
	netip.MustParsePrefix("198.18.0.0/15"), // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),   // reserved
	netip.MustParsePrefix("2001::/32"),     // IPv4 behind Teredo
	netip.MustParsePrefix("2002::/16"),     // IPv4 behind 6to4
}

// allocated is what there is of public IPv6. The rest holds, among other things, several ways to write an
// IPv4 address (::/96, 64:ff9b::/96, 64:ff9b:1::/48).
var allocated = netip.MustParsePrefix("2000::/3")

func public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("") // no prefix contains an address with a zone
	if ip.Is6() && !allocated.Contains(ip) {
		return false
	}
	for _, p := range inward {
		if p.Contains(ip) {
			return false
		}
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast()
}
