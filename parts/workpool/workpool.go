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
	room    chan struct{} // holds one for each item that waits and was submitted; Again takes no room
	closing chan struct{}
	workers sync.WaitGroup
	watches sync.WaitGroup // of items' contexts

	mu      sync.Mutex
	ready   sync.Cond // there is work, or the pool was closed
	idle    sync.Cond // there is no work left
	waiting waiting
	items   map[*item]struct{} // those waiting and those at work
	seq     uint64
	closed  bool
}

// item is a piece of work.
type item struct {
	priority int64
	seq      uint64 // order among equals
	place    int    // in waiting; -1: not there
	room     bool   // it takes room
	do       func(context.Context)
	ctx      context.Context
	cancel   context.CancelFunc
	unwatch  func() bool
	again    bool // to be done again, at priority
}

// New starts the workers of a pool.
func New(c Config) *Pool {
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Capacity <= 0 {
		c.Capacity = 2 * c.Workers
	}
	p := &Pool{room: make(chan struct{}, c.Capacity), closing: make(chan struct{}), items: map[*item]struct{}{}}
	p.ready.L, p.idle.L = &p.mu, &p.mu
	for range c.Workers {
		p.workers.Go(p.work)
	}
	return p
}

// Submit has do called by a worker, the lower the priority's number the sooner, and returns when the item has its place in
// the queue. The end of ctx cancels the item: while it waits for room Submit returns ctx's error, while it waits for
// a worker it is never called, and while it is at work the context that do was given ends too. That one also ends with
// Cancel and Close. An item must not Submit to its own pool, whose workers could then all wait for room; it
// calls Again.
func (p *Pool) Submit(ctx context.Context, priority int64, do func(context.Context)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case p.room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closing:
		return ErrClosed
	}
	it := &item{priority: priority, do: do, room: true}
	ctx, it.cancel = context.WithCancel(ctx)
	it.ctx = context.WithValue(ctx, self{}, again{p, it})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		it.cancel()
		<-p.room
		return ErrClosed
	}
	p.items[it] = struct{}{}
	p.push(it)
	return nil
}

type (
	self  struct{} // key of an item's context
	again struct {
		pool *Pool
		item *item
	}
)

// Again has the item whose context ctx is, or comes from, done once more when its function has returned: at this
// priority, behind its equals. It takes no room from others and never blocks. An item that was cancelled is not done again.
func Again(ctx context.Context, priority int64) {
	a, ok := ctx.Value(self{}).(again)
	if !ok {
		return
	}
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	a.item.again, a.item.priority = true, priority
}

// Cancel cancels all items that there are. Those that wait are not called; for those at work it does not wait.
func (p *Pool) Cancel() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel()
}

func (p *Pool) cancel() {
	for it := range p.items {
		it.cancel()
		if it.place >= 0 {
			p.remove(it)
			p.forget(it)
		}
	}
}

// Wait returns when no item waits or is at work.
func (p *Pool) Wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.items) > 0 {
		p.idle.Wait()
	}
}

// Close cancels all items, and returns when none is at work any more. It must not be called by one.
func (p *Pool) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.closing)
	}
	p.cancel()
	p.ready.Broadcast()
	p.mu.Unlock()
	p.workers.Wait()
	p.watches.Wait()
}

// Len says how many items wait, and how many are at work.
func (p *Pool) Len() (waiting, working int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting), len(p.items) - len(p.waiting)
}

func (p *Pool) work() {
	for it := p.next(); it != nil; it = p.next() {
		it.do(it.ctx)
		p.done(it)
	}
}

// next waits for an item and takes it. Nil: the pool is closed.
func (p *Pool) next() *item {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.waiting) == 0 && !p.closed {
			p.ready.Wait()
		}
		if p.closed {
			return nil
		}
		it := p.waiting[0]
		p.remove(it)
		if it.ctx.Err() == nil {
			it.again = false
			return it
		}
		p.forget(it) // its watch has not come to it yet
	}
}

// done puts an item back that is to be done again.
func (p *Pool) done(it *item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if it.again && it.ctx.Err() == nil {
		p.push(it)
		return
	}
	p.forget(it)
}

// push puts an item into the queue and watches whether it is cancelled there. It is called with mu held, as are
// remove and forget.
func (p *Pool) push(it *item) {
	p.seq++
	it.seq = p.seq
	heap.Push(&p.waiting, it)
	p.watches.Add(1)
	it.unwatch = context.AfterFunc(it.ctx, func() {
		defer p.watches.Done()
		p.mu.Lock()
		defer p.mu.Unlock()
		if it.place >= 0 {
			p.remove(it)
			p.forget(it)
		}
	})
	p.ready.Signal()
}

// remove takes an item out of the queue.
func (p *Pool) remove(it *item) {
	heap.Remove(&p.waiting, it.place)
	if it.room {
		it.room = false
		<-p.room
	}
	if it.unwatch() {
		p.watches.Done()
	}
}

// forget lets go of an item that is not to be done, or not again.
func (p *Pool) forget(it *item) {
	it.cancel()
	delete(p.items, it)
	if len(p.items) == 0 {
		p.idle.Broadcast()
	}
}

// waiting is a heap of items, the next one first.
type waiting []*item

func (w waiting) Len() int { return len(w) }
func (w waiting) Less(i, j int) bool {
	if w[i].priority != w[j].priority {
		return w[i].priority < w[j].priority
	}
	return w[i].seq < w[j].seq
}
func (w waiting) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].place, w[j].place = i, j
}
func (w *waiting) Push(x any) {
	it := x.(*item)
	it.place = len(*w)
	*w = append(*w, it)
}
func (w *waiting) Pop() any {
	last := len(*w) - 1
	it := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	it.place = -1
	return it
}
