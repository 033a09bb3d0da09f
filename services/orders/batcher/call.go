package batcher

import "sync/atomic"

// call is one Do or Begin. It is reused, including its channel.
type call[K comparable, V any] struct {
	key    K
	answer Answer[V]
	waiter Waiter[V]     // nil means that Do waits
	done   chan struct{} // holds one value after the answer
	state  atomic.Int32

	next, prev *call[K, V] // list of waiting calls; after sending, next is another call for the same key
}

// Values of state. The side that moves a call on from sent decides: the worker, which then signals
// done, or the caller, which then leaves the call to the worker.
const (
	unused    = int32(iota)
	waiting   // in the list; changes only under the mutex
	sent      // a worker has it
	answered  // its caller takes the answer
	abandoned // its caller has left
)

func (c *call[K, V]) reset() { *c = call[K, V]{done: c.done} }

// list holds the waiting calls in order. It is linked so that a caller that leaves is removed
// immediately: MaxWaiting counts callers, not abandoned entries.
type list[K comparable, V any] struct {
	first, last *call[K, V]
	len         int
}

func (l *list[K, V]) push(c *call[K, V]) {
	c.state.Store(waiting)
	c.prev = l.last
	if l.last == nil {
		l.first = c
	} else {
		l.last.next = c
	}
	l.last = c
	l.len++
}

// send takes up to n calls from the front, marks them as sent and returns them as a chain.
func (l *list[K, V]) send(n int) (first *call[K, V], sends int) {
	first = l.first
	var last *call[K, V]
	for sends < n && l.first != nil {
		last = l.first
		last.state.Store(sent)
		last.prev, l.first = nil, last.next
		sends++
	}
	switch {
	case last == nil:
		return nil, 0
	case l.first == nil:
		l.last = nil
	default:
		last.next, l.first.prev = nil, nil
	}
	l.len -= sends
	return first, sends
}

func (l *list[K, V]) remove(c *call[K, V]) {
	if c.prev == nil {
		l.first = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		l.last = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.next, c.prev = nil, nil
	l.len--
}

// wanted reports whether any caller still waits for the key of these calls, of which c is the
// first.
func (c *call[K, V]) wanted() bool {
	for ; c != nil; c = c.next {
		if c.state.Load() == sent {
			return true
		}
	}
	return false
}
