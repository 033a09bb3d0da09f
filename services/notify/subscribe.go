package notify

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"dyno/parts/hostport"
	"dyno/services/notify/journal"
	"dyno/services/notify/topic"
)

// wish is what a client asks of a subscription. What a PATCH leaves out stays as it is.
type wish struct {
	URL         *string   `json:"url"`
	Types       *[]string `json:"types"`         // none: all
	Secret      *string   `json:"secret"`        // whsec_...; at the start "" or none: one is made
	Rotate      bool      `json:"rotate_secret"` // in a PATCH: a new secret is made
	RatePerS    *float64  `json:"rate_per_s"`    // webhooks; 0: no limit
	Concurrency *int      `json:"concurrency"`   // webhooks in flight; 0: the default
	Batch       *int      `json:"batch"`         // most notices in one webhook; 0: 1
	Disabled    *bool     `json:"disabled"`
}

// apply changes a definition as a client wishes, or says which field is wrong. It returns the new secret, if
// there is one.
func (w wish) apply(def *journal.Definition, overlap time.Duration) (secret string, err error) {
	if w.URL != nil {
		if def.URL, err = checkURL(*w.URL); err != nil {
			return "", err
		}
	}
	if w.Types != nil {
		if err := topic.Check(*w.Types); err != nil {
			return "", badField("types", "types: %v", err)
		}
		def.Types = slices.Clone(*w.Types)
	}
	if w.RatePerS != nil {
		if r := *w.RatePerS; !(r >= 0 && r <= maxRate) {
			return "", badField("rate_per_s", "rate_per_s: give 0 (no limit) to %g webhooks a second", float64(maxRate))
		}
		def.RatePerS = *w.RatePerS
	}
	if w.Concurrency != nil {
		if *w.Concurrency < 0 || *w.Concurrency > maxConcurrency {
			return "", badField("concurrency", "concurrency: give 0 (the default, %d) to %d webhooks at once", defaultConcurrency, maxConcurrency)
		}
		def.Concurrency = *w.Concurrency
	}
	if w.Batch != nil {
		if *w.Batch < 0 || *w.Batch > maxWebhookBatch {
			return "", badField("batch", "batch: give 1 to %d notices a webhook", maxWebhookBatch)
		}
		def.Batch = *w.Batch
	}
	if w.Disabled != nil {
		def.Disabled = ""
		if *w.Disabled {
			def.Disabled = "by its owner"
		}
	}
	return w.applySecret(def, overlap)
}

func (w wish) applySecret(def *journal.Definition, overlap time.Duration) (secret string, err error) {
	if w.Secret != nil {
		secret = *w.Secret
	}
	switch {
	case secret != "" && w.Rotate:
		return "", badField("rotate_secret", "rotate_secret: makes a secret; leave secret out")
	case secret == "" && !w.Rotate && len(def.Secrets) > 0:
		return "", nil
	case secret == "":
		secret = newSecret()
	}
	key, err := parseSecret(secret)
	if err != nil {
		return "", err
	}
	def.Secrets = rotate(def.Secrets, key, time.Now(), overlap)
	return secret, nil
}

func checkURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || len(text) > maxURL {
		return "", badField("url", "url: give an http or https address without user and password, of %d bytes at most", maxURL)
	}
	if err := hostport.CheckPort(u); err != nil {
		return "", badField("url", "url: %v", err)
	}
	return text, nil
}

// checkHost tells a client early what the guard would refuse later. A name is not resolved here: it may
// point elsewhere by then.
func (d *Dispatcher) checkHost(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return badField("url", "url: %v", err)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !d.config.AllowPrivate && !public(ip) {
		return badField("url", "url: %s is not a public address; start with --allow-private-targets to permit it", ip)
	}
	return nil
}

