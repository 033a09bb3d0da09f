package dispatch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"dyno/parts/refusal"
	"dyno/services/notify/subscription"
	"dyno/services/notify/webhook"
)

// ErrUnknown says that there is no subscription of that id.
var ErrUnknown = errors.New("no such subscription")

// errUnchanged says that there is nothing to change.
var errUnchanged = errors.New("nothing to change")

// Subscribe makes a subscription, durably, which gets what is accepted from now on. It returns the
// secret that signs its webhooks.
func (t *Table) Subscribe(r SubscriptionRequest) (def subscription.Definition, secret string, err error) {
	def = subscription.Definition{ID: "sub_" + rand.Text(), Created: time.Now().UTC().Truncate(time.Millisecond)}
	if r.URL == nil {
		return def, "", refusal.Field("url", "url is missing: where webhooks go")
	}
	secret, err = r.apply(&def, 0)
	if err == nil {
		err = checkHost(def.URL, t.options.AllowPrivate)
	}
	if err != nil {
		return def, "", err
	}
	sub := new(Subscription)
	if err = t.options.Deliverer.Init(&sub.Receiver, def); err != nil {
		return def, "", refusal.Field("url", "url: %v", err)
	}
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if len(t.byID) >= maxSubscriptions {
		return def, "", refusal.New(http.StatusConflict, "there are %d subscriptions already; delete some", maxSubscriptions)
	}
	head := t.options.Store.Head.Load()
	if err := t.options.Store.Journal.Put(def, head); err != nil {
		return def, "", t.options.Store.Refuse(err)
	}
	var p subscription.Position
	p.Redefine(def, head)
	sub.Filters, sub.Cursor.Routed = p.Filters, head
	t.byID[def.ID] = sub
	t.Activate(sub)
	return def, secret, nil
}

// Update changes a subscription as a client asks, durably. It returns the new secret, if there is
// one.
func (t *Table) Update(id string, r SubscriptionRequest) (def subscription.Definition, secret string, err error) {
	def, err = t.Change(id, func(def *subscription.Definition) (err error) {
		if secret, err = r.apply(def, t.options.SecretOverlap); err != nil {
			return err
		}
		return checkHost(def.URL, t.options.AllowPrivate)
	})
	return def, secret, err
}

// Change changes a subscription's definition by f, durably, for what is accepted from now on. It
// returns the new one.
func (t *Table) Change(id string, f func(*subscription.Definition) error) (def subscription.Definition, err error) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	sub := t.byID[id]
	if sub == nil {
		return def, ErrUnknown
	}
	def = sub.Def // only changed with t.Mu held
	def.Secrets = slices.Clone(def.Secrets)
	if err := f(&def); err != nil {
		return def, err
	}
	// Held until the journal has the change: a checkpoint in between would write the old definition
	// last.
	sub.Mu.Lock()
	defer sub.Mu.Unlock()
	was := sub.Def
	reroute := !slices.Equal(was.Types, def.Types) || was.Disabled != def.Disabled
	// A change that disables it always succeeds: before it came one that did not, which was counted.
	if reroute && def.Disabled == "" && len(sub.Filters) >= maxFilters {
		return def, refusal.New(http.StatusConflict, "what it wants was changed %d times while it lags; change it again when it has caught up", maxFilters)
	}
	head := t.options.Store.Head.Load()
	if err := t.options.Store.Journal.Put(def, head); err != nil {
		return def, t.options.Store.Refuse(err)
	}
	if err := t.options.Deliverer.Define(&sub.Receiver, def); err != nil {
		return def, fmt.Errorf("subscription %s: %w", id, err)
	}
	if reroute {
		p := subscription.Position{Filters: slices.Clip(sub.Filters)}
		p.Redefine(def, head)
		sub.Filters = p.Filters
		t.routes.set(sub, was.Types, def.Types, def.Disabled != "")
		t.version++
	}
	if def.Disabled != "" {
		t.options.Deliverer.GiveUpAll(&sub.Receiver)
	}
	sub.Retry()
	return def, nil
}

// Disable ends deliveries to a subscription until a client enables it again, unless its webhooks go
// to another address by now.
func (t *Table) Disable(id, address, cause string) {
	_, err := t.Change(id, func(def *subscription.Definition) error {
		if u, err := webhook.ParseURL(def.URL); def.Disabled != "" || err != nil || u.String() != address {
			return errUnchanged
		}
		def.Disabled = cause
		return nil
	})
	if err != nil && !errors.Is(err, ErrUnknown) && !errors.Is(err, errUnchanged) {
		t.options.Log.Error("disabling a subscription", "subscription", id, "error", err)
	}
}

// Unsubscribe deletes a subscription, durably. What it has not got counts as dead.
func (t *Table) Unsubscribe(id string) error {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	sub := t.byID[id]
	if sub == nil {
		return ErrUnknown
	}
	sub.Mu.Lock()
	defer sub.Mu.Unlock()
	final := sub.Counts
	final.Dead += int64(sub.Pending())
	if err := t.options.Store.Journal.Delete(id, final); err != nil {
		return t.options.Store.Refuse(err)
	}
	t.options.Deliverer.Remove(&sub.Receiver)
	t.options.Deliverer.SignalRoom() // so that its backlog is forgotten
	delete(t.byID, id)
	t.routes.set(sub, sub.Def.Types, nil, true)
	t.version++
	return nil
}
