package impair

import (
	"sync"
	"time"
)

// piece is what was read in one go, or the end of what an end sends.
type piece struct {
	bytes []byte
	due   time.Time
	end   error
}

// Bounds of a direction's pieces. At a delay of 100 ms, a mebibyte on its way is 10 MB/s.
const (
	maxBytes  = 1 << 20
	maxPieces = 1 << 12
	maxDue    = 32 << 10 // bytes that have arrived, for which the receiver has no room
)

// queue is what is on its way in one direction.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	pieces  []piece
	bytes   int
	closed  bool
}

func newQueue() *queue {
	q := &queue{}
	q.changed.L = &q.mu
	return q
}

// put waits for room; false: the queue is closed.
func (q *queue) put(p piece) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && q.full() {
		q.changed.Wait()
	}
	q.pieces, q.bytes = append(q.pieces, p), q.bytes+len(p.bytes)
	q.changed.Broadcast()
	return !q.closed
}

func (q *queue) full() bool {
	now, due := time.Now(), 0
	for _, p := range q.pieces {
		if p.due.After(now) || due >= maxDue {
			break
		}
		due += len(p.bytes)
	}
	return q.bytes >= maxBytes || len(q.pieces) >= maxPieces || due >= maxDue
}

// take waits for a piece; false: the queue is closed.
func (q *queue) take() (p piece, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && len(q.pieces) == 0 {
		q.changed.Wait()
	}
	if q.closed {
		return piece{}, false
	}
	p, q.pieces[0] = q.pieces[0], piece{}
	q.pieces = q.pieces[1:]
	q.bytes -= len(p.bytes)
	q.changed.Broadcast()
	return p, true
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}
