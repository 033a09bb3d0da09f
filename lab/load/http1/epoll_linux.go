package http1

import (
	"math"
	"unsafe"

	"dyno/lab/load"

	"golang.org/x/sys/unix"
)

const (
	readSize = 64 << 10 // bytes per read: nearly every answer arrives in one piece
	// readTurns bounds the reads from one connection before the others get their turn.
	readTurns = 16
	maxEvents = 512 // events fetched per system call
)

// interest is the set of events that epoll watches on every socket, unchanged as long as the
// socket is open. It is edge-triggered: epoll reports room to write only after the socket's
// buffer was full, so watching for it costs nothing and the set never changes.
const interest = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET

// epoll is the back end that uses non-blocking system calls: one call waits for many sockets;
// each request takes one to write and one to read.
type epoll struct {
	s       *sender
	fd      int
	address unix.Sockaddr
	events  []unix.EpollEvent
	buf     []byte
	gather  bool        // collect each connection's requests while handling events, and write them in one call
	full    []socket    // connections with collected requests
	failed  []failedTry // handshakes that failed in the very call that began them
	coarse  bool        // the kernel has no epoll_pwait2: waits are rounded up to 1 ms
}

func newEpoll(s *sender, address unix.Sockaddr) (*epoll, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &epoll{
		s: s, fd: fd, address: address, gather: s.depth > 1,
		events: make([]unix.EpollEvent, maxEvents), buf: make([]byte, readSize),
	}, nil
}

func (e *epoll) end() { unix.Close(e.fd) }

func (e *epoll) connect(c *conn) {
	fd, err := dial(e.address)
	if err == nil {
		c.fd = fd
		event := unix.EpollEvent{Events: interest, Fd: c.index, Pad: c.gen}
		if err = unix.EpollCtl(e.fd, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		c.fd = -1
		e.failed = append(e.failed, failedTry{socket{c.index, c.gen}, connectStatus(err)})
	}
}

func (e *epoll) close(c *conn) {
	if c.fd >= 0 {
		unix.Close(c.fd)
		c.fd = -1
	}
}

func (e *epoll) send(c *conn, b []byte) {
	switch {
	case len(c.out) > 0: // append b to the bytes that are still waiting
	case e.gather:
		e.full = append(e.full, socket{c.index, c.gen})
	default:
		b = b[e.write(c, b):]
	}
	c.out = append(c.out, b...)
}

// flush writes a connection's collected requests, as far as its socket accepts them.
func (e *epoll) flush(c *conn) {
	n := e.write(c, c.out)
	c.out = c.out[:copy(c.out, c.out[n:])]
}

// write returns the number of bytes that the socket accepted. If the connection is broken, write
// only stores the reason: an answer may still be readable, and reading then meets the end of the
// connection.
func (e *epoll) write(c *conn, b []byte) (n int) {
	for n < len(b) && !c.broken {
		k, errno := write(c.fd, b[n:])
		switch errno {
		case 0:
			n += k
		case unix.EINTR:
		case unix.EAGAIN:
			return n
		default:
			c.broken, c.brokenWhy = true, endStatus(errno)
		}
	}
	return n
}

func (e *epoll) wait(until int64) {
	for _, k := range e.full {
		if c := &e.s.conns[k.index]; c.gen == k.gen && c.state == up {
			e.flush(c)
		}
	}
	e.full = e.full[:0]
	if e.s.onFailedTries(&e.failed) {
		until = 0
	}
	n := e.poll(max(0, until-e.s.latest))
	e.s.now = e.s.clock()
	for i := range e.events[:n] {
		ev := &e.events[i]
		if c := &e.s.conns[ev.Fd]; c.gen == ev.Pad {
			e.happened(c, ev.Events)
		}
	}
}

// poll waits for events for at most remaining ns.
func (e *epoll) poll(remaining int64) int {
	if !e.coarse {
		ts := unix.NsecToTimespec(remaining)
		n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(e.fd), uintptr(unsafe.Pointer(&e.events[0])), uintptr(len(e.events)), uintptr(unsafe.Pointer(&ts)), 0, 0)
		if e.coarse = errno == unix.ENOSYS || errno == unix.EPERM; !e.coarse {
			if errno != 0 {
				return 0 // EINTR: the Go runtime sent the thread a signal
			}
			return int(n)
		}
	}
	ms := min((remaining+999_999)/1_000_000, math.MaxInt32)
	n, err := unix.EpollWait(e.fd, e.events, int(ms))
	if err != nil {
		return 0
	}
	return n
}

// happened handles one event of a connection.
func (e *epoll) happened(c *conn, events uint32) {
	gen := c.gen
	if c.state == connecting {
		if err := handshake(c.fd); err != nil {
			e.s.onRefused(c, connectStatus(err))
			return
		}
		e.s.onConnected(c)
	} else if events&unix.EPOLLOUT != 0 && len(c.out) > 0 {
		e.flush(c)
	}
	const ending = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if events&(unix.EPOLLIN|ending) == 0 {
		return
	}
	for range readTurns {
		n, errno := read(c.fd, e.buf)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return
		case errno != 0:
			e.s.onClosed(c, endStatus(errno))
			return
		case n == 0:
			e.s.onClosed(c, load.Closed)
			return
		}
		e.s.onReceived(c, e.buf[:n], e.s.now)
		// A short read has emptied the socket: later bytes cause another event.
		if c.gen != gen || n < len(e.buf) && events&ending == 0 {
			return
		}
		e.s.now = e.s.clock()
	}
	event := unix.EpollEvent{Events: interest, Fd: c.index, Pad: c.gen}
	if err := unix.EpollCtl(e.fd, unix.EPOLL_CTL_MOD, c.fd, &event); err != nil { // re-arming makes the next wait report the event again
		e.s.onClosed(c, load.Other)
	}
}
