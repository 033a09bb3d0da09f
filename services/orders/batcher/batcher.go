// Package batcher coalesces concurrent calls into one batch: Do waits until a batch with its key
// has been fetched. There is no timer: an idle worker takes all waiting calls, and while all
// workers are busy, calls gather. So an idle batcher adds no delay, and a busy one makes batches as
// large as the load requires.
//
// A call joins only a batch that has not been sent yet. Its result was therefore read after the
// call began, and is as fresh as that of a single call. (Joining a fetch in progress, as
// singleflight does, is not: that may have read before a write that the caller already knows of.)
//
// It is not a cache: no result is kept beyond a batch. It is not for writes either: a failed key is
// fetched again.
//
// New starts the workers; Close waits for them.
package batcher

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

var (
	// ErrFull means that MaxWaiting calls already wait.
	ErrFull = errors.New("batcher: too many calls wait")

	// ErrClosed means that the batcher was closed before the call was sent.
	ErrClosed = errors.New("batcher: closed")
)

// Answer is the result for one key.
type Answer[V any] struct {
	Value V
	Found bool
	Err   error // of this key alone; it is not retried
}

// Waiter receives an answer without a waiting goroutine.
type Waiter[V any] interface {
	// Wanted is called when a batch is made. If it returns false, the key is neither fetched for this
	// Waiter nor answered.
	Wanted() bool

	// Answered is called once, by a worker or by Close. It must not block: it holds the worker up.
	Answered(Answer[V])
}

// Config holds the fetch function and the limits of a Batcher.
type Config[K comparable, V any] struct {
	// Fetch stores the result for keys[i] in answers[i]; an unset answer means not found. The keys are
	// distinct and at most MaxBatch. When it fails or panics, its answers are discarded and each key
	// is fetched alone, once, one after the other. Both slices and the context are only valid until it
	// returns.
	Fetch func(ctx context.Context, keys []K, answers []Answer[V]) error

	Concurrent int           // concurrent fetches
	MaxBatch   int           // distinct keys in one fetch
	MaxWaiting int           // calls not sent yet, above which a call returns ErrFull, and calls per batch
	Timeout    time.Duration // of a fetch, independent of its callers' deadlines; 0 means none
}

// Stats are counters since New.
type Stats struct {
	Calls   uint64 // accepted
	Refused uint64 // refused with ErrFull
	Fetches uint64 // batches fetched, without retries
	Keys    uint64 // keys in these batches
	Retries uint64 // fetches of a single key after its batch had failed
	Waiting int    // calls not sent yet (current value)
}

// Batcher coalesces calls into batches. New creates it.
type Batcher[K comparable, V any] struct {
	c     Config[K, V]
	calls sync.Pool // of *call[K, V]

	mu      sync.Mutex
	wake    sync.Cond // signalled when calls wait, or on close
	waiting list[K, V]
	idle    int  // workers waiting on wake
	waking  bool // one of them was woken and has not started yet
	closed  bool
	in, out uint64 // calls accepted and refused

	stopped                atomic.Bool // set when closed; read without mu
	fetches, keys, retries atomic.Uint64
	workers                sync.WaitGroup
}

// New starts Concurrent workers.
func New[K comparable, V any](c Config[K, V]) *Batcher[K, V] {
	b := &Batcher[K, V]{c: c}
	b.wake.L = &b.mu
	b.calls.New = func() any { return &call[K, V]{done: make(chan struct{}, 1)} }
	for range c.Concurrent {
		b.workers.Go(b.work)
	}
	return b
}

// Do returns the result for a key from a batch that was sent after the call began. When ctx ends,
// Do returns its error; other callers are not affected. Other errors are those of Fetch, ErrFull
// and ErrClosed.
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
		<-c.done // it is being answered right now
	}
	a := c.answer
	b.recycle(c)
	return a.Value, a.Found, a.Err
}

// Begin is Do without waiting: w receives the answer of a batch that is sent after this call. When
// Begin returns an error, ErrFull or ErrClosed, w receives none.
func (b *Batcher[K, V]) Begin(key K, w Waiter[V]) error {
	c := b.calls.Get().(*call[K, V])
	c.key, c.waiter = key, w
	err := b.enter(c)
	if err != nil {
		b.recycle(c)
	}
	return err
}

// enter adds a call to the waiting ones, and makes sure that a worker takes it.
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

// rouse wakes a worker, unless one is already waking up, which takes all waiting calls or wakes the
// next worker.
func (b *Batcher[K, V]) rouse() {
	if b.idle > 0 && !b.waking {
		b.waking = true
		b.wake.Signal()
	}
}

// leave withdraws a call; false means that it has just been answered.
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

// Stats returns the counters. It may be called at any time.
func (b *Batcher[K, V]) Stats() Stats {
	s := Stats{Fetches: b.fetches.Load(), Keys: b.keys.Load(), Retries: b.retries.Load()}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Calls, s.Refused, s.Waiting = b.in, b.out, b.waiting.len
	return s
}

// Close answers waiting and later calls with ErrClosed, and waits for the fetches in progress. If
// one of those fails, its keys are not retried.
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
