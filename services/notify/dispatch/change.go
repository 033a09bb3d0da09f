package dispatch

import (
	"crypto/rand"
	"errors"
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
	sub, err := newSubscriber(t.options.Deliverer, def)
	if err != nil {
		return def, "", refusal.Field("url", "url: %v", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.byID) >= maxSubscriptions {
		return def, "", refusal.New(http.StatusConflict, "there are %d subscriptions already; delete some", maxSubscriptions)
	}
	if err := sub.begin(t.options.Store.head.Load()); err != nil {
		return def, "", err
	}
	t.byID[def.ID] = sub
	t.enter(sub)
	return def, secret, nil
}

// Update changes a subscription as a client asks, durably. It returns the new secret, if there is
// one.
func (t *Table) Update(id string, r SubscriptionRequest) (def subscription.Definition, secret string, err error) {
	def, err = t.change(id, func(def *subscription.Definition) (err error) {
		if secret, err = r.apply(def, t.options.SecretOverlap); err != nil {
			return err
		}
		return checkHost(def.URL, t.options.AllowPrivate)
	})
	return def, secret, err
}

// change changes a subscription's definition by f, durably, for what is accepted from now on. It
// returns the new one.
func (t *Table) change(id string, f func(*subscription.Definition) error) (def subscription.Definition, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sub := t.byID[id]
	if sub == nil {
		return def, ErrUnknown
	}
	was := sub.definition() // only changed with t.mu held
	def = was
	def.Secrets = slices.Clone(def.Secrets)
	if err := f(&def); err != nil {
		return def, err
	}
	reroute, err := sub.redefine(def, t.options.Store.head.Load())
	if reroute {
		t.routes.set(sub, was.Types, def.Types, def.Disabled != "")
		t.version++
	}
	return def, err
}

// Disable ends deliveries to a subscription until a client enables it again, unless its webhooks go
// to another address by now.
func (t *Table) Disable(id, address, cause string) {
	_, err := t.change(id, func(def *subscription.Definition) error {
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
	t.mu.Lock()
	defer t.mu.Unlock()
	sub := t.byID[id]
	if sub == nil {
		return ErrUnknown
	}
	if err := sub.remove(); err != nil {
		return err
	}
	delete(t.byID, id)
	t.routes.set(sub, sub.def.Types, nil, true)
	t.version++
	return nil
}
