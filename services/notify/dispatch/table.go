package dispatch

import (
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"dyno/services/notify/journal"
	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
	"dyno/services/notify/webhook"
)

// TableOptions of a Table.
type TableOptions struct {
	Store         *Store
	Deliverer     *Deliverer
	SecretOverlap time.Duration // for which a replaced secret still signs
	AllowPrivate  bool          // addresses that are not public
	Log           *slog.Logger
}

// Table is all subscriptions.
type Table struct {
	options TableOptions

	mu      sync.RWMutex // guards the fields below. While it is held for writing, no notice is routed
	byID    map[string]*subscriber
	routes  routes
	version uint64 // counts the changes of routes
}

// NewTable returns an empty table.
func NewTable(o TableOptions) *Table { return &Table{options: o, byID: map[string]*subscriber{}} }

// Definitions visits the subscriptions in the order of their ids, each as it is when its turn
// comes.
func (t *Table) Definitions() iter.Seq[subscription.Definition] {
	return func(yield func(subscription.Definition) bool) {
		for _, sub := range t.all() {
			if !yield(sub.definition()) {
				return
			}
		}
	}
}

// Statuses visits the subscriptions in the order of their ids, each as it is when its turn comes.
func (t *Table) Statuses() iter.Seq[Status] {
	return func(yield func(Status) bool) {
		for _, sub := range t.all() {
			if !yield(sub.status()) {
				return
			}
		}
	}
}

// Get returns a subscription's definition, or ErrUnknown.
func (t *Table) Get(id string) (subscription.Definition, error) {
	sub := t.get(id)
	if sub == nil {
		return subscription.Definition{}, ErrUnknown
	}
	return sub.definition(), nil
}

// all returns the subscriptions in the order of their ids.
func (t *Table) all() []*subscriber {
	t.mu.RLock()
	defer t.mu.RUnlock()
	ids := slices.Sorted(maps.Keys(t.byID))
	subs := make([]*subscriber, len(ids))
	for i, id := range ids {
		subs[i] = t.byID[id]
	}
	return subs
}

// get returns a subscription; nil means that there is none of that id.
func (t *Table) get(id string) *subscriber {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byID[id]
}

// Len is the number of subscriptions.
func (t *Table) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.byID)
}

// Oldest is the age of the oldest notice in memory.
func (t *Table) Oldest(now time.Time) (age time.Duration) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, sub := range t.byID {
		age = max(age, sub.age(now))
	}
	return age
}

// Replay makes a dead letter pending again, durably, at the end of its key's lane. When there is
// none, it returns journal.ErrUnknown.
func (t *Table) Replay(id string, seq uint64) error {
	sub := t.get(id)
	if sub == nil {
		return journal.ErrUnknown
	}
	return sub.replay(seq)
}

// Purge deletes a dead letter, durably. When there is none, it returns journal.ErrUnknown.
func (t *Table) Purge(id string, seq uint64) error {
	sub := t.get(id)
	if sub == nil {
		return journal.ErrUnknown
	}
	return sub.purge(seq)
}

// SendTest sends one notice to one subscription, now and once. It counts nowhere, and its outcome
// changes nothing.
func (t *Table) SendTest(id string, n *notice.Notice) (webhook.Outcome, error) {
	sub := t.get(id)
	if sub == nil {
		return webhook.Outcome{}, ErrUnknown
	}
	return sub.sendTest(n), nil
}

// restore makes a subscription that the journal knows; first is the first notice of the log. It
// gets no notices before activate.
func (t *Table) restore(r *subscription.Recovered, first uint64) error {
	sub, err := restoreSubscriber(t.options.Deliverer, r, first)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID[sub.id] = sub
	return nil
}

// activate enters a restored subscription into the routes, when all are restored.
func (t *Table) activate(sub *subscriber) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enter(sub)
}

// enter enters a subscription into the routes. t.mu is held.
func (t *Table) enter(sub *subscriber) {
	t.routes.add(sub)
	t.version++
	sub.setInitialLimit(len(t.byID))
}

// matches are the subscriptions that want some notices, found when the notices were admitted.
// Routing them takes these instead of another walk over the routes, unless a subscription came,
// went or changed in between.
type matches struct {
	version uint64
	whole   bool
	subs    []*subscriber // of all notices, one after the other
	ends    []int         // of each notice's subscriptions in subs
}

// maxMatches bounds the memory of matches: half a megabyte.
const maxMatches = 1 << 16

// match finds the subscriptions that want each of the notices, and returns their number.
func (t *Table) match(notices []*notice.Notice, m *matches) (owed int) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	m.reset()
	for _, n := range notices {
		t.routes.visit(n.Type, func(sub *subscriber) {
			if owed++; owed <= maxMatches {
				m.subs = append(m.subs, sub)
			}
		})
		m.ends = append(m.ends, len(m.subs))
	}
	m.version, m.whole = t.version, owed <= maxMatches
	return owed
}

// visit calls f for each subscription that wants the notice with index i of those that were
// matched. t.mu is held for reading.
func (t *Table) visit(m *matches, i int, n *notice.Notice, f func(*subscriber)) {
	if !m.whole || m.version != t.version {
		t.routes.visit(n.Type, f)
		return
	}
	from := 0
	if i > 0 {
		from = m.ends[i-1]
	}
	for _, sub := range m.subs[from:m.ends[i]] {
		f(sub)
	}
}

// reset forgets the matches and keeps their memory.
func (m *matches) reset() {
	clear(m.subs)
	m.subs, m.ends, m.whole = m.subs[:0], m.ends[:0], false
}

// route hands notices that are durable to the subscriptions that want them, and counts how many do.
// It is called in the order of the numbers, one call at a time.
func (t *Table) route(notices []*notice.Notice, found *matches) (deliveries int) {
	t.mu.RLock() // a subscription comes or goes before all of them or after
	defer t.mu.RUnlock()
	for i, n := range notices {
		t.visit(found, i, n, func(sub *subscriber) {
			sub.offer(n)
			n.Owed++
		})
		deliveries += n.Owed
	}
	t.options.Store.head.Store(notices[len(notices)-1].Seq + 1)
	return deliveries
}

// withoutRouting calls f while no notice is routed.
func (t *Table) withoutRouting(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

// refused counts notices that were refused, for each subscription that wants them.
func (t *Table) refused(notices []*notice.Notice) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, n := range notices {
		t.routes.visit(n.Type, (*subscriber).refuse)
	}
}
