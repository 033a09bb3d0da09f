package http1

import (
	"math/bits"
	"sync"
	"time"

	"dyno/lab/load"

	"golang.org/x/sys/unix"
)

const (
	ringEntries    = 256
	ringBufferSize = 16 << 10 // bytes: nearly every answer fits into one buffer
	minRingBuffers = 64
	maxRingBuffers = 1024 // with more concurrent answers, the further ones wait in their sockets
	// submitEvery bounds the number of sends that are collected before they are submitted. A send
	// takes about 3 us on loopback, so the last of 8 leaves some 20 us after its recorded
	// instant.
	submitEvery = 8
	// quietSend is the number of bytes that an idle socket certainly accepts in one send: less
	// than the smallest send buffer. Such a send needs no completion unless it fails.
	quietSend = 4 << 10
	// wakeDistance is how far apart, in ns, wake-ups of a sending thread are in the open model, where
	// nothing ends the pause. Requests that become due in between are sent together, half of this time
	// late on average, and answers are read together; the kernel notes when they arrived. On a virtual
	// CPU a wake-up costs several times the rest of a request.
	wakeDistance = 100_000
)

// Purposes of a request to the ring. A request's user data holds its purpose, its connection and
// the number of the connection's socket.
const (
	forHandshake = iota
	forReceiving
	forSending

	kindShift = 60
	genShift  = 32
	genMask   = 1<<28 - 1
)

// uring is the back end that uses io_uring: one system call submits a batch of sends, waits, and
// returns what was received. Receiving is requested once per socket.
type uring struct {
	s       *sender
	ring    *ring
	address unix.Sockaddr
	outs    []outgoing  // by connection
	full    []socket    // connections with collected requests
	failed  []failedTry // handshakes that failed in the very call that began them
	closing []int       // sockets to close as soon as no unsubmitted request refers to them
	timeout unix.Timespec
	handle  func(*cqe)

	pauses bool  // wake-ups are wakeDistance apart, and answers have the time of their arrival
	ahead  int64 // ns by which CLOCK_REALTIME is ahead of the monotonic clock
}

// outgoing holds the request bytes of a connection. Bytes that the kernel is sending must not
// change.
type outgoing struct {
	sending, next []byte
	busy          bool // the kernel is sending the bytes in sending
}

func newUring(s *sender, address unix.Sockaddr) (*uring, error) {
	buffers := 1 << bits.Len(uint(min(max(len(s.conns), minRingBuffers), maxRingBuffers)-1))
	r, err := newRing(ringEntries, buffers, ringBufferSize)
	if err != nil {
		return nil, err
	}
	u := &uring{s: s, ring: r, address: address, outs: make([]outgoing, len(s.conns))}
	u.handle = u.happened
	// With several requests in flight on a connection, one read may have the answers of several, and
	// one time.
	u.pauses = s.plan.Open() && r.canPause && s.depth == 1
	return u, nil
}

// uringWorks reports whether this kernel has everything that the back end needs (Linux 6.1 or
// later).
var uringWorks = sync.OnceValue(func() bool {
	r, err := newRing(ringEntries, minRingBuffers, ringBufferSize)
	if err != nil {
		return false
	}
	r.Close()
	return true
})

func (u *uring) end() {
	u.ring.Submit()
	u.closeSockets()
	u.ring.Close()
}

// userData identifies a request to the ring by its purpose and the connection's current socket.
func (c *conn) userData(purpose uint64) uint64 {
	return purpose<<kindShift | uint64(c.gen&genMask)<<genShift | uint64(c.index)
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
	if u.pauses { // without the option, answers count as received when they are read
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	}
	u.ring.Poll(fd, unix.POLLOUT, c.userData(forHandshake))
}

// close shuts a socket down. Its descriptor stays open while unsubmitted requests refer to it:
// the kernel could otherwise give its number to another socket, which those requests would then
// reach.
func (u *uring) close(c *conn) {
	if c.fd >= 0 {
		unix.Shutdown(c.fd, unix.SHUT_RDWR)
		u.closing = append(u.closing, c.fd)
		c.fd = -1
	}
}

