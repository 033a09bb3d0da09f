package httploop

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// unsent reports whether the socket has not accepted all of the responses that were begun.
func (c *conn) unsent() bool { return len(c.records)+len(c.out)+len(c.large) > 0 }

// flush writes responses, and reports whether the socket accepted all of them.
func (c *conn) flush() bool {
	l := c.loop
	if c.unsent() {
		if !c.drain() {
			return false
		}
		c.count()
	}
	for c.first != nil && c.first.answered {
		c.out = c.compose(l.out[:0])
		l.out = c.out
		if !c.drain() {
			if c.dead {
				return false
			}
			c.out = bytes.Clone(c.out) // the other connections use the loop's memory
			c.count()
			c.settle()
			for l.overfull(0) && l.cutSlowest() {
			}
			return false
		}
	}
	return true
}

// compose appends the next responses to b: as many as fit, and the begin of a large one.
func (c *conn) compose(b []byte) []byte {
	l := c.loop
	for c.first != nil && c.first.answered && len(b) < maxOut && c.large == nil {
		r := c.pop()
		// The last response carries Connection: close if it is known to be the last.
		last := r.Last || c.inFlight == 0 && c.current == nil && c.start == len(c.buf) && !c.readable && (c.ended || l.server.lame.Load())
		c.closing, c.asked = c.closing || last, c.asked || r.Last
		var follows bool
		b, follows = r.Response.AppendHead(b, &r.Head, l.date, last)
		if body := r.Response.Body; follows {
			n := len(body)
			if n > maxOut {
				n = max(0, maxOut-len(b))
				c.large, c.at, c.released = body, n, r.Released
				r.Response.Body, r.Released = nil, nil
			}
			b = append(b, body[:n]...)
		}
		l.recycle(r)
	}
	return b
}

// drain sends what is left of responses, and reports whether the socket accepted all of it. It sends
// about maxOut bytes in a turn: encrypting and copying more would have other connections wait.
func (c *conn) drain() bool {
	if c.records = c.send(c.records); len(c.records) > 0 || c.dead {
		return false
	}
	for sent := 0; len(c.out)+len(c.large) > 0; {
		if sent >= maxOut {
			c.loop.later(c)
			return false
		}
		piece := c.out
		if len(piece) == 0 {
			piece = c.large[c.at:min(len(c.large), c.at+maxOut)]
		}
		left := c.write(piece)
		if c.dead {
			return false
		}
		n := len(piece) - left
		if len(c.out) > 0 {
			c.out = c.out[n:]
		} else {
			c.at += n
		}
		if sent += n; left > 0 || len(c.records) > 0 {
			return false
		}
		if len(c.out) == 0 && c.at == len(c.large) {
			c.clear()
		}
	}
	return true
}

// clear forgets what is left of responses.
func (c *conn) clear() {
	c.records, c.out, c.large, c.at = nil, nil, nil, 0
	if f := c.released; f != nil {
		c.released = nil
		f()
	}
}

// write sends bytes, and returns how many the socket did not accept. With TLS it accepts all, and
// records may be left.
func (c *conn) write(b []byte) (left int) {
	if c.secure == nil {
		return len(c.send(b))
	}
	sealed, err := c.secure.seal(c.loop, b)
	if err != nil {
		c.abort()
		return 0
	}
	c.records = bytes.Clone(c.send(sealed))
	return 0
}

// send returns the bytes that the socket did not accept.
func (c *conn) send(b []byte) []byte {
	for len(b) > 0 {
		n, errno := send(c.fd, b)
		switch errno {
		case 0:
			b = b[n:]
			c.accepted = c.loop.now
		case unix.EINTR:
		case unix.EAGAIN:
			return b
		default:
			c.abort()
			return nil
		}
	}
	return nil
}
