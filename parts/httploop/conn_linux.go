package httploop

import (
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// conn is a connection. Only its loop uses it.
//
// buf holds the bytes that were read. Requests that are not answered have views of it, so while
// there are any, nothing before start is overwritten; neither is the head of the request that is
// being read.
type conn struct {
	loop       *loop
	remote     netip.AddrPort
	fd         int
	index      int32
	generation int32 // of the index, so that events of an earlier connection are recognised

	buf     []byte // nil means that no bytes are needed any more
	start   int    // of the bytes that are not part of a request yet
	scanned int    // bytes from start on that headEnd has scanned, in whole lines

	current *Request // its head was read, its body was not; nil means none
	framing framing
	body    int // where the body of current begins
	chunks  chunks

	first, final *Request // requests without a response, in order
	inFlight     int      // number of those

	out []byte // bytes that the socket did not accept

	held int // bytes of its buffers, as counted in Stats
	left int // part of held: a former buffer that only the views of a head still use

	phase    phase
	deadline time.Time // zero means none

	dirty     bool // in the list that flush works through
	readable  bool // the socket may have bytes
	hungUp    bool // the kernel has reported the end of the stream
	ended     bool // the end of the stream was read
	closing   bool // no further requests are read
	alone     bool // no further request starts until all are answered: an unsafe method, or one behind others
	asked     bool // the client has asked to close
	lingering bool // all was sent; further bytes are discarded
	thrown    int  // bytes discarded
	dead      bool // closed, and kept until its requests are completed
}

// interest is the set of events that each socket is registered for, from start to end. The events
// are edge-triggered, so no system call is needed to change the set.
const interest = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET

// tcpOptions are those of net.ListenConfig: a vanished client is noticed after 15 s and 9 probes.
var tcpOptions = []struct{ level, name, value int }{
	{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
	{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
	{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15},
	{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 15},
	{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 9},
}

// add sets up a connection for an accepted socket.
func (l *loop) add(fd int, remote netip.AddrPort, overfull bool) {
	var index int32
	if n := len(l.free); n > 0 {
		index, l.free = l.free[n-1], l.free[:n-1]
	} else {
		index = int32(len(l.conns))
		l.conns = append(l.conns, nil)
		l.generations = append(l.generations, 0)
	}
	l.generations[index]++
	c := &conn{loop: l, remote: remote, fd: fd, index: index, generation: l.generations[index]}
	c.deadline = l.now.Add(l.server.options.ReadTimeout)
	l.conns[index] = c
	l.open++
	for _, o := range tcpOptions {
		unix.SetsockoptInt(fd, o.level, o.name, o.value) // fails on sockets other than TCP, which do not need them
	}
	if err := l.watch(fd, index, c.generation, interest); err != nil {
		c.abort()
		return
	}
	switch {
	case l.cut:
		c.abort()
	case overfull:
		c.refuse(errOverfull)
	case l.draining:
		l.touch(c)
	}
}

// remove deletes a connection that is dead and has no requests.
func (c *conn) remove() {
	l := c.loop
	if l.conns[c.index] != c {
		return
	}
	l.conns[c.index] = nil
	l.free = append(l.free, c.index)
	l.open--
}

// abort closes a connection, whatever is in progress on it.
func (c *conn) abort() {
	if c.dead {
		return
	}
	c.dead, c.closing, c.out, c.deadline = true, true, nil, time.Time{}
	c.count()
	unix.Close(c.fd) // from here on the number may belong to another file
	c.loop.server.counts.connections.Add(-1)
	if c.current != nil {
		c.loop.recycle(c.current)
		c.current = nil
	}
	c.bury()
}

// bury releases a dead connection's requests as they are completed, in any order.
func (c *conn) bury() {
	for c.first != nil && c.first.answered {
		c.loop.recycle(c.pop())
	}
	if c.inFlight == 0 {
		c.letGo()
		c.remove()
	}
}

// letGo returns a buffer to the loop when none of its bytes is needed.
func (c *conn) letGo() {
	if c.buf == nil {
		return
	}
	if l := c.loop; cap(c.buf) == l.server.options.MaxHead && len(l.buffers) < maxBuffers {
		l.buffers = append(l.buffers, c.buf[:0])
	}
	c.buf, c.start, c.scanned, c.left = nil, 0, 0, 0
	c.count()
}

func (c *conn) count() {
	held := cap(c.buf) + c.left + cap(c.out)
	c.loop.server.counts.buffered.Add(int64(held - c.held))
	c.held = held
}

// fits reports whether more bytes may be buffered; if not, the client is refused. Loops check
// concurrently, so each may exceed the limit by one buffer.
func (c *conn) fits(more int) bool {
	s := c.loop.server
	if s.counts.buffered.Load()+int64(more) <= int64(s.options.MaxBuffered) {
		return true
	}
	s.counts.overfull.Add(1)
	c.refuse(errBuffered)
	return false
}

func (l *loop) buffer() []byte {
	if n := len(l.buffers); n > 0 {
		b := l.buffers[n-1]
		l.buffers = l.buffers[:n-1]
		return b
	}
	return make([]byte, 0, l.server.options.MaxHead)
}

func (l *loop) request(c *conn) *Request {
	var r *Request
	if n := len(l.spare); n > 0 {
		r, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		r = new(Request)
	}
	r.conn = c
	return r
}

func (l *loop) recycle(r *Request) {
	if len(l.spare) < maxSpare {
		r.reset()
		l.spare = append(l.spare, r)
	}
}

func (c *conn) push(r *Request) {
	if c.first == nil {
		c.first = r
	} else {
		c.final.next = r
	}
	c.final = r
	c.inFlight++
	c.closing = c.closing || r.last
}

func (c *conn) pop() *Request {
	r := c.first
	if c.first = r.next; c.first == nil {
		c.final = nil
	}
	if c.inFlight--; c.inFlight == 0 {
		c.alone = false
	}
	return r
}

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
	case events&unix.EPOLLOUT != 0 && len(c.out) > 0:
		c.loop.touch(c)
	default:
		c.read()
		c.settle()
	}
}

// read reads while the socket has bytes and the connection has room for the requests they make.
func (c *conn) read() {
	for c.readable && !c.ended && len(c.out) == 0 && c.takes() && c.room() {
		free := c.buf[len(c.buf):cap(c.buf)]
		n, errno := receive(c.fd, free)
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
		c.readable = n == len(free) || c.hungUp
		c.buf = c.buf[:len(c.buf)+n]
		if c.loop.draining && c.inFlight == 0 {
			c.deadline = c.loop.now.Add(c.loop.server.options.ReadTimeout) // settle shortens it to a lull
		}
		c.parse()
	}
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
		if c.framing.length != chunked {
			size = min(size, c.framing.length)
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
		c.current = nil
		c.push(r)
		l.batch = append(l.batch, r)
	}
}

// parseHead starts the next request when its whole head has arrived.
func (c *conn) parseHead() bool {
	options := &c.loop.server.options
	data := c.buf[c.start:]
	if len(data) == 0 {
		return false
	}
	end, next, err := headEnd(data, c.scanned)
	c.scanned = next
	switch {
	case err != nil:
	case max(end, next) > options.MaxHead, end == 0 && len(data) >= options.MaxHead:
		if err = errLongHead; next == 0 {
			err = errLongLine
		}
	case end == 0:
		return false
	default:
		r := c.loop.request(c)
		if c.framing, err = r.parseHead(data[:end], options.MaxBody); err == nil && (options.Serves == nil || options.Serves(r)) {
			c.current, c.body, c.scanned, c.chunks = r, c.start+end, 0, chunks{}
			return true
		}
		c.loop.recycle(r)
		c.scanned = 0
	}
	if options.Leave != nil {
		c.leave()
		return false
	}
	c.refuse(err)
	return false
}

func (c *conn) parseBody(r *Request) (whole bool, err *refusal) {
	if c.framing.length != chunked {
		end := c.body + c.framing.length
		if len(c.buf) < end {
			return false, nil
		}
		r.Body, c.start = c.buf[c.body:end:end], end
		return true, nil
	}
	raw := c.buf[c.body+c.chunks.body:]
	used, err := c.chunks.read(c.buf[c.body:], raw, c.loop.server.options.MaxBody)
	end := c.body + c.chunks.body
	c.buf = c.buf[:end+copy(c.buf[end:], raw[used:])]
	if err != nil || c.chunks.state != done {
		return false, err
	}
	r.Body, c.start = c.buf[c.body:end:end], end
	return true, nil
}

// goOn sends 100 Continue to a client that waits for it, once all earlier requests are answered.
func (c *conn) goOn() {
	const interim = "HTTP/1.1 100 Continue\r\n\r\n"
	if !c.framing.expect || c.inFlight > 0 || len(c.out) > 0 {
		return
	}
	c.framing.expect = false
	if n, _ := send(c.fd, []byte(interim)); n < len(interim) {
		c.abort()
	}
}

// refuse sends an error response after the responses to earlier requests, and ends the connection.
func (c *conn) refuse(err *refusal) {
	l := c.loop
	if c.current != nil {
		l.recycle(c.current)
		c.current = nil
	}
	l.server.counts.refused.Add(1)
	r := l.request(c)
	r.Response.Status = err.status
	if err == errOverfull || err == errBuffered {
		r.Response.Add("Retry-After", "1")
		c.readable = true // nothing was read: without a linger, the close would reset the response
	}
	l.server.options.Refuse(&r.Response, err.text)
	r.answered, r.last = true, true
	c.push(r)
	l.touch(c)
}

// proceed sends responses, and then continues with bytes that could not be read before.
func (c *conn) proceed() {
	if c.dead {
		c.bury()
		return
	}
	if c.lingering || !c.flush() {
		return
	}
	if c.inFlight == 0 {
		if c.closing || c.ended {
			c.finish()
			return
		}
		if c.current == nil && c.start == len(c.buf) {
			c.letGo()
		}
	}
	if c.current != nil || c.start < len(c.buf) {
		c.parse()
	}
	c.read()
	c.settle()
}

// flush writes responses, and reports whether the socket accepted all of them.
func (c *conn) flush() bool {
	l := c.loop
	if len(c.out) > 0 {
		if c.out = c.write(c.out); len(c.out) > 0 || c.dead {
			return false
		}
		c.out = nil
		c.count()
	}
	for c.first != nil && c.first.answered {
		b := l.out[:0]
		for c.first != nil && c.first.answered && len(b) < maxOut {
			r := c.pop()
			// The last response carries Connection: close if it is known to be the last.
			last := r.last || c.inFlight == 0 && c.current == nil && c.start == len(c.buf) && !c.readable && (c.ended || l.server.lame.Load())
			c.closing, c.asked = c.closing || last, c.asked || r.last
			b = r.append(b, l.date, last)
			l.recycle(r)
		}
		l.out = b
		if rest := c.write(b); len(rest) > 0 && !c.dead {
			c.out = append([]byte(nil), rest...)
			c.count()
			c.settle()
			return false
		}
		if c.dead {
			return false
		}
	}
	return true
}

// write returns the bytes that the socket did not accept.
func (c *conn) write(b []byte) []byte {
	for len(b) > 0 {
		n, errno := send(c.fd, b)
		switch errno {
		case 0:
			b = b[n:]
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
