// Package workpool does work in order of priority: a fixed number of workers, and a bounded queue from which they
// take what has the lowest number, and of equals what came first.
//
// It is for work that waits for something (a server, a disk), whose order matters more than its handing over: an
// item costs a lock, a context and some microseconds. For plain first in, first out and batches there is parts/queue; for
// letting callers work in their own goroutines, parts/limiter.
//
// A Pool owns its workers. Close cancels what there is and waits for them.
package workpool

import (
	"container/heap"
	"context"
	"errors"
	"runtime"
	"sync"
)

// ErrClosed is what Submit returns after Close.
var ErrClosed = errors.New("the work pool is closed")

// Config is how large a pool is.
type Config struct {
	Workers  int // items at work at once; 0: as many as there are processors
	Capacity int // items that wait, beyond which Submit blocks; 0: twice as many as Workers
}

// Pool is made by New. All methods may be called from any goroutine.
type Pool struct {
	room    chan struct{} // holds one for each item that waits, or is about to
	ready   chan struct{} // holds one for each item in waiting that no worker has been told of
	closed  context.Context
	close   context.CancelFunc
	workers sync.WaitGroup

	mu      sync.Mutex
	waiting waiting
	seq     uint64 // the last item's
}

// item is a piece of work.
type item struct {
	priority int64
	seq      uint64 // order among equals
	ctx      context.Context
	do       func(context.Context)
}

// New starts the workers of a pool.
func New(c Config) *Pool {
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Capacity <= 0 {
		c.Capacity = 2 * c.Workers
	}
	p := &Pool{room: make(chan struct{}, c.Capacity), ready: make(chan struct{}, c.Capacity)}
	p.closed, p.close = context.WithCancel(context.Background())
	for range c.Workers {
		p.workers.Go(p.work)
	}
	return p
}

// Submit has do called by a worker, the lower the priority's number the sooner, and returns when the item has its place in
// the queue. The end of ctx cancels the item: while it waits for room Submit returns ctx's error, when its turn comes
// it is passed over, and while it is at work the context that do was given ends too. So does Close. An item must not
// Submit to its own pool, whose workers could then all wait for room.
func (p *Pool) Submit(ctx context.Context, priority int64, do func(context.Context)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.closed.Err() != nil {
		return ErrClosed
	}
	select {
	case p.room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closed.Done():
		return ErrClosed
	}
	p.mu.Lock()
	p.seq++
	heap.Push(&p.waiting, item{priority, p.seq, ctx, do})
	p.mu.Unlock()
	p.ready <- struct{}{} // there is room as long as there is in room
	return nil
}

// Close cancels all items, and returns when none is at work any more. It must not be called by one.
func (p *Pool) Close() {
	p.close()
	p.workers.Wait()
}

func (p *Pool) work() {
	for {
		select {
		case <-p.ready:
		case <-p.closed.Done():
			return
		}
		p.mu.Lock()
		it := heap.Pop(&p.waiting).(item)
		p.mu.Unlock()
		<-p.room
		p.run(it)
	}
}

// run does an item, unless it was cancelled.
func (p *Pool) run(it item) {
	ctx, cancel := context.WithCancel(it.ctx)
	defer cancel()
	defer context.AfterFunc(p.closed, cancel)()
	if ctx.Err() == nil && p.closed.Err() == nil {
		it.do(ctx)
	}
}

// waiting is a heap of items, the next one first.
type waiting []item

func (w waiting) Len() int { return len(w) }
func (w waiting) Less(i, j int) bool {
	if w[i].priority != w[j].priority {
		return w[i].priority < w[j].priority
	}
	return w[i].seq < w[j].seq
}
func (w waiting) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(x any)   { *w = append(*w, x.(item)) }
func (w *waiting) Pop() any {
	last := len(*w) - 1
	it := (*w)[last]
	(*w)[last] = item{} // the collector's
	*w = (*w)[:last]
	return it
}
