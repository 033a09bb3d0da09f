// Package batcher turns calls that wait at the same moment into one: Do waits until a batch that its key is in
// has been fetched. There is no timer: a worker that is free takes what waits, and while all are busy, what comes
// gathers. So an idle batcher adds no delay, and a busy one makes batches as large as the load asks for.
//
// A call joins only a batch that has not been sent yet. So what it gets was read after the call began: it is as
// fresh as if the call had been made alone. (Joining a fetch under way, as singleflight does, is not: that may
// have read before what the caller already knows of.)
//
// It is not a cache: nothing is kept beyond a batch. It is not for writes either: what fails is fetched again.
//
// New starts the workers; Close waits for them.
package batcher

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

var (
	// ErrFull says that MaxWaiting calls wait already.
	ErrFull = errors.New("batcher: too many calls wait")

	// ErrClosed says that the batcher was closed before the call was sent.
	ErrClosed = errors.New("batcher: closed")
)

// Answer is what was found under one key.
type Answer[V any] struct {
	Value V
	Found bool
	Err   error // of this key alone; it is not fetched again
}

// Waiter is a caller that no goroutine waits for.
type Waiter[V any] interface {
	// Wanted is asked when a batch is made. What is not wanted any more is not fetched, and never answered.
	Wanted() bool

	// Answered is called once, by a worker or by Close. It must not block: others wait for the worker.
	Answered(Answer[V])
}

// Config says how to fetch and what may be under way.
type Config[K comparable, V any] struct {
	// Fetch puts what it finds under keys[i] into answers[i]; what it leaves is not found. The keys are distinct
	// and at most MaxBatch. When it fails, or panics, what it filled in is void and each key is fetched alone,
	// once, one after the other. Both slices, and the context, are only good until it returns.
	Fetch func(ctx context.Context, keys []K, answers []Answer[V]) error

	Concurrent int           // fetches at once; 0: 1
	MaxBatch   int           // distinct keys in one fetch; 0: 256
	MaxWaiting int           // calls that are not sent yet: one more is told ErrFull; also the most in one batch; 0: 65,536
	Timeout    time.Duration // of a fetch, whatever its callers' are; 0: Fetch sees to that itself
}

// Stats counts since New.
type Stats struct {
	Calls   uint64 // that were let in
	Refused uint64 // with ErrFull
	Fetches uint64 // of batches, without retries
	Keys    uint64 // in these
	Retries uint64 // fetches of one key after its batch had failed
	Waiting int    // calls not sent yet, now
}

// Batcher is made by New.
type Batcher[K comparable, V any] struct {
	c     Config[K, V]
	calls sync.Pool // of *call[K, V]

	mu      sync.Mutex
	wake    sync.Cond // something waits, or closed
	waiting list[K, V]
	idle    int  // workers that wait for wake
	waking  bool // one of them was woken and has not come yet
	closed  bool
	in, out uint64 // calls let in, and refused

	stopped                atomic.Bool // closed, for who has no mutex
	fetches, keys, retries atomic.Uint64
	workers                sync.WaitGroup
}

// New starts Concurrent workers.
func New[K comparable, V any](c Config[K, V]) *Batcher[K, V] {
	c.Concurrent = cmp.Or(max(c.Concurrent, 0), 1)
	c.MaxBatch = cmp.Or(max(c.MaxBatch, 0), 256)
	c.MaxWaiting = cmp.Or(max(c.MaxWaiting, 0), 65536)
	b := &Batcher[K, V]{c: c}
	b.wake.L = &b.mu
	b.calls.New = func() any { return &call[K, V]{done: make(chan struct{}, 1)} }
	for range c.Concurrent {
		b.workers.Go(b.work)
	}
	return b
}

// Do returns what a batch that was sent after the call began found under the key. When ctx ends, so does the
// wait, with its error, and nobody else's. Errors are those of Fetch, ErrFull and ErrClosed.
func (b *Batcher[K, V]) Do(ctx context.Context, key K) (value V, found bool, err error) {
	if err := ctx.Err(); err != nil {
		return value, false, err
	}
	c := b.calls.Get().(*call[K, V])
	c.key = key
	if err := b.enter(c); err != nil {
		b.recycle(c)
		return value, false, err
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		if b.leave(c) {
			return value, false, ctx.Err()
		}
		<-c.done // it is being answered at this moment
	}
	a := c.answer
	b.recycle(c)
	return a.Value, a.Found, a.Err
}

// Begin is Do without the wait: what a batch that is sent after this moment finds is given to w. With an error, which
// is ErrFull or ErrClosed, it is not.
func (b *Batcher[K, V]) Begin(key K, w Waiter[V]) error {
	c := b.calls.Get().(*call[K, V])
	c.key, c.waiter = key, w
	err := b.enter(c)
	if err != nil {
		b.recycle(c)
	}
	return err
}

// enter puts a call among those that wait, and sees to it that a worker comes.
func (b *Batcher[K, V]) enter(c *call[K, V]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return ErrClosed
	case b.waiting.len >= b.c.MaxWaiting:
		b.out++
		return ErrFull
	}
	b.in++
	b.waiting.push(c)
	b.rouse()
	return nil
}

// rouse wakes a worker unless one is on its way, which will take all that waits or wake the next.
func (b *Batcher[K, V]) rouse() {
	if b.idle > 0 && !b.waking {
		b.waking = true
		b.wake.Signal()
	}
}

// leave gives a call up; false means that it has just been answered.
func (b *Batcher[K, V]) leave(c *call[K, V]) bool {
	b.mu.Lock()
	waits := c.state.Load() == waiting
	if waits {
		b.waiting.remove(c)
	}
	b.mu.Unlock()
	if waits {
		b.recycle(c)
		return true
	}
	return c.state.CompareAndSwap(sent, abandoned) // the worker recycles it
}

func (b *Batcher[K, V]) recycle(c *call[K, V]) {
	c.reset()
	b.calls.Put(c)
}

// Stats may be asked for at any time.
func (b *Batcher[K, V]) Stats() Stats {
	s := Stats{Fetches: b.fetches.Load(), Keys: b.keys.Load(), Retries: b.retries.Load()}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Calls, s.Refused, s.Waiting = b.in, b.out, b.waiting.len
	return s
}

// Close answers the calls that wait, and later ones, with ErrClosed, and waits for the fetches under way. If one
// of those fails, its keys are not fetched again.
func (b *Batcher[K, V]) Close() {
	b.mu.Lock()
	b.closed = true
	b.stopped.Store(true)
	c, _ := b.waiting.send(b.waiting.len)
	b.wake.Broadcast()
	b.mu.Unlock()
	b.answer(c, &Answer[V]{Err: ErrClosed})
	b.workers.Wait()
}
