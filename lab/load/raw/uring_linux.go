package raw

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"dyno/agent/monotonic"
	"dyno/lab/load"

	"golang.org/x/sys/unix"
)

const (
	ringEntries    = 256
	ringBufferSize = 16 << 10 // bytes: an answer takes one buffer nearly always
	maxRingBuffers = 1024
	quietSend      = 4 << 10 // bytes that a socket with nothing under way takes at once, so that nobody need be told
	kindHandshake  = 0
	kindReceived   = 1
	kindSent       = 2
	kindShift      = 60
	genShift       = 32
	genMask        = 1<<28 - 1
	pollOut        = unix.POLLOUT
	sendFlags      = unix.MSG_NOSIGNAL | unix.MSG_WAITALL
)

// uring is the back end of io_uring: one call submits a batch of sends and takes in what was received.
type uring struct {
	s       *sender
	ring    *ring
	address unix.Sockaddr
	full    []socket    // connections with something to send
	failed  []failedTry // handshakes that ended in the call that began them
	closing []int       // sockets to be closed once nothing that names them waits to be submitted
	timeout unix.Timespec
}

func newUring(s *sender, address unix.Sockaddr) (*uring, error) {
	buffers := 1 << bits.Len(uint(min(max(len(s.conns), 64), maxRingBuffers)-1))
	r, err := newRing(ringEntries, buffers, ringBufferSize)
	if err != nil {
		return nil, err
	}
	return &uring{s: s, ring: r, address: address}, nil
}

func (u *uring) end() {
	u.ring.enter(0, nil)
	u.closeSockets()
	u.ring.close()
}

func (u *uring) ask(c *conn, op uint8, kind uint64) *sqe {
	e := u.ring.next()
	e.opcode, e.fd = op, int32(c.fd)
	e.userData = kind<<kindShift | uint64(c.gen&genMask)<<genShift | uint64(c.index)
	return e
}

func (u *uring) connect(c *conn) {
	fd, err := dial(u.address)
	if err != nil {
		c.fd = -1
		u.failed = append(u.failed, failedTry{socket{c.index, c.gen}, connectStatus(err)})
		return
	}
	c.fd = fd
	u.ask(c, opPollAdd, kindHandshake).opFlags = pollOut
}

func (u *uring) close(c *conn) {
	if c.fd >= 0 {
		unix.Shutdown(c.fd, unix.SHUT_RDWR) // ends what the ring does with the socket
		u.closing = append(u.closing, c.fd)
		c.fd = -1
	}
}

func (u *uring) closeSockets() {
	for _, fd := range u.closing {
		unix.Close(fd)
	}
	u.closing = u.closing[:0]
}

func (u *uring) send(c *conn, b []byte) {
	if u.s.depth == 1 {
		c.out = append(c.out[:0], b...)
		e := u.ask(c, opSend, kindSent)
		e.addr, e.len, e.opFlags = uint64(uintptr(unsafe.Pointer(&c.out[0]))), uint32(len(c.out)), sendFlags
		if len(b) <= quietSend {
			e.flags = sqeSkipSuccess
			c.written = c.queued
		}
	}
}

func (u *uring) receive(c *conn) {
	e := u.ask(c, opRecv, kindReceived)
	e.ioprio, e.flags, e.bufGroup = recvMultishot, sqeBufferSelect, bufferGroup
}

func (u *uring) wait(until int64) {
	if len(u.failed) > 0 {
		u.s.now = monotonic.Now()
		for _, f := range u.failed {
			if c := &u.s.conns[f.index]; c.gen == f.gen {
				u.s.refused(c, f.status)
			}
		}
		u.failed = u.failed[:0]
		until = 0
	}
	rest := max(0, until-u.s.now)
	if until != 0 && rest > 0 {
		rest = max(0, until-monotonic.Now())
	}
	r := u.ring
	if *r.cqHead != atomic.LoadUint32(r.cqTail) {
		rest = 0
	}
	if rest == 0 {
		r.enter(0, nil)
	} else {
		u.timeout = unix.NsecToTimespec(rest)
		r.enter(1, &u.timeout)
	}
	u.closeSockets()
	u.s.now = monotonic.Now()
	head, tail := *r.cqHead, atomic.LoadUint32(r.cqTail)
	for ; head != tail; head++ {
		u.happened(&r.cqes[head&r.cqMask])
	}
	atomic.StoreUint32(r.cqHead, head)
	r.publishBuffers()
}

func (u *uring) happened(e *cqe) {
	c := &u.s.conns[uint32(e.userData)]
	mine := int32(e.userData>>genShift)&genMask == c.gen&genMask
	switch e.userData >> kindShift {
	case kindReceived:
		u.received(c, e, mine)
	case kindSent:
		if !mine {
			return
		}
		if e.res < 0 {
			c.broken, c.brokenWhy = true, endStatus(unix.Errno(-e.res))
		} else {
			c.written += int64(e.res)
		}
	case kindHandshake:
		if !mine {
			return
		}
		if err := handshake(c.fd); err != nil {
			u.s.refused(c, connectStatus(err))
			return
		}
		u.receive(c)
		u.s.connected(c)
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
	case e.flags&cqeMore == 0:
		u.receive(c)
	}
}
