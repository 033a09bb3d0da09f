package dispatch

import (
	"fmt"
	"net/http"
	"slices"
	"sync"

	"dyno/parts/refusal"
	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
	"dyno/services/notify/webhook"
)

// subscriber is a subscription, and the one owner of its state: what it wants, where it stands in
// the log, what it has in memory, how its receiver is, and its counts. Only its methods, and those
// of its lanes, its limiter and a batch, write these. They take its lock, unless they say that it
// is held.
//
// A method that decides what a restart must know hands the event to the journal before it releases
// the lock: so the events of one subscription are in the order in which they happened.
type subscriber struct {
	id string
	d  *Deliverer

	mu     sync.Mutex // guards the fields below
	def    subscription.Definition
	counts subscription.Counts
	gone   bool // it was deleted

	filters []subscription.Filter // what it wanted from which number on; the last holds now
	backlog int64                 // notices that are in the log only
	cursor  cursor
	mean    float64 // bytes of a notice in the log, a moving average; 0 means that none came since the start

	target  *webhook.Target
	lanes   map[string]*lane
	byAge   byAge
	n       int   // notices in the lanes
	bytes   int64 // of these
	limiter receiverLimiter
	last    webhook.Outcome // of the last attempt
}

// newSubscriber makes a subscriber of a definition that was checked.
func newSubscriber(d *Deliverer, def subscription.Definition) (*subscriber, error) {
	sub := &subscriber{id: def.ID, d: d, lanes: map[string]*lane{}}
	sub.limiter.init(&d.outlet, &sub.mu)
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub, sub.define(def)
}

// define takes a definition over. The lock is held.
func (sub *subscriber) define(def subscription.Definition) error {
	target, err := webhook.NewTarget(def.URL, def.Secrets)
	if err != nil {
		return err
	}
	sub.def, sub.target = def, target
	sub.limiter.configure(def, sub.d.pack.inflight(def))
	return nil
}

// begin makes a new subscription durable, which gets notices from a number on.
func (sub *subscriber) begin(head uint64) error {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if err := sub.d.options.Store.Journal.Put(sub.def, head); err != nil {
		return sub.d.options.Store.refuse(err)
	}
	var p subscription.Position
	p.Redefine(sub.def, head)
	sub.filters, sub.cursor.routed = p.Filters, head
	return nil
}

// redefine gives a subscription another definition, durably, which holds for notices from a number
// on. It reports whether the subscription wants others than before.
func (sub *subscriber) redefine(def subscription.Definition, head uint64) (reroute bool, err error) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	reroute = !slices.Equal(sub.def.Types, def.Types) || sub.def.Disabled != def.Disabled
	// A change that disables it always succeeds: before it came one that did not, which was counted.
	if reroute && def.Disabled == "" && len(sub.filters) >= maxFilters {
		return false, refusal.New(http.StatusConflict, "what it wants was changed %d times while it lags; change it again when it has caught up", maxFilters)
	}
	// Under the lock: a checkpoint in between would write the old definition last.
	if err := sub.d.options.Store.Journal.Put(def, head); err != nil {
		return false, sub.d.options.Store.refuse(err)
	}
	if err := sub.define(def); err != nil {
		return false, fmt.Errorf("subscription %s: %w", sub.id, err)
	}
	if reroute {
		p := subscription.Position{Filters: slices.Clip(sub.filters)}
		p.Redefine(def, head)
		sub.filters = p.Filters
	}
	if def.Disabled != "" {
		sub.giveUpAll()
	}
	sub.limiter.retry() // the change may have fixed the receiver
	return reroute, nil
}

// remove deletes a subscription, durably. What it has not got is not owed any more, and counts as
// dead.
func (sub *subscriber) remove() error {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	left := int64(sub.pending())
	final := sub.counts
	final.Dead += left
	if err := sub.d.options.Store.Journal.Delete(sub.id, final); err != nil {
		return sub.d.options.Store.refuse(err)
	}
	sub.gone = true
	sub.d.decPending(left)
	sub.d.Loaded.Add(-sub.bytes)
	sub.d.timers.Stop(&sub.limiter.timer)
	for _, l := range sub.lanes {
		sub.forget(l)
	}
	sub.d.signalRoom() // so that its backlog is forgotten
	return nil
}

const (
	logOverhead = 32 // about what a log takes for a record beside its bytes
	meanOver    = 64 // about how many notices their mean size is taken over
)

// offer gives a subscription the newest notice: into memory, or if that is full, by leaving it in
// the log.
func (sub *subscriber) offer(n *notice.Notice) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.counts.Accepted++
	logged := float64(n.RecordSize() + logOverhead)
	if sub.mean == 0 {
		sub.mean = logged
	}
	sub.mean += (logged - sub.mean) / meanOver
	sub.cursor.routed = n.Seq + 1
	switch {
	case sub.backlog > 0:
		sub.backlog++
	case sub.hasCapacity():
		sub.resume(n, subscription.Waiting{}, false)
	default:
		sub.cursor.loaded, sub.backlog = n.Seq, 1
		sub.d.lagging.add(sub)
		sub.d.signalRoom()
	}
}

// refuse counts a notice that was refused.
func (sub *subscriber) refuse() {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.counts.Refused++
}

// setInitialLimit sets how many webhooks may be in flight to a new receiver: firstLimit, or less
// when there are so few workers for the subscriptions that, if one receiver in a hundred hangs,
// these could have more than half of the workers: until other workers take their places, no other
// receiver would get anything.
func (sub *subscriber) setInitialLimit(subscriptions int) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	hang := max(1, subscriptions/100)
	sub.limiter.limit = min(sub.limiter.most, max(1, min(firstLimit, sub.d.options.Workers/2/hang)))
}

// pending counts what it has not got, in the lanes and in the log. The lock is held.
func (sub *subscriber) pending() int {
	n := int(sub.backlog)
	for _, l := range sub.lanes {
		n += l.n
	}
	return n
}

// floorItems of each subscription are let into memory however full it is, so that each makes
// progress.
const floorItems = 4

// hasCapacity reports whether a subscription may have another notice in memory. The lock is held.
func (sub *subscriber) hasCapacity() bool {
	o := &sub.d.options
	return sub.n < o.Window && (sub.d.Loaded.Load() < o.Memory || sub.n < floorItems)
}

// worthReading reports whether reading the log for a subscription is worthwhile: half of its window
// is free, or all it has not got fits in. So a pass that begins with it hands out many notices, and
// the subscriptions ahead of it have their turn. The lock is held.
func (sub *subscriber) worthReading() bool {
	w := sub.d.options.Window
	if sub.d.Loaded.Load() >= sub.d.options.Memory {
		w = min(w, floorItems)
	}
	return sub.n <= w/2 || int64(sub.n)+sub.backlog <= int64(w)
}

// signalRoom asks for more from the log when a subscription has got something and less than half of
// its window is in use. The lock is held.
func (sub *subscriber) signalRoom() {
	if sub.backlog > 0 && sub.n <= sub.d.options.Window/2 {
		sub.d.signalRoom()
	}
}
