package store

import (
	"slices"
	"sync"
)

// underway is the fetches that have begun and not ended, at most one for each connection of the
// class.
type underway struct {
	mu      sync.Mutex
	begun   uint64 // fetches since the start
	fetches []fetch
}

type fetch struct {
	number  uint64
	uids    []int64 // the batcher's, until the fetch ends
	attempt *attempt
}

func (u *underway) begin(a *attempt, uids []int64) (number uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.begun++
	u.fetches = append(u.fetches, fetch{u.begun, uids, a})
	return u.begun
}

func (u *underway) end(number uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fetches = slices.DeleteFunc(u.fetches, func(f fetch) bool { return f.number == number })
}

// asked reports whether the database is being asked for an order.
func (u *underway) asked(uid int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(u.fetches, func(f fetch) bool { return f.attempt.asked.Load() && slices.Contains(f.uids, uid) })
}