// subscribe makes a subscription, which gets what is accepted from now on. It is durable then.
func (d *Dispatcher) subscribe(w wish) (sub *subscription, secret string, err error) {
	def := journal.Definition{ID: "sub_" + rand.Text(), Created: time.Now().UTC().Truncate(time.Millisecond)}
	if w.URL == nil {
		return nil, "", badField("url", "url is missing: where webhooks go")
	}
	secret, err = w.apply(&def, 0)
	if err == nil {
		err = d.checkHost(def.URL)
	}
	if err != nil {
		return nil, "", err
	}
	if sub, err = d.newSubscription(def); err != nil {
		return nil, "", badField("url", "url: %v", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.subs) >= maxSubscriptions {
		return nil, "", refuse(http.StatusConflict, "there are %d subscriptions already; delete some", maxSubscriptions)
	}
	head := d.head.Load()
	if err := d.journal.Put(def, head); err != nil {
		return nil, "", d.unstored(err)
	}
	var p journal.Position
	p.Redefine(def, head)
	sub.filters, sub.behind.routed = p.Filters, head
	d.subs[def.ID] = sub
	sub.gate.trust(len(d.subs), d.config.Workers)
	d.routes.add(sub, def.Types, def.Disabled != "")
	return sub, secret, nil
}

// errNoSubscription says that there is no subscription of that id.
var errNoSubscription = errors.New("no such subscription")

// change changes a subscription's definition by f. It is durable then, and holds for what is accepted from
// now on.
func (d *Dispatcher) change(id string, f func(*journal.Definition) error) (*subscription, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	sub := d.subs[id]
	if sub == nil {
		return nil, errNoSubscription
	}
	def := sub.def // only changed with the dispatcher's mutex held
	def.Secrets = slices.Clone(def.Secrets)
	if err := f(&def); err != nil {
		return nil, err
	}
	// Through the telling as well: a checkpoint between the two would tell the old definition last.
	sub.mu.Lock()
	defer sub.mu.Unlock()
	// What disables it always goes through: there is one of these for each that does not.
	if wishes := !slices.Equal(sub.def.Types, def.Types) || sub.def.Disabled != def.Disabled; wishes && def.Disabled == "" && len(sub.filters) >= maxFilters {
		return nil, refuse(http.StatusConflict, "what it wants was changed %d times while it lags; change it again when it has caught up", maxFilters)
	}
	head := d.head.Load()
	if err := d.journal.Put(def, head); err != nil {
		return nil, d.unstored(err)
	}
	was := sub.def
	if err := d.define(sub, def); err != nil {
		return nil, fmt.Errorf("subscription %s: %w", id, err)
	}
	if !slices.Equal(was.Types, def.Types) || was.Disabled != def.Disabled {
		p := journal.Position{Filters: slices.Clip(sub.filters)}
		p.Redefine(def, head)
		sub.filters = p.Filters
		d.routes.set(sub, was.Types, def.Types, def.Disabled != "")
	}
	if def.Disabled != "" {
		d.giveUpAll(sub)
	}
	sub.gate.failures = 0 // whoever changed it has mended it, for all we know
	sub.gate.resume()
	return sub, nil
}

// errUnchanged says that there is nothing to change.
var errUnchanged = errors.New("nothing to change")

// disable ends deliveries to a subscription until somebody enables it again, unless its webhooks go elsewhere by
// now.
func (d *Dispatcher) disable(id, target, reason string) {
	_, err := d.change(id, func(def *journal.Definition) error {
		if u, err := url.Parse(def.URL); def.Disabled != "" || err != nil || u.String() != target {
			return errUnchanged
		}
		def.Disabled = reason
		return nil
	})
	if err != nil && !errors.Is(err, errNoSubscription) && !errors.Is(err, errUnchanged) {
		d.log.Error("disabling a subscription", "subscription", id, "error", err)
	}
}

// giveUpAll makes dead letters of all that a subscription has not got, but for what is on its way.
func (d *Dispatcher) giveUpAll(sub *subscription) {
	d.expire(sub, reasonDisabled, func(*item) bool { return true })
	d.pager.kick() // for the backlog
}

// unsubscribe deletes a subscription. What it has not got counts as dead.
func (d *Dispatcher) unsubscribe(id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	sub := d.subs[id]
	if sub == nil {
		return errNoSubscription
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	pending := sub.pending()
	final := sub.counts
	final.Dead += int64(pending)
	if err := d.journal.Delete(id, final); err != nil {
		return d.unstored(err)
	}
	d.settled(int64(pending))
	d.loaded.Add(-sub.bytes)
	sub.gone = true
	d.wheel.Stop(&sub.gate.timer)
	for _, l := range sub.lanes {
		d.forget(l)
	}
	d.pager.keepsUp(sub)
	delete(d.subs, id)
	d.routes.set(sub, sub.def.Types, nil, true)
	return nil
}

// letterID names a dead letter; parseLetterID reads the name.
func letterID(sub string, seq uint64) string { return fmt.Sprintf("%s-%d", sub, seq) }

func parseLetterID(id string) (sub string, seq uint64, ok bool) {
	sub, number, found := strings.Cut(id, "-")
	if !found {
		return "", 0, false
	}
	_, err := fmt.Sscanf(number, "%d", &seq)
	return sub, seq, err == nil && letterID(sub, seq) == id
}
