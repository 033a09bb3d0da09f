package httploop

import (
	"bytes"
	"net/http"

	"golang.org/x/sys/unix"

	"dyno/parts/httploop/wire"
)

// The refusals of a loop that has no room or no time for a request.
var (
	errOverfull = &wire.Refusal{Status: http.StatusServiceUnavailable, Text: "too many connections are open here; try again later"}
	errFiles    = &wire.Refusal{Status: http.StatusServiceUnavailable, Text: "too many files are open here; try again later"}
	errBuffered = &wire.Refusal{Status: http.StatusServiceUnavailable, Text: "too many requests are being read here; try again later"}
	errLate     = &wire.Refusal{Status: http.StatusRequestTimeout, Text: "the request did not arrive in time"}
)

func (c *conn) happened(events uint32) {
	const ending = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if events&ending != 0 {
		c.hungUp = true
	}
	if events&(unix.EPOLLIN|ending) != 0 {
		c.readable = true
	}
	switch {
	case c.dead:
	case c.lingering:
		c.discard()
	case events&unix.EPOLLOUT != 0 && c.unsent():
		c.loop.touch(c)
	default:
		c.read()
		c.settle()
	}
}

// read reads while the socket has bytes and the connection has room for the requests they make.
func (c *conn) read() {
	for c.readable && !c.ended && !c.unsent() && c.takes() && c.room() {
		free := c.buf[len(c.buf):cap(c.buf)]
		n, errno := c.receive(free)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			c.readable = false
			if c.inFlight == 0 && c.current == nil && c.start == len(c.buf) {
				c.letGo() // a client that sends nothing holds no buffer
			}
			return
		case errno != 0:
			c.abort()
			return
		case n == 0:
			c.ended, c.readable = true, false
			c.loop.touch(c)
			return
		}
		// A short read has emptied the socket: later bytes cause another event.
		c.readable = n == len(free) || c.hungUp || c.secure != nil && c.secure.over
		c.buf = c.buf[:len(c.buf)+n]
		if c.loop.draining && c.inFlight == 0 {
			c.deadline = c.loop.now.Add(c.loop.server.options.ReadTimeout) // settle shortens it to a lull
		}
		c.parse()
	}
}

func (c *conn) receive(b []byte) (int, unix.Errno) {
	if c.secure != nil {
		return c.secure.receive(c, b)
	}
	return receive(c.fd, b)
}

// room makes space for the next read, or reports false when there cannot be any yet.
func (c *conn) room() bool {
	switch {
	case c.buf == nil:
		if !c.fits(c.loop.server.options.MaxHead) {
			return false
		}
		c.buf = c.loop.buffer()
		c.count()
	case len(c.buf) < cap(c.buf):
	case c.current != nil:
		// The head stays in place because of its views; the body moves. The buffer grows with the bytes
		// that arrive, not to the announced length.
		body := c.buf[c.body:]
		size := max(2*len(body), 2*c.loop.server.options.MaxHead)
		if n, known := c.incoming.Length(); known {
			size = min(size, n)
		}
		if !c.fits(size) {
			return false
		}
		if c.body > 0 {
			c.left = cap(c.buf)
		}
		c.buf = append(make([]byte, 0, size), body...)
		c.start, c.body = 0, 0
		c.count()
	case c.inFlight > 0:
		return false // they have views of the bytes that would move
	default:
		c.buf = c.buf[:copy(c.buf, c.buf[c.start:])]
		c.start = 0
	}
	return true
}

func (c *conn) takes() bool {
	return !c.closing && !c.alone && c.inFlight < c.loop.server.options.MaxPipelined
}

// safe reports whether requests of one connection may run concurrently (RFC 9112, 9.3.2).
func safe(method string) bool { return method == "GET" || method == "HEAD" || method == "OPTIONS" }

func (c *conn) parse() {
	l := c.loop
	for c.takes() {
		if c.current == nil && !c.parseHead() {
			return
		}
		r := c.current
		switch whole, err := c.parseBody(r); {
		case err != nil && err.Status == http.StatusRequestEntityTooLarge && l.server.options.Leave != nil:
			c.leave(ReasonBody)
			return
		case err != nil:
			c.refuse(err)
			return
		case !whole:
			c.goOn()
			return
		}
		if c.alone = !safe(r.Method); c.alone && c.inFlight > 0 {
			return
		}
		c.current, c.head = nil, nil
		c.push(r)
		l.batch = append(l.batch, r)
	}
}

// parseHead starts the next request when its whole head has arrived.
func (c *conn) parseHead() bool {
	options := &c.loop.server.options
	if crlf := []byte("\r\n"); (c.requests > 0 || c.stay > 0) && !c.blank && bytes.HasPrefix(c.buf[c.start:], crlf) {
		c.start += len(crlf) // old clients end a body with it (RFC 9112, 2.2)
		c.blank = true
	}
	data := c.buf[c.start:]
	if len(data) == 0 {
		return false
	}
	end, next, err := wire.FindHead(data, c.scanned, options.MaxHead)
	c.scanned = next
	var reason string // not to serve it, if it is a request
	switch {
	case err != nil:
	case end == 0:
		return false
	default:
		r := c.loop.request(c)
		if c.incoming, err = r.Parse(data[:end], options.MaxBody); err == nil && options.Serves != nil {
			reason = options.Serves(r)
		}
		c.scanned = 0
		if err == nil && reason == "" {
			c.current, c.head, c.body = r, data[:end], c.start+end
			return true
		}
		c.loop.recycle(r)
	}
	if err != nil {
		reason = reasonOf(err)
	}
	if options.Leave != nil {
		c.leave(reason)
		return false
	}
	c.refuse(err)
	return false
}

func (c *conn) parseBody(r *Request) (whole bool, err *wire.Refusal) {
	n, rest, whole, err := c.incoming.Read(c.buf[c.body:], c.loop.server.options.MaxBody)
	c.buf = c.buf[:c.body+len(rest)]
	if err != nil || !whole {
		return false, err
	}
	r.Body, c.start = rest[:n:n], c.body+n
	return true, nil
}

// goOn sends 100 Continue to a client that waits for it, once all earlier requests are answered.
func (c *conn) goOn() {
	const interim = "HTTP/1.1 100 Continue\r\n\r\n"
	if c.inFlight > 0 || c.unsent() || !c.incoming.Awaited() {
		return
	}
	if left := c.write([]byte(interim)); left > 0 || len(c.records) > 0 {
		c.abort()
	}
}

// refuse sends an error response after the responses to earlier requests, and ends the connection.
func (c *conn) refuse(err *wire.Refusal) {
	l := c.loop
	if c.current != nil {
		l.recycle(c.current)
		c.current, c.head = nil, nil
	}
	l.server.counts.refused.Add(1)
	r := l.request(c)
	r.Response.Status = err.Status
	if err.Status == http.StatusServiceUnavailable {
		r.Response.Add("Retry-After", "1")
		c.readable = true // nothing was read: without a linger, the close would reset the response
	}
	l.server.options.Refuse(&r.Response, err.Text)
	r.answered, r.Last = true, true
	c.push(r)
	l.touch(c)
}
