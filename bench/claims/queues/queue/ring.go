package queue

import "sync"

// Ring is one growable ring under a mutex: its memory depends on its peak instead of its cap.
type Ring[T any] struct {
	mu      sync.Mutex
	filled  sync.Cond
	values  buffer[T] // guarded by mu, as are the fields below
	refused uint64
	waits   uint64
	closed  bool
}

// NewRing returns a ring that grows up to capacity values.
func NewRing[T any](capacity int) *Ring[T] {
	q := &Ring[T]{values: buffer[T]{cap: capacity}}
	q.filled.L = &q.mu
	return q
}

func (q *Ring[T]) Put(_ uint64, v T) bool {
	q.mu.Lock()
	ok := !q.closed && q.values.push(v)
	if !ok {
		q.refused++
	}
	q.mu.Unlock()
	if ok {
		q.filled.Signal()
	}
	return ok
}

func (q *Ring[T]) Take(_ int, buf []T) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.values.n == 0 && !q.closed {
		q.waits++
		q.filled.Wait()
	}
	return q.values.pop(buf)
}

func (q *Ring[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.values.n
}

func (q *Ring[T]) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.filled.Broadcast()
}

func (q *Ring[T]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{Refused: q.refused, Growths: q.values.growths, Waits: q.waits, Peak: q.values.peak}
}
