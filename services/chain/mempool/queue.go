package mempool

import (
	"container/heap"
	"sync"
)

// queue is the slots behind a nonce gap, of all senders, the worst-paying on top. Its methods may
// be called concurrently, those for one slot only under the lock of its sender.
type queue struct {
	mu    sync.Mutex
	slots queued
}

func (q *queue) push(s *slot) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.queued = true
	heap.Push(&q.slots, s)
}

// remove removes a slot if it is there.
func (q *queue) remove(s *slot) {
	if !s.queued {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s.queued = false
	heap.Remove(&q.slots, s.place)
}

// worst returns the slot that pays least, or nil.
func (q *queue) worst() *slot {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.slots) == 0 {
		return nil
	}
	return q.slots[0]
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.slots)
}

// cheaper reports whether a slot pays less than an entry.
func (s *slot) cheaper(e *Entry) bool {
	if c := s.entry.FeeCap().Cmp(e.FeeCap()); c != 0 {
		return c < 0
	}
	return s.entry.TipCap().Lt(e.TipCap())
}

// queued is a heap of slots that know their places.
type queued []*slot

// Len implements heap.Interface.
func (q queued) Len() int { return len(q) }

// Less implements heap.Interface.
func (q queued) Less(i, j int) bool {
	a, b := q[i], q[j]
	if a.cheaper(b.entry) || b.cheaper(a.entry) {
		return a.cheaper(b.entry)
	}
	return a.entry.Arrival > b.entry.Arrival
}

// Swap implements heap.Interface.
func (q queued) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *queued) Push(x any) {
	s := x.(*slot)
	s.place = len(*q)
	*q = append(*q, s)
}

// Pop implements heap.Interface.
func (q *queued) Pop() any {
	last := len(*q) - 1
	s := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return s
}
