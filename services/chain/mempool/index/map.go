package index

import (
	"maps"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Map is two maps behind one lock. Walk orders all that is offered.
type Map struct {
	mu      sync.RWMutex
	all     map[common.Hash]*Entry
	offered map[*Entry]struct{}
}

// NewMap returns an empty Map.
func NewMap() *Map {
	return &Map{all: map[common.Hash]*Entry{}, offered: map[*Entry]struct{}{}}
}

// Put implements Index.
func (m *Map) Put(e *Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[e.Tx.Hash()] = e
}

// Get implements Index.
func (m *Map) Get(hash common.Hash) *Entry {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.all[hash]
}

// Delete implements Index.
func (m *Map) Delete(e *Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, e.Tx.Hash())
}

// Offer implements Index.
func (m *Map) Offer(e *Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offered[e] = struct{}{}
}

// Retract implements Index.
func (m *Map) Retract(e *Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.offered, e)
}

// Offered implements Index.
func (m *Map) Offered() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.offered)
}

// Walk implements Index.
func (m *Map) Walk(base *uint256.Int, visit func(*Entry) (Verdict, *Entry)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	walkAll(slices.Collect(maps.Keys(m.offered)), base, visit,
		func(e *Entry) { delete(m.offered, e) },
		func(e *Entry) { m.offered[e] = struct{}{} })
}
