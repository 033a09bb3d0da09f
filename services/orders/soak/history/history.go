// Package history says whether what an order gateway answered can be true, from what its clients and the writers
// of its database did: nothing stale, nothing torn, nothing of other people's, no submission lost or taken twice.
//
// Everything is judged when it ends, so a history of any length takes the memory of its rows and not of its reads:
// of a row it keeps the highest version whose commit was acknowledged and the highest that anybody began to commit.
// A read takes the first when it begins and the second when it ends; what it returns must lie between. What a row
// holds follows from its key and version (Derive), so that every field of every answer can be checked.
//
// Order alone decides, never a duration: a method that returned before another was called came before it. Times
// are for the stories of what is wrong.
//
// It is not for measuring, and it knows nothing of HTTP or SQL (package soak does). It starts no goroutines; its
// methods may be called by many at once, those of one Reader one after the other.
package history

import (
	"net/http"
	"sync"
	"time"
)

// History is what is known of the rows, and what is wrong so far.
type History struct {
	Foreign int                  // what another account's order is answered with: 404 or 403; 0: 404
	Now     func() time.Duration // on a monotonic clock; nil: since New

	mu      sync.RWMutex
	rows    map[int64]*row
	newest  int64               // the highest uid in it
	tails   []*row              // all but the hot ones, in the order in which they became known
	hot     []*row              //
	owned   map[string][]*row   // by account, uids rising
	pending map[Key]*submission // submissions that were begun

	telling sync.Mutex // of what follows; taken last
	absent  []byte     // the body that says that there is no such order; nil: not seen yet
	verdict Verdict
}

// row is what is known of one order that is there for certain.
type row struct {
	uid     int64
	key     Key
	account string

	mu      sync.Mutex
	acked   int64         // the highest version whose commit was acknowledged
	ackedAt time.Duration // when
	begun   int64         // the highest version that anybody began to commit
	dated   int64         // the version that updated belongs to; 0: none
	updated time.Time
}

// New returns an empty history.
func New() *History {
	start := time.Now()
	return &History{
		Foreign: http.StatusNotFound,
		Now:     func() time.Duration { return time.Since(start) },
		rows:    map[int64]*row{}, owned: map[string][]*row{}, pending: map[Key]*submission{},
		verdict: Verdict{Broken: map[Kind]int{}},
	}
}

// Add adds a row whose version 1 is committed.
func (h *History) Add(uid int64, key Key, account string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(uid, key, account)
}

func (h *History) add(uid int64, key Key, account string) *row {
	r := &row{uid: uid, key: key, account: account, acked: 1, begun: 1, ackedAt: h.Now()}
	h.rows[uid] = r
	h.newest = max(h.newest, uid)
	if key.Endless() {
		h.hot = append(h.hot, r)
	} else {
		h.tails = append(h.tails, r)
	}
	owned := append(h.owned[account], r)
	for i := len(owned) - 1; i > 0 && owned[i-1].uid > uid; i-- {
		owned[i-1], owned[i] = owned[i], owned[i-1]
	}
	h.owned[account] = owned
	return r
}

// Known is an order that is there for certain.
type Known struct {
	UID     int64
	Key     Key
	Account string
	Version int64 // the highest that was acknowledged
}

// Hot returns the i-th of the orders that never end, counted around.
func (h *History) Hot(i int) Known { return h.pick(&h.hot, i) }

// Tail returns the i-th of the other orders, counted around.
func (h *History) Tail(i int) Known { return h.pick(&h.tails, i) }

func (h *History) pick(from *[]*row, i int) Known {
	h.mu.RLock()
	r := (*from)[i%len(*from)]
	h.mu.RUnlock()
	version, _ := r.floor()
	return Known{r.uid, r.key, r.account, version}
}

// Newest returns the highest uid that is known.
func (h *History) Newest() int64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.newest
}

func (h *History) row(uid int64) *row {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.rows[uid]
}

// Committing says that somebody is about to commit a version of an order that was added.
func (h *History) Committing(uid, version int64) {
	r := h.row(uid)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = max(r.begun, version)
}

// Committed says that this was acknowledged, with the moment that the database wrote into the row.
func (h *History) Committed(uid, version int64, updated time.Time) {
	r, now := h.row(uid), h.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if version > r.acked {
		r.acked, r.ackedAt = version, now
	}
	if version > r.dated {
		r.dated, r.updated = version, updated
	}
}

// floor returns the version that a read which begins now must return at least.
func (r *row) floor() (version int64, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.acked, r.ackedAt
}

// ceiling returns the highest version that a read which ends now can have seen.
func (r *row) ceiling() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun
}

// date holds that a version has one moment, whoever tells of it.
func (r *row) date(version int64, updated time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if version > r.dated {
		r.dated, r.updated = version, updated
	}
	return version != r.dated || r.updated.Equal(updated)
}
