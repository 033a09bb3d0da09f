package batcher

import (
	"context"
	"fmt"
	"runtime"
)

// batch is what a worker fetches together. Its memory is reused.
type batch[K comparable, V any] struct {
	keys    []K
	answers []Answer[V]
	callers []*call[K, V] // calls for keys[i], linked
	index   map[K]int     // index of a key in keys
	size    int           // number of calls
}

func (b *Batcher[K, V]) work() {
	w := &batch[K, V]{index: make(map[K]int)}
	for b.gather(w) {
		b.send(w)
		w.reset()
	}
}

// gather waits for calls and makes a batch of them; false means that the batcher was closed. It
// finds equal keys without holding the mutex; when several calls had the same key, it takes more
// calls.
func (b *Batcher[K, V]) gather(w *batch[K, V]) bool {
	for c := b.first(w); c != nil; c = b.more(w) {
		for c != nil {
			next := c.next
			if c.waiter == nil || c.waiter.Wanted() {
				w.add(c)
			} else {
				b.recycle(c)
			}
			c = next
		}
	}
	return w.size > 0
}

// first takes calls as soon as there are any; nil means that the batcher was closed.
func (b *Batcher[K, V]) first(w *batch[K, V]) *call[K, V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		for b.waiting.len == 0 && !b.closed {
			b.idle++
			b.wake.Wait()
			b.idle--
			b.waking = false
		}
		b.mu.Unlock()
		runtime.Gosched() // goroutines that are ready to call do so first, and join the batch
		b.mu.Lock()
		if b.waiting.len > 0 || b.closed {
			return b.take(w)
		}
	}
}

// more takes calls that arrived meanwhile, if the batch has room.
func (b *Batcher[K, V]) more(w *batch[K, V]) *call[K, V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.take(w)
}

// take takes as many calls as the batch has room for, and wakes another worker for the rest.
func (b *Batcher[K, V]) take(w *batch[K, V]) *call[K, V] {
	c, n := b.waiting.send(min(b.c.MaxBatch-len(w.keys), b.c.MaxWaiting-w.size))
	w.size += n
	if b.waiting.len > 0 {
		b.rouse()
	}
	return c
}

// send fetches a batch and answers its calls.
func (b *Batcher[K, V]) send(w *batch[K, V]) {
	if len(w.keys) == 0 { // no key was wanted any more
		return
	}
	b.fetches.Add(1)
	b.keys.Add(uint64(len(w.keys)))
	err := b.fetch(w.keys, w.answers)
	for i := range w.keys {
		if err != nil {
			b.retry(w, i, err)
		}
		b.answer(w.callers[i], &w.answers[i])
	}
}

// retry fetches a key alone after its batch has failed. It does not retry a key that was alone
// before, or one whose callers have all left.
func (b *Batcher[K, V]) retry(w *batch[K, V], i int, err error) {
	w.answers[i] = Answer[V]{}
	if len(w.keys) > 1 && !b.stopped.Load() && w.callers[i].wanted() {
		b.retries.Add(1)
		err = b.fetch(w.keys[i:i+1], w.answers[i:i+1])
	}
	if err != nil {
		w.answers[i] = Answer[V]{Err: err}
	}
}

// fetch calls Fetch and converts a panic into an error.
func (b *Batcher[K, V]) fetch(keys []K, answers []Answer[V]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("batcher: fetching %d keys panicked: %v", len(keys), p)
		}
	}()
	ctx := context.Background()
	if b.c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.c.Timeout)
		defer cancel()
	}
	return b.c.Fetch(ctx, keys, answers)
}

// answer passes the result of a key to all its callers.
func (b *Batcher[K, V]) answer(c *call[K, V], a *Answer[V]) {
	for c != nil {
		next := c.next // the call belongs to its caller, or is reused, once it is answered
		c.answer = *a
		b.finish(c)
		c = next
	}
}

func (b *Batcher[K, V]) finish(c *call[K, V]) {
	switch {
	case !c.state.CompareAndSwap(sent, answered):
		b.recycle(c)
	case c.waiter == nil:
		c.done <- struct{}{}
	default:
		waiter, a := c.waiter, c.answer
		b.recycle(c)
		waiter.Answered(a)
	}
}

func (w *batch[K, V]) add(c *call[K, V]) {
	i, ok := w.index[c.key]
	if !ok {
		i = len(w.keys)
		w.index[c.key] = i
		w.keys = append(w.keys, c.key)
		w.answers = append(w.answers, Answer[V]{})
		w.callers = append(w.callers, nil)
	}
	c.next, w.callers[i] = w.callers[i], c
}

// reset drops references to answered calls.
func (w *batch[K, V]) reset() {
	clear(w.keys)
	clear(w.answers)
	clear(w.callers)
	clear(w.index)
	w.keys, w.answers, w.callers, w.size = w.keys[:0], w.answers[:0], w.callers[:0], 0
}
