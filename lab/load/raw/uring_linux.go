package raw

import (
	"math/bits"
	"sync"
	"unsafe"

	"dyno/lab/load"

	"golang.org/x/sys/unix"
)

const (
	ringEntries    = 256
	ringBufferSize = 16 << 10 // bytes: an answer takes one buffer nearly always
	minRingBuffers = 64
	maxRingBuffers = 1024 // more answers than these at once wait in their sockets
	// submitEvery bounds how many sends are gathered before they are submitted. A send takes about 3 us
	// on loopback, so the last of 8 leaves 20 us after the instant that was recorded for it.
	submitEvery = 8
	// quietSend is what a socket with nothing under way takes at once, in bytes: less than the smallest
	// send buffer. Nobody needs to be told how such a send went, unless it failed.
	quietSend = 4 << 10
)

// What a request to the ring was for; part of its user data, beside the connection and its generation.
const (
	forHandshake = iota
	forReceiving
	forSending

	kindShift = 60
	genShift  = 32
	genMask   = 1<<28 - 1
)

// uring is the back end of io_uring: one call submits a batch of sends, waits, and takes in what was
// received; receiving is asked for once in a connection's life.
type uring struct {
	s       *sender
	ring    *ring
	address unix.Sockaddr
	outs    []outgoing  // by connection
	full    []socket    // connections with something gathered
	failed  []failedTry // handshakes that ended in the call that began them
	closing []int       // sockets to be closed once nothing that names them waits to be submitted
	timeout unix.Timespec
	handle  func(*cqe)
}

// outgoing is the request bytes of a connection. What the kernel is sending must stay as it is.
type outgoing struct {
	sending, next []byte
	busy          bool // the kernel has sending
}

func newUring(s *sender, address unix.Sockaddr) (*uring, error) {
	buffers := 1 << bits.Len(uint(min(max(len(s.conns), minRingBuffers), maxRingBuffers)-1))
	r, err := newRing(ringEntries, buffers, ringBufferSize)
	if err != nil {
		return nil, err
	}
	u := &uring{s: s, ring: r, address: address, outs: make([]outgoing, len(s.conns))}
	u.handle = u.happened
	return u, nil
}

// uringWorks reports whether this kernel has everything that the back end needs (Linux 6.1).
var uringWorks = sync.OnceValue(func() bool {
	r, err := newRing(ringEntries, minRingBuffers, ringBufferSize)
	if err != nil {
		return false
	}
	r.close()
	return true
})

func (u *uring) end() {
	u.ring.submit()
	u.closeSockets()
	u.ring.close()
}

// ask prepares a request on behalf of a connection's present socket.
func (u *uring) ask(c *conn, op uint8, purpose uint64) *sqe {
	e := u.ring.next()
	e.opcode, e.fd = op, int32(c.fd)
	e.userData = purpose<<kindShift | uint64(c.gen&genMask)<<genShift | uint64(c.index)
	return e
}

func (u *uring) connect(c *conn) {
	u.outs[c.index] = outgoing{next: u.outs[c.index].next[:0]}
	fd, err := dial(u.address)
	if err != nil {
		c.fd = -1
		u.failed = append(u.failed, failedTry{socket{c.index, c.gen}, connectStatus(err)})
		return
	}
	c.fd = fd
	u.ask(c, opPollAdd, forHandshake).opFlags = unix.POLLOUT
}

// close ends what the ring does with a socket; the descriptor stays taken until no request that waits to
// be submitted can meet another socket under it.
func (u *uring) close(c *conn) {
	if c.fd >= 0 {
		unix.Shutdown(c.fd, unix.SHUT_RDWR)
		u.closing = append(u.closing, c.fd)
		c.fd = -1
	}
}

func (u *uring) closeSockets() {
	if len(u.closing) == 0 || u.ring.pending() > 0 {
		return
	}
	for _, fd := range u.closing {
		unix.Close(fd)
	}
	u.closing = u.closing[:0]
}

