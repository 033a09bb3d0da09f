package notify

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"

	"dyno/services/notify/journal"
	"dyno/services/notify/topic"
)

// Bounds of subscriptions.
const (
	maxSubscriptions = 100_000 // what one notice can fan out to
	maxWebhookBatch  = 1000    // notices of one webhook
	maxConcurrency   = 4096    // webhooks in flight to one receiver
	maxRate          = 1e6     // webhooks a second
	maxURL           = 2048    // bytes
	maxFilters       = 100     // changes of its types that notices of before are still owed by

	// A receiver that has not said how much it takes at once gets this many webhooks at once.
	defaultConcurrency = 32
)

// subscription is one receiver of notices.
type subscription struct {
	id   string
	keys atomic.Pointer[keyring]

	mu      sync.Mutex // guards the fields below; taken after the dispatcher's
	def     journal.Definition
	request *http.Request    // what every webhook to it has in common
	filters []journal.Filter // what it wanted from which number on; the last holds now
	gone    bool             // deleted
	lanes   map[string]*lane
	ages    ages
	n       int     // notices in the lanes
	bytes   int64   // of these
	mean    float64 // bytes of a notice in the log, of late
	counts  journal.Counts
	gate    gate
	behind  behind
	last    outcome // of its last attempt
}

// newSubscription makes a subscription of a definition that was checked.
func (d *Dispatcher) newSubscription(def journal.Definition) (*subscription, error) {
	sub := &subscription{id: def.ID, lanes: map[string]*lane{}}
	sub.gate.init(d, sub)
	return sub, d.define(sub, def)
}

// define gives a subscription its definition. The caller holds its mutex, or has it alone.
func (d *Dispatcher) define(sub *subscription, def journal.Definition) error {
	u, err := url.Parse(def.URL)
	if err != nil {
		return err
	}
	ring, err := newKeyring(def.Secrets)
	if err != nil {
		return err
	}
	sub.def = def
	sub.keys.Store(ring)
	sub.request = &http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	sub.gate.configure(def, d.pack.inflight(sub))
	return nil
}

// wanted reports whether the subscription is to get notice seq, by what it wanted then.
func (sub *subscription) wanted(seq uint64, kind string) bool {
	for i := len(sub.filters) - 1; i >= 0; i-- {
		if f := sub.filters[i]; f.From <= seq {
			return !f.None && topic.Match(f.Types, kind)
		}
	}
	return false
}

// offered counts the numbers between two, the second exclusive, when the subscription was not disabled.
func (sub *subscription) offered(from, next uint64) (n int64) {
	for i, f := range sub.filters {
		until := next
		if i+1 < len(sub.filters) {
			until = min(next, sub.filters[i+1].From)
		}
		if since := max(from, f.From); !f.None && since < until {
			n += int64(until - since)
		}
	}
	return n
}

// pending counts what it has not got, in the lanes and in the log.
func (sub *subscription) pending() int {
	n := int(sub.behind.backlog)
	for _, l := range sub.lanes {
		n += l.n
	}
	return n
}

// state says how it is, in a word.
func (sub *subscription) state() string {
	switch {
	case sub.def.Disabled != "":
		return "disabled"
	case sub.gate.failures >= breakerFailures:
		return "failing"
	case sub.gate.throttled:
		return "throttled"
	}
	return "ok"
}

// subscriptions returns all, by id.
func (d *Dispatcher) subscriptions() []*subscription {
	d.mu.RLock()
	defer d.mu.RUnlock()
	ids := slices.Sorted(maps.Keys(d.subs))
	subs := make([]*subscription, len(ids))
	for i, id := range ids {
		subs[i] = d.subs[id]
	}
	return subs
}

func (d *Dispatcher) subscription(id string) *subscription {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.subs[id]
}
