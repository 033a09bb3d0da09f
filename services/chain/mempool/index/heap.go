package index

import (
	"container/heap"
	"sync"

	"github.com/holiman/uint256"
)

// Heap is a sharded map of all entries, and a heap of those that are offered, which stays in the
// order of the last walk's base fee. A walk at another one orders it again.
type Heap struct {
	hashes
	mu   sync.Mutex
	fees fees
	base uint256.Int
}

// NewHeap returns an empty Heap.
func NewHeap() *Heap {
	h := &Heap{}
	h.hashes.init()
	return h
}

// Offer implements Index.
func (h *Heap) Offer(e *Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.rate(&h.base)
	h.fees.push(e)
}

// Retract implements Index.
func (h *Heap) Retract(e *Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	heap.Remove(&h.fees, e.place)
}

// Offered implements Index.
func (h *Heap) Offered() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.fees)
}

// Walk implements Index.
func (h *Heap) Walk(base *uint256.Int, visit func(*Entry) (Verdict, *Entry)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !base.Eq(&h.base) {
		h.base = *base
		h.fees.rate(base)
	}
	walk(&h.fees, base, visit)
}
