// Package history checks whether an order gateway's answers can be correct, given the calls of its
// clients and of the writers of its database: no stale and no torn order, no order of another
// account, no submission lost or accepted twice.
//
// Each call is judged when it ends, so the memory depends on the number of rows, not of reads: for
// a row it keeps the highest version whose commit was acknowledged (the floor) and the highest
// whose commit was begun (the ceiling). A read takes the floor when it begins and the ceiling when
// it ends; its result must be between them. The contents of a row follow from its key and version
// (Derive), so that every field of every answer can be checked.
//
// Only the order of events decides, never a duration: a method that returned before another was
// called came before it. Times are only for the stories of violations.
//
// It is not for measuring, and it knows neither HTTP nor SQL (package soak does). It starts no
// goroutines; its methods are safe for concurrent use, except those of one Reader, which must be
// sequential.
package history

import (
	"net/http"
	"sync"
	"time"
)

// History holds the known rows, and the violations so far.
type History struct {
	Foreign int                  // status for another account's order: 404 or 403; 0 means 404
	Now     func() time.Duration // a monotonic clock; nil means the time since New

	mu      sync.RWMutex
	rows    map[int64]*row
	newest  int64               // the highest known uid
	tails   []*row              // all rows except the hot ones, in the order in which they became known
	hot     []*row              //
	owned   map[string][]*row   // by account, uids ascending
	pending map[Key]*submission // submissions in progress

	reporting sync.Mutex // guards the fields below; locked last
	absent    []byte     // first body that denied an order; nil: none yet
	verdict   Verdict
}

// row is what is known about one order that certainly exists.
type row struct {
	uid     int64
	key     Key
	account string

	mu      sync.Mutex
	acked   int64         // highest version whose commit was acknowledged
	ackedAt time.Duration // time of that
	begun   int64         // highest version whose commit was begun
	dated   int64         // version that updated belongs to; 0 means none
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

// Known is an order that certainly exists.
type Known struct {
	UID     int64
	Key     Key
	Account string
	Version int64 // highest acknowledged version
}

// Hot returns the i-th endless order, modulo their number.
func (h *History) Hot(i int) Known { return h.pick(&h.hot, i) }

// Tail returns the i-th other order, modulo their number.
func (h *History) Tail(i int) Known { return h.pick(&h.tails, i) }

func (h *History) pick(from *[]*row, i int) Known {
	h.mu.RLock()
	r := (*from)[i%len(*from)]
	h.mu.RUnlock()
	version, _ := r.floor()
	return Known{r.uid, r.key, r.account, version}
}

// Newest returns the highest known uid.
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

// Committing records that a writer is about to commit a version of a known order.
func (h *History) Committing(uid, version int64) {
	r := h.row(uid)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = max(r.begun, version)
}

// Committed records an acknowledged commit, with the time that the database wrote into the row.
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

// floor returns the lowest version that a read which begins now may return.
func (r *row) floor() (version int64, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.acked, r.ackedAt
}

// ceiling returns the highest version that a read which ends now can return.
func (r *row) ceiling() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun
}

// date checks that all answers give a version the same time.
func (r *row) date(version int64, updated time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if version > r.dated {
		r.dated, r.updated = version, updated
	}
	return version != r.dated || r.updated.Equal(updated)
}
