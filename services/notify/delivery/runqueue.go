package delivery

import (
	"sync"
	"sync/atomic"
	"time"

	"dyno/agent/monotonic"
)

// runQueue hands lanes that have work to workers: a channel and, beside it, the lanes for which the
// channel had no room, in order. put never waits, since its callers hold the mutex of a receiver,
// which workers need; and it loses no lane, since a lane holds acknowledged notices. The limiters
// bound how many lanes there are.
type runQueue struct {
	lanes    chan *lane    // never closed: a put after close must not panic
	done     chan struct{} // closed by close
	rejected atomic.Uint64 // lanes for which the channel had no room
	parks    atomic.Uint64 // times that a worker found the channel empty and slept
	beside   atomic.Int64  // lanes in overflow
	waiting  atomic.Int64  // lanes in the channel or beside it; never too high, unlike the sum of two readings
	peak     atomic.Int64  // of waiting
	since    atomic.Int64  // when the lane that was taken last was put in, or the first after none; ns, monotonic

	mu       sync.Mutex
	overflow laneQueue // guarded by mu
}

func newRunQueue(capacity int) *runQueue {
	return &runQueue{lanes: make(chan *lane, capacity), done: make(chan struct{})}
}

func (r *runQueue) put(l *lane) {
	n := r.waiting.Add(1)
	if n == 1 {
		r.since.Store(l.queued)
	}
	for old := r.peak.Load(); n > old && !r.peak.CompareAndSwap(old, n); old = r.peak.Load() {
	}
	if r.beside.Load() == 0 && r.offer(l) {
		return
	}
	r.rejected.Add(1)
	r.mu.Lock()
	r.overflow.push(l)
	r.beside.Add(1)
	r.mu.Unlock()
	r.refill()
}

// offer reports whether the channel had room for a lane.
func (r *runQueue) offer(l *lane) bool {
	select {
	case r.lanes <- l:
		return true
	default:
		return false
	}
}

// refill moves lanes from beside the channel into it, until it is full. put calls it after it adds
// a lane, take after it removes one from the channel, so no lane is left beside a channel with
// room.
func (r *runQueue) refill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.overflow.len() > 0 && r.offer(r.overflow.peek()) {
		r.overflow.pop()
		r.beside.Add(-1)
	}
}

// take blocks until there is a lane; nil means that the queue is closed.
func (r *runQueue) take() (l *lane) {
	select {
	case <-r.done:
		return nil
	default:
	}
	select { // a select of two channels locks both: only a worker that must wait pays for that
	case l = <-r.lanes:
	default:
		r.parks.Add(1)
		select {
		case l = <-r.lanes:
		case <-r.done:
			return nil
		}
	}
	if r.beside.Load() > 0 {
		r.refill()
	}
	r.waiting.Add(-1)
	r.since.Store(l.queued)
	return l
}

// lag is an upper bound of how long the next lane has waited for a worker: it was put in after the
// last that was taken, or nearly so.
func (r *runQueue) lag() time.Duration {
	if r.waiting.Load() == 0 {
		return 0
	}
	return time.Duration(monotonic.Now() - r.since.Load())
}

// close makes take return nil. What is left in the queue, the next process reads from the log.
func (r *runQueue) close() { close(r.done) }
