package lameduck

import (
	"net"
	"sync"
)

// HandOver makes Accept return only the connections that are passed to give, for a server that
// accepts TCP connections itself and passes some of them to another server. unread is what it has
// read of a connection, and gone is called when the connection is closed. Call HandOver before
// Accept. give does not block. The server calls end after the last give, since Drain waits for it;
// after end or Close, give closes the connections that it receives.
func (l *Listener) HandOver() (give func(c *net.TCPConn, unread []byte, gone func()), end func()) {
	l.handed = &handed{}
	l.handed.changed.L = &l.handed.mu
	return func(tcp *net.TCPConn, unread []byte, gone func()) {
		if c := l.add(tcp, unread, gone); !l.handed.give(c) {
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
