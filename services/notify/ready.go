package notify

import (
	"sync"
	"sync/atomic"
	"time"

	"dyno/agent/monotonic"
	"dyno/parts/queue"
)

// retryPut is how soon a lane that the queue refused is offered again if no worker asks for it before.
const retryPut = time.Millisecond

// readyLanes hands lanes that have work to workers. The seam's queue may refuse: it is full, or (without
// a buffer) no worker waits at that moment. What it refuses waits here in order, since a lane holds
// acknowledged notices; admission counts the lanes here and in the queue, so this is bounded as they are.
type readyLanes struct {
	queue   queue.Queue[*lane]
	spilled atomic.Uint64 // lanes that were refused
	over    atomic.Int64  // lanes waiting here
	waiting atomic.Int64  // lanes waiting here or in the queue; never too high, unlike the sum of two readings
	since   atomic.Int64  // when the lane that was taken last was put in, or the first after none; ns, monotonic

	mu     sync.Mutex // guards the fields below
	lanes  []*lane    // oldest first
	closed bool
	timer  *time.Timer
}

func newReadyLanes(q queue.Queue[*lane]) *readyLanes {
	r := &readyLanes{queue: q}
	r.timer = time.AfterFunc(time.Hour, r.retry)
	r.timer.Stop()
	return r
}

func (r *readyLanes) put(l *lane) {
	if r.waiting.Add(1) == 1 {
		r.since.Store(l.queued)
	}
	if r.over.Load() == 0 && r.queue.Put(l.hash, l) {
		return
	}
	r.spilled.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.lanes = append(r.lanes, l); len(r.lanes) == 1 {
		r.timer.Reset(retryPut)
	}
	r.over.Add(1)
}

// take blocks until there is a lane; nil says that no more will come.
func (r *readyLanes) take(worker int, buf []*lane) *lane {
	if r.over.Load() > 0 {
		if l := r.refill(true); l != nil {
			return r.took(l)
		}
	}
	if r.queue.Take(worker, buf) == 0 {
		return nil
	}
	return r.took(buf[0])
}

func (r *readyLanes) took(l *lane) *lane {
	r.waiting.Add(-1)
	r.since.Store(l.queued)
	return l
}

// lag is for how long the lane that is next has waited for a worker, at most: it was put in after the last that
// was taken, or nearly so.
func (r *readyLanes) lag() time.Duration {
	if r.waiting.Load() == 0 {
		return 0
	}
	return time.Duration(monotonic.Now() - r.since.Load())
}

// refill offers the waiting lanes to the queue again, until it refuses. If the queue is empty then, and
// a worker is asking, that worker gets one directly.
func (r *readyLanes) refill(asking bool) (direct *lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for n < len(r.lanes) && !r.closed && r.queue.Put(r.lanes[n].hash, r.lanes[n]) {
		n++
	}
	if asking && n < len(r.lanes) && r.queue.Len() == 0 {
		direct = r.lanes[n]
		n++
	}
	clear(r.lanes[:n])
	if r.lanes = r.lanes[n:]; len(r.lanes) == 0 {
		r.lanes = nil // lets go of the memory of a burst
	}
	r.over.Add(-int64(n))
	return direct
}

// retry is for the case that a lane was refused while the last worker was about to wait.
func (r *readyLanes) retry() {
	r.refill(false)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lanes) > 0 && !r.closed {
		r.timer.Reset(retryPut)
	}
}

func (r *readyLanes) close() {
	r.mu.Lock()
	r.closed = true
	r.timer.Stop()
	r.mu.Unlock()
	r.queue.Close()
}
