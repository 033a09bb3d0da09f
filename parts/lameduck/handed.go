package lameduck

import (
	"crypto/tls"
	"net"
	"sync"
)

// Handed is a connection that another server has begun to serve.
type Handed struct {
	*net.TCPConn
	Unread []byte                   // bytes read and not served: within TLS if there is an Over
	Over   func(net.Conn) *tls.Conn // returns the connection's TLS over the given one; nil means that it has none yet
	Gone   func()                   // called when the connection is closed
	Served func()                   // called for each request that the handler has on it, from any goroutine; nil: not counted
	Origin Origin                   // to which it returns between two requests; nil: it stays
	Stay   uint64                   // requests that it has here before, at least
}

// Origin is the server that has handed a connection over, and takes it back. Its methods are called
// from any goroutine: Reserve, and after it Take or Drop.
type Origin interface {
	Reserve() bool // prepares a return, and reports whether there can be one now
	Take()         // the connection returns, Gone is not called, and its TCPConn is not used any more
	Drop()         // it does not return after all
}

// HandOver makes Accept return only the connections that are passed to give, for a server that
// accepts TCP connections itself and passes some of them to another server. Call HandOver before
// Accept. give does not block. The server calls end after the last give, since Drain waits for it;
// after end or Close, give closes the connections that it receives.
func (l *Listener) HandOver() (give func(Handed), end func()) {
	l.handed = &handed{}
	l.handed.changed.L = &l.handed.mu
	return func(from Handed) {
		c := l.add(from)
		if from.Over != nil {
			c.over, c.unread, c.early = from.Over(c), nil, from.Unread
		}
		if !l.handed.give(c) {
			c.Close()
		}
	}, l.handed.end
}

// handed queues connections until they are accepted: at most as many as the other server accepts.
type handed struct {
	mu      sync.Mutex
	changed sync.Cond
	conns   []*Conn
	ended   bool
}

func (h *handed) give(c *Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return false
	}
	h.conns = append(h.conns, c)
	h.changed.Signal()
	return true
}

func (h *handed) next() (net.Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.conns) == 0 && !h.ended {
		h.changed.Wait()
	}
	if len(h.conns) == 0 {
		return nil, net.ErrClosed
	}
	c := h.conns[0]
	h.conns[0] = nil
	h.conns = h.conns[1:]
	return c, nil
}

func (h *handed) end() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.changed.Broadcast()
}