func (u *uring) closeSockets() {
	if len(u.closing) == 0 || u.ring.Pending() > 0 {
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

// flush submits a connection's collected requests.
func (u *uring) flush(c *conn) {
	out := &u.outs[c.index]
	out.sending, out.next = out.next, out.sending[:0]
	out.busy = u.s.depth > 1 || len(out.sending) > quietSend
	u.ring.Send(c.fd, out.sending, unix.MSG_NOSIGNAL|unix.MSG_WAITALL, !out.busy, c.userData(forSending))
	if u.ring.Pending() >= submitEvery {
		u.ring.Submit()
	}
}

func (u *uring) receive(c *conn) {
	if u.pauses {
		u.ring.ReceiveStamped(c.fd, c.userData(forReceiving))
	} else {
		u.ring.Receive(c.fd, c.userData(forReceiving))
	}
}

func (u *uring) wait(until int64) {
	for _, k := range u.full {
		if c := &u.s.conns[k.index]; c.gen == k.gen && c.state == up {
			u.flush(c)
		}
	}
	u.full = u.full[:0]
	if u.s.onFailedTries(&u.failed) {
		until = 0
	}
	pause, until := u.rest(until)
	u.timeout = unix.NsecToTimespec(max(0, until-u.s.latest))
	u.ring.Wait(&u.timeout, uint32(pause/1000), u.enough())
	u.closeSockets()
	// What happens between the two readings makes answers late, not early.
	realtime := time.Now().UnixNano()
	u.s.now, u.s.partial = u.s.clock(), false
	u.ahead = realtime - u.s.now
	u.ring.Completions(u.handle)
	u.ring.PublishBuffers()
}

// rest returns for how long, in ns, few answers do not wake the thread, and when it wakes at the
// latest. The rest of an answer is awaited without a pause.
func (u *uring) rest(until int64) (pause, latest int64) {
	s := u.s
	if earliest := s.now + wakeDistance; u.pauses && until > s.now && !s.partial {
		return max(0, earliest-s.latest), max(until, earliest)
	}
	return 0, until
}

// enough is the number of answers that end a pause. While requests wait for a connection, it is an
// eighth of those in flight, so that connections that are free do not idle through the pause.
func (u *uring) enough() int {
	const most, share = 128, 8 // answers; requests in flight for one
	if u.s.queue.len > 0 {
		return min(u.s.inFlight/share, most)
	}
	return most
}

// happened handles one completion. If it belongs to an earlier socket of the connection, happened
// only returns its buffer.
func (u *uring) happened(e *cqe) {
	c := &u.s.conns[uint32(e.UserData)]
	mine := int32(e.UserData>>genShift)&genMask == c.gen&genMask
	purpose := e.UserData >> kindShift
	switch {
	case purpose == forReceiving:
		u.received(c, e, mine)
	case !mine:
	case purpose == forSending:
		u.sent(c, e)
	default:
		if err := handshake(c.fd); err != nil {
			u.s.onRefused(c, connectStatus(err))
			return
		}
		u.receive(c)
		u.s.onConnected(c)
	}
}

// sent handles the completion of a send. It only stores a failure: an answer may still be
// readable, and reading then meets the end of the connection.
func (u *uring) sent(c *conn, e *cqe) {
	out := &u.outs[c.index]
	out.busy = false
	switch {
	case e.Res < 0:
		c.broken, c.brokenWhy = true, endStatus(unix.Errno(-e.Res))
	case int(e.Res) < len(out.sending): // cut short, which happens only when the connection ends
		c.broken, c.brokenWhy = true, load.Reset
	case len(out.next) > 0:
		u.flush(c)
	}
}

func (u *uring) received(c *conn, e *cqe, mine bool) {
	gen := c.gen
	if id, ok := e.Buffer(); ok {
		if mine && e.Res > 0 {
			u.deliver(c, u.ring.Buffer(id, int(e.Res)))
		}
		u.ring.GiveBack(id)
	}
	switch {
	case !mine || c.gen != gen:
	case e.Res == 0:
		u.s.onClosed(c, load.Closed)
	case e.Res < 0 && unix.Errno(-e.Res) != unix.ENOBUFS:
		u.s.onClosed(c, endStatus(unix.Errno(-e.Res)))
	case !e.More(): // the kernel ended the multishot receive: no buffer or no room for completions was free
		u.receive(c)
	}
}

// deliver passes on what was received, with the instant at which it was.
func (u *uring) deliver(c *conn, in []byte) {
	at := u.s.now
	if u.pauses {
		var stamp int64
		if in, stamp = Stamped(in); stamp != 0 {
			at = u.arrived(stamp)
		}
		if len(in) == 0 {
			u.s.onClosed(c, load.Closed)
			return
		}
	}
	u.s.onReceived(c, in, at)
}

// arrived returns when an answer arrived, by the kernel's stamp. It is at most a pause before the
// thread read it: the stamp of a segment that overtook a lost one is older than the answer, and the
// clock of stamps may have been set meanwhile.
func (u *uring) arrived(stamp int64) int64 {
	return min(u.s.now, max(stamp-u.ahead, u.s.now-wakeDistance))
}
