package dispatch

import (
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
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

	Mu      sync.RWMutex // guards the fields below. While it is held for writing, no notice is routed
	byID    map[string]*Subscription
	routes  Routes
	version uint64 // counts the changes of routes
}

// NewTable returns an empty table.
func NewTable(o TableOptions) *Table { return &Table{options: o, byID: map[string]*Subscription{}} }

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
			if !yield(sub.Status()) {
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
func (t *Table) all() []*Subscription {
	t.Mu.RLock()
	defer t.Mu.RUnlock()
	ids := slices.Sorted(maps.Keys(t.byID))
	subs := make([]*Subscription, len(ids))
	for i, id := range ids {
		subs[i] = t.byID[id]
	}
	return subs
}

// get returns a subscription; nil means that there is none of that id.
func (t *Table) get(id string) *Subscription {
	t.Mu.RLock()
	defer t.Mu.RUnlock()
	return t.byID[id]
}

// Len is the number of subscriptions.
func (t *Table) Len() int {
	t.Mu.RLock()
	defer t.Mu.RUnlock()
	return len(t.byID)
}

// Oldest is the age of the oldest notice in memory.
func (t *Table) Oldest(now time.Time) (age time.Duration) {
	t.Mu.RLock()
	defer t.Mu.RUnlock()
	for _, sub := range t.byID {
		sub.Mu.Lock()
		if accepted, ok := sub.Oldest(); ok {
			age = max(age, now.Sub(time.Unix(0, accepted)))
		}
		sub.Mu.Unlock()
	}
	return age
}

// Restore makes a subscription that the journal knows. It gets no notices before Activate.
func (t *Table) Restore(r *subscription.Recovered) (*Subscription, error) {
	sub := new(Subscription)
	if err := t.options.Deliverer.Init(&sub.Receiver, r.Definition); err != nil {
		return nil, err
	}
	sub.Filters, sub.Counts = r.Filters, r.Counts
	t.byID[sub.ID] = sub
	return sub, nil
}

// Activate enters a restored subscription into the routes, when all are restored.
func (t *Table) Activate(sub *Subscription) {
	t.routes.Add(sub)
	t.version++
	t.options.Deliverer.SetInitialLimit(&sub.Receiver, len(t.byID))
}

// Matches are the subscriptions that want some notices, found when the notices were admitted.
// Routing them takes these instead of another walk over the routes, unless a subscription came,
// went or changed in between.
type Matches struct {
	version uint64
	whole   bool
	subs    []*Subscription // of all notices, one after the other
	ends    []int           // of each notice's subscriptions in subs
}

// maxMatches bounds the memory of Matches: half a megabyte.
const maxMatches = 1 << 16

// Match finds the subscriptions that want each of the notices, and returns their number. t.Mu is
// held for reading.
func (t *Table) Match(notices []*notice.Notice, m *Matches) (owed int) {
	m.Reset()
	for _, n := range notices {
		t.routes.Visit(n.Type, func(sub *Subscription) {
			if owed++; owed <= maxMatches {
				m.subs = append(m.subs, sub)
			}
		})
		m.ends = append(m.ends, len(m.subs))
	}
	m.version, m.whole = t.version, owed <= maxMatches
	return owed
}

// Visit calls f for each subscription that wants the notice with index i of those that were
// matched. t.Mu is held for reading.
func (t *Table) Visit(m *Matches, i int, n *notice.Notice, f func(*Subscription)) {
	if !m.whole || m.version != t.version {
		t.routes.Visit(n.Type, f)
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

// Reset forgets the matches and keeps their memory.
func (m *Matches) Reset() {
	clear(m.subs)
	m.subs, m.ends, m.whole = m.subs[:0], m.ends[:0], false
}

// CountRefused counts notices that were refused, for each subscription that wants them.
func (t *Table) CountRefused(notices []*notice.Notice) {
	t.Mu.RLock()
	defer t.Mu.RUnlock()
	for _, n := range notices {
		t.routes.Visit(n.Type, func(sub *Subscription) {
			sub.Mu.Lock()
			defer sub.Mu.Unlock()
			sub.Counts.Refused++
		})
	}
}
