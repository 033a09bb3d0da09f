package snapshot

import (
	"maps"
	"sync"
	"sync/atomic"
)

// published is an immutable state behind an atomic pointer. Readers never lock.
type published[S any, K comparable, V any] struct {
	now    atomic.Pointer[state[S, K, V]]
	writer sync.Mutex // held from reading now until the next state is in its place
}

// state is never changed once it is published.
type state[S any, K comparable, V any] struct {
	summary S
	entries map[K]V
}

// newPublished makes an empty one.
func newPublished[S any, K comparable, V any]() *published[S, K, V] {
	a := &published[S, K, V]{}
	a.now.Store(&state[S, K, V]{})
	return a
}

// Summary is what was last said of the whole.
func (a *published[S, K, V]) Summary() S { return a.now.Load().summary }

// Get finds an entry.
func (a *published[S, K, V]) Get(key K) (V, bool) {
	v, ok := a.now.Load().entries[key]
	return v, ok
}

// Update publishes a changed copy. Entries that are not changed are shared with the state before, and so is the map
// when the summary alone changes.
func (a *published[S, K, V]) Update(c Change[S, K, V]) {
	a.writer.Lock()
	defer a.writer.Unlock()
	entries := a.now.Load().entries
	if len(c.Remove) > 0 || len(c.Put) > 0 {
		if entries = maps.Clone(entries); entries == nil {
			entries = make(map[K]V, len(c.Put))
		}
		c.apply(entries)
	}
	a.now.Store(&state[S, K, V]{c.Summary, entries})
}
