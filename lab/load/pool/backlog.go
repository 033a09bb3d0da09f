package pool

import (
	"context"
	"sync"
)

// due is a call whose intended time has come.
type due struct {
	seq      uint64
	intended int64
	index    int
}

// backlog is the queue of the calls that are due and that no worker has taken yet. It is
// unbounded.
type backlog struct {
	mu     sync.Mutex
	some   sync.Cond
	items  []due // valid from head on
	head   int
	closed bool // no more calls will be put
}

func newBacklog() *backlog {
	b := &backlog{}
	b.some.L = &b.mu
	return b
}

func (b *backlog) put(d due) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.head > 1024 && b.head*2 > len(b.items) { // more than half of the slice is free: move the rest to its beginning
		b.items = b.items[:copy(b.items, b.items[b.head:])]
		b.head = 0
	}
	b.items = append(b.items, d)
	b.some.Signal()
}

// take waits for a call and removes it; ok is false when no more calls will come, or ctx is done.
func (b *backlog) take(ctx context.Context) (d due, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.head == len(b.items) && !b.closed && ctx.Err() == nil {
		b.some.Wait()
	}
	if b.head == len(b.items) || ctx.Err() != nil {
		return due{}, false
	}
	d = b.items[b.head]
	b.head++
	return d, true
}

// close says that no more calls will be put.
func (b *backlog) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.some.Broadcast()
}

// wake makes every taker check its context again.
func (b *backlog) wake() {
	b.mu.Lock()
	defer b.mu.Unlock() // without the lock, a taker between its check and its wait would miss the broadcast
	b.some.Broadcast()
}

// drain removes and returns the remaining calls.
func (b *backlog) drain() []due {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.items[b.head:]
	b.items, b.head = nil, 0
	return left
}
