package delivery

import (
	"sync"
	"sync/atomic"
	"time"

	"dyno/agent/monotonic"
	"dyno/parts/queue"
)

// retryPut is how soon a lane that the queue refused is offered again if no worker asks for it
// before.
const retryPut = time.Millisecond

// runQueue hands lanes that have work to workers. The seam's queue may refuse: it is full, or
// (without a buffer) no worker waits at that moment. What it refuses waits here in order, since a
// lane holds acknowledged notices; admission counts the lanes here and in the queue, so this is
// bounded as they are.
type runQueue struct {
	queue    queue.Queue[*lane]
	rejected atomic.Uint64 // lanes that were refused
	overflow atomic.Int64  // lanes waiting here
	waiting  atomic.Int64  // lanes waiting here or in the queue; never too high, unlike the sum of two readings
	since    atomic.Int64  // when the lane that was taken last was put in, or the first after none; ns, monotonic

	mu     sync.Mutex // guards the fields below
	lanes  []*lane    // oldest first
	closed bool
	timer  *time.Timer
}

func newRunQueue(q queue.Queue[*lane]) *runQueue {
	r := &runQueue{queue: q}
	r.timer = time.AfterFunc(time.Hour, r.retry)
	r.timer.Stop()
	return r
}

func (r *runQueue) put(l *lane) {
	if r.waiting.Add(1) == 1 {
		r.since.Store(l.queued)
	}
	if r.overflow.Load() == 0 && r.queue.Put(l.hash, l) {
		return
	}
	r.rejected.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.lanes = append(r.lanes, l); len(r.lanes) == 1 {
		r.timer.Reset(retryPut)
	}
	r.overflow.Add(1)
}

// take blocks until there is a lane; nil means that no more will come.
func (r *runQueue) take(worker int, buf []*lane) *lane {
	if r.overflow.Load() > 0 {
		if l := r.refill(true); l != nil {
			return r.taken(l)
		}
	}
	if r.queue.Take(worker, buf) == 0 {
		return nil
	}
	return r.taken(buf[0])
}

func (r *runQueue) taken(l *lane) *lane {
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

// refill offers the waiting lanes to the queue again, until it refuses. If the queue is empty then,
// and a worker is asking, that worker gets one directly.
func (r *runQueue) refill(asking bool) (direct *lane) {
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
		r.lanes = nil // releases the memory of a burst
	}
	r.overflow.Add(-int64(n))
	return direct
}

// retry is for a lane that was refused while the last worker was about to wait.
func (r *runQueue) retry() {
	r.refill(false)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lanes) > 0 && !r.closed {
		r.timer.Reset(retryPut)
	}
}

func (r *runQueue) close() {
	r.mu.Lock()
	r.closed = true
	r.timer.Stop()
	r.mu.Unlock()
	r.queue.Close()
}
