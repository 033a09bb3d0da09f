package httploop

import (
	"time"

	"golang.org/x/sys/unix"
)

// phase is what a connection waits for; it determines the deadline.
type phase uint8

const (
	fresh   phase = iota // no byte has arrived yet
	reading              // for the rest of a request
	working              // for the service
	writing              // for the client to take what is written
	waiting              // for the next request
)

// After the last response the client gets some time to read it: when a socket is closed with unread
// bytes, the kernel resets the connection and the client loses what it has not read.
const (
	lingerTime  = time.Second
	lingerBytes = 4 << 20 // bytes read and discarded meanwhile
)

// finish ends a connection after all its responses were sent.
func (c *conn) finish() {
	if c.secure != nil {
		c.send(c.secure.goodbye(c.loop))
	}
	if c.dead {
		return
	}
	if c.ended || c.asked && c.start == len(c.buf) && !c.readable {
		c.abort()
		return
	}
	c.letGo()
	if unix.Shutdown(c.fd, unix.SHUT_WR) != nil {
		c.abort()
		return
	}
	c.lingering, c.deadline, c.readable = true, c.loop.now.Add(lingerTime), true
	c.discard()
}

func (c *conn) discard() {
	if cap(c.loop.out) < maxOut {
		c.loop.out = make([]byte, 0, maxOut)
	}
	scratch := c.loop.out[:maxOut]
	for c.readable {
		n, errno := receive(c.fd, scratch)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			c.readable = false
			return
		case errno != 0, n == 0, c.thrown > lingerBytes:
			c.abort()
			return
		}
		c.thrown += n
	}
}

func (c *conn) settle() {
	if c.dead || c.lingering {
		return
	}
	options := &c.loop.server.options
	next, patience := waiting, options.IdleTimeout
	switch {
	case c.unsent():
		next, patience = writing, options.WriteTimeout
	case c.inFlight > 0:
		next, patience = working, 0
	case c.current != nil || c.start < len(c.buf) || c.secure != nil && c.secure.part:
		next, patience = reading, options.ReadTimeout
	case c.phase == fresh:
		next = fresh
	}
	if next == writing && c.phase != writing {
		c.accepted = c.loop.now
	}
	switch {
	case next == c.phase, next == reading && c.phase == fresh: // counts from the first byte, not the last
	case patience == 0:
		c.deadline = time.Time{}
	default:
		c.deadline = c.loop.now.Add(patience)
	}
	c.phase = next
	if last := c.loop.now.Add(options.lull); c.loop.draining && next != working && next != writing && c.deadline.After(last) {
		c.deadline = last
	}
}

func (c *conn) expire() {
	switch {
	case c.lingering:
	case c.phase == reading:
		c.refuse(errLate)
		return
	case c.phase == writing:
		c.loop.server.counts.refused.Add(1)
	case pending(c.fd): // bytes have arrived since the loop last looked
		c.readable = true
		if c.read(); c.inFlight > 0 || c.current != nil || c.start < len(c.buf) {
			c.settle()
			return
		}
	}
	c.abort()
}