func (u *uring) send(c *conn, b []byte) {
	out := &u.outs[c.index]
	if len(out.next) == 0 && !out.busy && u.s.depth > 1 {
		u.full = append(u.full, socket{c.index, c.gen})
	}
	out.next = append(out.next, b...)
	if u.s.depth == 1 && !out.busy {
		u.flush(c)
	}
}

// flush asks for what a connection has gathered to be sent.
func (u *uring) flush(c *conn) {
	out := &u.outs[c.index]
	out.sending, out.next = out.next, out.sending[:0]
	e := u.ask(c, opSend, forSending)
	e.addr, e.len = uint64(uintptr(unsafe.Pointer(&out.sending[0]))), uint32(len(out.sending))
	e.opFlags = unix.MSG_NOSIGNAL | unix.MSG_WAITALL
	if out.busy = u.s.depth > 1 || len(out.sending) > quietSend; !out.busy {
		e.flags = sqeSkipSuccess
	}
	if u.ring.pending() >= submitEvery {
		u.ring.submit()
	}
}

func (u *uring) receive(c *conn) {
	e := u.ask(c, opRecv, forReceiving)
	e.ioprio, e.flags, e.bufGroup = recvMultishot, sqeBufferSelect, bufferGroup
}

func (u *uring) wait(until int64) {
	for _, k := range u.full {
		if c := &u.s.conns[k.index]; c.gen == k.gen && c.state == up {
			u.flush(c)
		}
	}
	u.full = u.full[:0]
	if u.s.tellFailed(&u.failed) {
		until = 0
	}
	u.timeout = unix.NsecToTimespec(max(0, until-u.s.latest))
	u.ring.wait(&u.timeout)
	u.closeSockets()
	u.s.now = u.s.clock()
	u.ring.completions(u.handle)
	u.ring.publishBuffers()
}

// happened handles one completion. What belongs to an earlier socket of a connection is passed over, but
// for the buffer that comes with it.
func (u *uring) happened(e *cqe) {
	c := &u.s.conns[uint32(e.userData)]
	mine := int32(e.userData>>genShift)&genMask == c.gen&genMask
	purpose := e.userData >> kindShift
	switch {
	case purpose == forReceiving:
		u.received(c, e, mine)
	case !mine:
	case purpose == forSending:
		u.sent(c, e)
	default:
		if err := handshake(c.fd); err != nil {
			u.s.refused(c, connectStatus(err))
			return
		}
		u.receive(c)
		u.s.connected(c)
	}
}

// sent takes note of how a send went. A failure is only remembered: the answer may be there to be read
// all the same, and the end of the connection is read behind it.
func (u *uring) sent(c *conn, e *cqe) {
	out := &u.outs[c.index]
	out.busy = false
	switch {
	case e.res < 0:
		c.broken, c.brokenWhy = true, endStatus(unix.Errno(-e.res))
	case int(e.res) < len(out.sending): // cut short, which only the connection's end does
		c.broken, c.brokenWhy = true, load.Reset
	case len(out.next) > 0:
		u.flush(c)
	}
}

func (u *uring) received(c *conn, e *cqe, mine bool) {
	gen := c.gen
	if e.flags&cqeHasBuffer != 0 {
		id := uint16(e.flags >> cqeBufferIDShift)
		if mine && e.res > 0 {
			u.s.received(c, u.ring.buffer(id, int(e.res)))
		}
		u.ring.giveBack(id)
	}
	switch {
	case !mine || c.gen != gen:
	case e.res == 0:
		u.s.ended(c, load.Closed)
	case e.res < 0 && unix.Errno(-e.res) != unix.ENOBUFS:
		u.s.ended(c, endStatus(unix.Errno(-e.res)))
	case e.flags&cqeMore == 0: // out of buffers or of room for completions
		u.receive(c)
	}
}
