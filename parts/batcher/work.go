package batcher

import (
	"context"
	"fmt"
	"runtime"
)

// batch is what a worker fetches together. Its memory is used again.
type batch[K comparable, V any] struct {
	keys    []K
	answers []Answer[V]
	callers []*call[K, V] // who asks for keys[i], linked
	index   map[K]int     // of a key in keys
	size    int           // calls
}

func (b *Batcher[K, V]) work() {
	w := &batch[K, V]{index: make(map[K]int)}
	for b.gather(w) {
		b.send(w)
		w.reset()
	}
}

// gather waits for calls and makes a batch of them; false says that the batcher was closed. Keys are told apart
// without the mutex; when several calls were for the same one, there is room for more.
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

// first takes calls as soon as there are any; none says that the batcher was closed.
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
		runtime.Gosched() // whoever is ready to call does so first, and comes along
		b.mu.Lock()
		if b.waiting.len > 0 || b.closed {
			return b.take(w)
		}
	}
}

// more takes what came meanwhile, if there is room for it.
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
	if len(w.keys) == 0 { // none was wanted any more
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

// retry fetches a key alone, after its batch has failed. There is no second time for one that was alone before,
// and nothing to be done for one whose callers have all gone.
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

// fetch calls Fetch; a panic is an error.
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

// answer gives all who ask for a key what was found.
func (b *Batcher[K, V]) answer(c *call[K, V], a *Answer[V]) {
	for c != nil {
		next := c.next // as it is its caller's, or another's, once it was answered
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

// reset lets go of what callers have got.
func (w *batch[K, V]) reset() {
	clear(w.keys)
	clear(w.answers)
	clear(w.callers)
	clear(w.index)
	w.keys, w.answers, w.callers, w.size = w.keys[:0], w.answers[:0], w.callers[:0], 0
}
