package queue

import (
	"sync"
	"sync/atomic"
)

// Swap holds two slices. Producers append to one; when the other is empty, a worker exchanges the
// two, which moves the whole batch at the cost of two words. So producers and workers contend once
// per batch, and workers take from the batch under a lock that no producer uses.
type Swap[T any] struct {
	capacity int64
	waiting  atomic.Int64 // values in both slices
	closed   atomic.Bool

	outMu sync.Mutex // taken before inMu
	out   []T
	next  int // index in out of the oldest value

	inMu     sync.Mutex
	filled   sync.Cond // on inMu: a value was added, or Close
	sleepers int       // guarded by inMu, as are the fields below
	in       []T
	refused  uint64
	growths  uint64
	waits    uint64
	peak     int64
}

// NewSwap returns a queue with room for capacity values.
func NewSwap[T any](capacity int) *Swap[T] {
	q := &Swap[T]{capacity: int64(capacity)}
	q.filled.L = &q.inMu
	return q
}

func (q *Swap[T]) Put(_ uint64, v T) bool {
	q.inMu.Lock()
	if q.closed.Load() || q.waiting.Load() >= q.capacity {
		q.refused++
		q.inMu.Unlock()
		return false
	}
	if len(q.in) == cap(q.in) && cap(q.in) > 0 {
		q.growths++
	}
	q.in = append(q.in, v)
	q.peak = max(q.peak, q.waiting.Add(1))
	wake := q.sleepers > 0
	q.inMu.Unlock()
	if wake {
		q.filled.Signal()
	}
	return true
}

func (q *Swap[T]) Take(_ int, buf []T) int {
	for {
		ended := q.closed.Load() // read before the slices: after Close no value is added
		if n := q.take(buf); n > 0 || ended {
			return n
		}
		q.inMu.Lock()
		for q.waiting.Load() == 0 && !q.closed.Load() {
			q.sleepers++
			q.waits++
			q.filled.Wait()
			q.sleepers--
		}
		q.inMu.Unlock()
	}
}

// take moves values without waiting.
func (q *Swap[T]) take(buf []T) int {
	q.outMu.Lock()
	defer q.outMu.Unlock()
	if q.next == len(q.out) {
		q.inMu.Lock()
		q.out, q.in, q.next = q.in, q.out[:0], 0
		q.inMu.Unlock()
	}
	from := q.out[q.next:]
	n := copy(buf, from)
	clear(from[:n])
	q.next += n
	q.waiting.Add(-int64(n))
	return n
}

func (q *Swap[T]) Len() int { return int(q.waiting.Load()) }

func (q *Swap[T]) Close() {
	q.inMu.Lock()
	q.closed.Store(true)
	q.inMu.Unlock()
	q.filled.Broadcast()
}

func (q *Swap[T]) Stats() Stats {
	q.inMu.Lock()
	defer q.inMu.Unlock()
	return Stats{Refused: q.refused, Growths: q.growths, Waits: q.waits, Peak: int(q.peak)}
}
