// Package workpool runs work in order of priority: a fixed number of workers, and a bounded queue
// from which they take the item with the lowest priority number, and the oldest of equals.
//
// It is for work that waits for a server or a disk, whose order matters more than the cost of the
// queue: an item costs a lock, a context and some microseconds. It is not for plain first in, first
// out (a channel), nor for callers that work in their own goroutines (services/chain/limiter).
//
// A Pool owns its workers. Close cancels all items and waits for the workers.
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

// Config sizes a pool.
type Config struct {
	Workers  int // items running concurrently; 0 means the number of processors
	Capacity int // waiting items above which Submit blocks; 0 means twice Workers
}

// Pool runs items. New creates it. All methods are safe for concurrent use.
type Pool struct {
	room    chan struct{} // holds one value per item that waits, or is about to
	ready   chan struct{} // holds one value per waiting item that no worker was signalled for
	closed  context.Context
	close   context.CancelFunc
	workers sync.WaitGroup

	mu      sync.Mutex
	waiting waiting
	seq     uint64 // of the last item
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

// Submit queues do, which a worker calls, earlier for a lower priority number, and returns when the
// item has its place in the queue. The end of ctx cancels the item: while it waits for room, Submit
// returns ctx's error; while it is queued, it is skipped; while it runs, the context passed to do
// ends. Close cancels it in the same way. An item must not Submit to its own pool, whose workers
// could then all wait for room.
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
	p.ready <- struct{}{} // room has a place, so ready has one
	return nil
}

// Close cancels all items, and returns when none is running any more. An item must not call it.
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

// run runs an item, unless it was cancelled.
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
	(*w)[last] = item{} // for the garbage collector
	*w = (*w)[:last]
	return it
}
