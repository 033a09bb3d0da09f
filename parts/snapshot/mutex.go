package snapshot

import "sync"

// locked is a map and a summary that change in place under a lock.
type locked[S any, K comparable, V any] struct {
	mu      sync.RWMutex
	summary S
	entries map[K]V
}

// newLocked makes an empty one.
func newLocked[S any, K comparable, V any]() *locked[S, K, V] {
	return &locked[S, K, V]{entries: map[K]V{}}
}

// Summary is what was last said of the whole.
func (m *locked[S, K, V]) Summary() S {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.summary
}

// Get finds an entry.
func (m *locked[S, K, V]) Get(key K) (V, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	v, ok := m.entries[key]
	return v, ok
}

// Update changes in place; readers wait meanwhile.
func (m *locked[S, K, V]) Update(c Change[S, K, V]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.summary = c.Summary
	c.apply(m.entries)
}
