package httploop

import (
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"dyno/parts/httploop/wire"
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
	secure     *secure // nil means no TLS
	index      int32
	generation int32 // of the index, so that events of an earlier connection are recognised

	buf     []byte // nil means that no bytes are needed any more
	start   int    // of the bytes that are not part of a request yet
	scanned int    // bytes from start on that FindHead has scanned, in whole lines

	current  *Request // its head was read, its body was not; nil means none
	head     []byte   // of current, as received
	incoming wire.Body
	body     int // where the body of current begins

	first, final *Request // requests without a response, in order
	inFlight     int      // number of those

	records  []byte    // of TLS, that the socket did not accept
	out      []byte    // what follows them, before TLS
	large    []byte    // what follows out: the body of a large response, which is not copied
	at       int       // bytes of large that were sent
	released func()    // of large
	accepted time.Time // when the socket last accepted bytes, or did not at first

	held int // bytes of its buffers, as counted in Stats
	left int // part of held: a former buffer that only the views of a head still use

	requests uint64 // that it has had here since it came
	stay     uint64 // requests that it had elsewhere before it returned, at least; 0 means that it was not away
	blank    bool   // an empty line before the next request was skipped

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
func (l *loop) add(fd int, remote netip.AddrPort, overfull bool, over *secure) *conn {
	var index int32
	if n := len(l.free); n > 0 {
		index, l.free = l.free[n-1], l.free[:n-1]
	} else {
		index = int32(len(l.conns))
		l.conns = append(l.conns, nil)
		l.generations = append(l.generations, 0)
	}
	l.generations[index]++
	c := &conn{loop: l, remote: remote, fd: fd, secure: over, index: index, generation: l.generations[index]}
	c.deadline = l.now.Add(l.server.options.ReadTimeout)
	l.conns[index] = c
	l.open++
	if err := l.watch(fd, index, c.generation, interest); err != nil {
		c.abort()
		return c
	}
	switch {
	case l.cut:
		c.abort()
	case overfull:
		c.refuse(errOverfull)
	case over != nil:
		c.readable = true // TLS may have read more than its handshake
		l.touch(c)
	case l.draining:
		l.touch(c)
	}
	return c
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
	c.dead, c.closing, c.deadline = true, true, time.Time{}
	c.clear()
	if c.secure != nil {
		c.secure.under.in = nil
	}
	c.count()
	unix.Close(c.fd) // from here on the number may belong to another file
	c.loop.server.counts.connections.Add(-1)
	if c.current != nil {
		c.loop.recycle(c.current)
		c.current, c.head = nil, nil
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
	held := cap(c.buf) + c.left + cap(c.records) + cap(c.out) + cap(c.large)
	if c.secure != nil {
		held += cap(c.secure.under.in)
	}
	c.loop.server.counts.buffered.Add(int64(held - c.held))
	c.held = held
}

// fits reports whether more bytes may be buffered; if not, the client is refused. Loops check
// concurrently, so each may exceed the limit by one buffer.
func (c *conn) fits(more int) bool {
	s := c.loop.server
	for c.loop.overfull(more) {
		if c.loop.cutSlowest() {
			continue
		}
		s.counts.overfull.Add(1)
		c.refuse(errBuffered)
		return false
	}
	return true
}

// overfull reports whether more bytes would exceed the limit of all buffers.
func (l *loop) overfull(more int) bool {
	return l.server.counts.buffered.Load()+int64(more) > int64(l.server.options.MaxBuffered)
}

// cutSlowest cuts off the client of this loop that has read nothing of its responses for the longest
// time, and reports whether there was one. Where there was none it looks again after the next tick
// only, since it looks at all connections.
func (l *loop) cutSlowest() bool {
	if l.ticked.Equal(l.spared) {
		return false
	}
	var slowest *conn
	last := l.now.Add(-l.server.options.slow)
	for _, c := range l.conns {
		if c != nil && c.phase == writing && c.unsent() && c.accepted.Before(last) {
			slowest, last = c, c.accepted
		}
	}
	if slowest == nil {
		l.spared = l.ticked
		return false
	}
	l.server.counts.refused.Add(1)
	slowest.abort()
	return true
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
	if r.Released != nil {
		r.Released()
	}
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
	c.requests++
	c.blank = false
	c.closing = c.closing || r.Last
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
		c.alone = false // also of a connection that could not leave before all was sent
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
