package dispatch

import (
	"sync"
	"time"

	"dyno/agent/monotonic"
)

// runQueue hands lanes that have work to workers, in order. put never waits for room, since its
// callers hold the mutex of a receiver, which workers need. The queue links the lanes themselves,
// so it takes no memory of its own; the limiters, and the room for notices in memory, bound how
// many lanes there are.
type runQueue struct {
	mu     sync.Mutex // guards the fields below
	filled sync.Cond  // signalled for each lane that is put in
	lanes  laneQueue
	closed bool
	peak   int    // the most lanes that ever waited
	parks  uint64 // times that a worker found the queue empty and slept
}

func newRunQueue() *runQueue {
	r := new(runQueue)
	r.filled.L = &r.mu
	return r
}

func (r *runQueue) put(l *lane) {
	r.mu.Lock()
	r.lanes.push(l)
	r.peak = max(r.peak, r.lanes.n)
	r.mu.Unlock()
	r.filled.Signal()
}

// take blocks until there is a lane; nil means that the queue is closed.
func (r *runQueue) take() *lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.lanes.n == 0 && !r.closed {
		r.parks++
		r.filled.Wait()
	}
	if r.closed {
		return nil
	}
	return r.lanes.pop()
}

// lag is how long the next lane has waited for a worker.
func (r *runQueue) lag() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lanes.n == 0 {
		return 0
	}
	return time.Duration(monotonic.Now() - r.lanes.first.queued)
}

func (r *runQueue) stats() QueueStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return QueueStats{Ready: r.lanes.n, Peak: r.peak, Parks: r.parks}
}

// close makes take return nil. What is left in the queue, the next process reads from the log.
func (r *runQueue) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.filled.Broadcast()
}
