package lameduck

import (
	"net"
	"sync"
)

// HandOver has Accept return nothing but the connections that give is called with, for a server that accepts the
// connections of TCP itself and leaves some of them to another. unread is what it has read of them, and gone is called
// when they are closed. HandOver is called before Accept. give does not block. The server calls end after the last give,
// since Drain waits for it; after end or Close, give closes what it gets.
func (l *Listener) HandOver() (give func(c *net.TCPConn, unread []byte, gone func()), end func()) {
	l.handed = &handed{}
	l.handed.changed.L = &l.handed.mu
	return func(tcp *net.TCPConn, unread []byte, gone func()) {
		if c := l.add(tcp, unread, gone); !l.handed.give(c) {
			c.Close()
		}
	}, l.handed.end
}

// handed holds connections until they are accepted: as many at most as the other server accepts.
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
