package httploop

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"dyno/parts/lameduck"
)

// secure is the TLS of a connection. A goroutine makes its handshake, since a signature would hold
// the loop up; then the loop alone uses it, over memory.
type secure struct {
	*tls.Conn
	under *transport
	over  bool // Read has failed, and will again
	part  bool // a part of a record has arrived
}

// shake makes the handshake of a client and passes its connection to a loop.
func (l *loop) shake(fd int, remote netip.AddrPort) {
	s := l.server
	h := s.shakes
	h.count.Add(1)
	h.tasks.Go(func() {
		defer h.count.Add(-1) // after the connection is the loop's
		conn, err := netConn(fd)
		unix.Close(fd)
		if err != nil {
			s.door.Failed(err)
			s.counts.connections.Add(-1)
			return
		}
		t := h.begin(conn, s.options.ReadTimeout)
		over := tls.Server(t, h.config)
		err = over.HandshakeContext(h.ctx)
		h.finish(t)
		if err == nil {
			if fd, err = duplicate(conn); err == nil {
				conn.Close()
				t.Conn = nil
				if !l.post(func() { l.add(fd, remote, false, &secure{Conn: over, under: t}) }) {
					unix.Close(fd)
					s.counts.connections.Add(-1)
				}
				return
			}
		}
		var plain tls.RecordHeaderError
		if s.options.Leave != nil && (errors.Is(err, errElsewhere) || errors.As(err, &plain)) && !t.known {
			reason := ReasonFraming
			if errors.Is(err, errElsewhere) {
				reason = ReasonHTTP2
			}
			s.handed.Add(reason)
			s.options.Leave(lameduck.Handed{TCPConn: conn, Unread: t.hello, Gone: s.gone(), Served: s.servedElsewhere})
			return
		}
		s.counts.refused.Add(1)
		s.counts.connections.Add(-1)
		conn.Close()
	})
}

// recordExtra is what a record has beside the bytes in it, at most.
const recordExtra = 512

// receive reads like recv: fewer bytes than there is room for mean that no more have arrived.
func (s *secure) receive(c *conn, b []byte) (n int, errno unix.Errno) {
	t, l := s.under, c.loop
	if cap(l.received) == 0 {
		l.received = make([]byte, maxOut)
	}
	drained, arrived := false, false
	t.out = l.sealed[:0]
	for n < len(b) && !s.over {
		m, err := s.Read(b[n:])
		n += m
		if err == nil {
			continue
		}
		if s.over = !errors.Is(err, again{}); s.over || drained {
			break
		}
		got, errno := receive(c.fd, l.received[:min(len(l.received), len(b)-n+recordExtra)])
		switch {
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			drained = true
		case errno != 0:
			t.in, t.out = nil, nil
			return 0, errno
		default:
			t.in, t.ended = l.received[:got], got == 0
			drained = got < min(len(l.received), len(b)-n+recordExtra) && !c.hungUp
			arrived = arrived || got > 0
		}
	}
	t.keep()
	if l.sealed = t.out; len(t.out) > 0 { // an alert, or new keys
		if rest := c.send(t.out); len(rest) > 0 {
			c.records = bytes.Clone(rest)
		}
	}
	t.out = nil
	if c.dead { // the client had reset it
		return 0, unix.ECONNRESET
	}
	c.count()
	s.part = !s.over && t.cut.within()
	if n > 0 || s.over {
		return n, 0
	}
	if arrived && l.draining && c.inFlight == 0 {
		c.deadline = l.now.Add(l.server.options.ReadTimeout) // settle shortens it to a lull
	}
	return 0, unix.EAGAIN
}

// seal returns the records of some bytes, in memory of the loop that is overwritten by the next.
func (s *secure) seal(l *loop, b []byte) ([]byte, error) {
	s.under.out = l.sealed[:0]
	_, err := s.Write(b)
	l.sealed, s.under.out = s.under.out, nil
	return l.sealed, err
}

// goodbye returns the record that ends the stream.
func (s *secure) goodbye(l *loop) []byte {
	s.under.out = l.sealed[:0]
	s.CloseWrite() // fails if the client has ended it already with an error, and writes nothing then
	l.sealed, s.under.out = s.under.out, nil
	return l.sealed
}

// on gives the TLS to another server, over its connection.
func (s *secure) on(c net.Conn) *tls.Conn {
	s.under.Conn = c
	return s.Conn
}
