package jsonrpc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
)

// ErrClosed is returned by Send after the end of a subscription.
var ErrClosed = errors.New("the subscription has ended")

// Subscription sends notifications on one WebSocket. Its methods may be called from any goroutine.
type Subscription struct {
	id, name string
	c        *socket
	done     chan struct{}

	mu     sync.Mutex
	begun  bool     // the client has been sent the id
	held   [][]byte // notifications until then
	bytes  int      // of held
	closed bool
}

// Subscribe opens a subscription for the method that is called with ctx, which returns ID as its
// result, or closes it if it fails. Notifications bear the given name as their method, such as
// eth_subscription. An error is for the caller: calls over HTTP cannot subscribe, and a WebSocket
// has a bound.
func Subscribe(ctx context.Context, name string) (*Subscription, error) {
	m, ok := ctx.Value(messageKey{}).(*message)
	if !ok {
		return nil, errNoSocket
	}
	var random [16]byte
	rand.Read(random[:]) // never fails
	sub := &Subscription{id: "0x" + hex.EncodeToString(random[:]), name: name, c: m.socket, done: make(chan struct{})}
	if err := m.socket.add(sub); err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.opened = append(m.opened, sub)
	m.mu.Unlock()
	return sub, nil
}

// Unsubscribe closes a subscription of the WebSocket that a method is called over, and reports
// whether there was one.
func Unsubscribe(ctx context.Context, id string) bool {
	m, ok := ctx.Value(messageKey{}).(*message)
	if !ok {
		return false
	}
	m.socket.mu.Lock()
	sub := m.socket.subs[id]
	m.socket.mu.Unlock()
	return sub != nil && sub.close()
}

// ID returns the subscription's id: 0x and 32 hexadecimal digits.
func (s *Subscription) ID() string { return s.id }

// Done returns a channel that is closed when the subscription ends.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Close ends the subscription: nothing is sent after it.
func (s *Subscription) Close() { s.close() }

// Send queues a notification and does not wait. It returns ErrClosed after the end, and an error
// for a result that cannot be written as JSON. A client that leaves no room in its queue is
// disconnected.
func (s *Subscription) Send(result any) error {
	text, err := appendNotification(s.c.s.o.Codec, nil, s.name, s.id, result)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.begun:
		s.c.notify(text)
	case s.bytes+len(text) > s.c.out.max:
		s.c.stop(errSlow)
	default:
		s.held = append(s.held, text)
		s.bytes += len(text)
	}
	return nil
}

// WaitForRoom waits until at least half of the client's queue is free, or its connection has ended.
// A goroutine that calls it before each Send, because it can read later what it has to send, cannot
// overrun a client; one that does not read at all is disconnected by the time limit of a write.
func (s *Subscription) WaitForRoom() { s.c.out.waitForRoom() }

// begin sends what was held until the client had the id.
func (s *Subscription) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	if !s.closed {
		for _, text := range s.held {
			s.c.notify(text)
		}
	}
	s.held = nil
}

// close reports whether it has ended the subscription.
func (s *Subscription) close() bool {
	removed := s.c.remove(s)
	if removed {
		s.end()
	}
	return removed
}

// end makes the subscription send nothing more. It is called once, after its removal.
func (s *Subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	close(s.done)
}

func (c *socket) add(sub *Subscription) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.subs == nil:
		return ErrClosed
	case len(c.subs) >= c.s.bounds.MaxSubscriptions:
		return Errorf(LimitExceeded, "a connection has at most %d subscriptions", c.s.bounds.MaxSubscriptions)
	}
	c.subs[sub.id] = sub
	c.s.subscriptions.Add(1)
	return nil
}

func (c *socket) remove(sub *Subscription) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subs[sub.id] == nil {
		return false
	}
	delete(c.subs, sub.id)
	c.s.subscriptions.Add(-1)
	return true
}

// unsubscribeAll ends all subscriptions, and permits no more.
func (c *socket) unsubscribeAll() {
	c.mu.Lock()
	all := c.subs
	c.subs = nil
	c.mu.Unlock()
	c.s.subscriptions.Add(-int64(len(all)))
	for _, sub := range all {
		sub.end()
	}
}
