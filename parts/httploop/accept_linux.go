package httploop

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// acceptor accepts connections for all loops in turn. It belongs to the first loop.
type acceptor struct {
	fd     int // duplicate of the listener's
	loops  []*loop
	next   int
	paused bool // accept failed because no file descriptors were left
	sealed time.Time

	accept func(fd, flags int) (int, unix.Sockaddr, error) // unix.Accept4, except in tests
}

func newAcceptor(l net.Listener, loops []*loop) (*acceptor, error) {
	raw, ok := l.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("%w: the listener is a %T", ErrUnsupported, l)
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	var dupErr error
	err = control.Control(func(original uintptr) { fd, dupErr = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0) })
	if err := errors.Join(err, dupErr); err != nil {
		return nil, fmt.Errorf("taking the listener's socket: %w", err)
	}
	return &acceptor{fd: fd, loops: loops, accept: unix.Accept4}, nil
}

func (a *acceptor) owner() *loop { return a.loops[0] }

func (a *acceptor) watch() error { return a.owner().watch(a.fd, ofListener, 0, unix.EPOLLIN) }

func (a *acceptor) close() { unix.Close(a.fd) }

// again resumes accepting after a pause.
func (a *acceptor) again() {
	if !a.paused {
		return
	}
	a.paused = false
	if err := a.watch(); err != nil {
		a.paused = true
	}
}

// acceptsPerTurn limits the connections accepted per turn, so that a flood does not delay requests.
const acceptsPerTurn = 256

// some accepts at most a given number of waiting connections. A transient error (the client left
// before it was accepted) does not end it; without file descriptors it pauses until the next tick,
// since connections that end free some.
func (a *acceptor) some(most int) {
	for range most {
		fd, address, err := a.accept(a.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
			a.hand(fd, remoteOf(address))
		case unix.EAGAIN:
			return
		case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM:
			if !a.paused {
				a.paused = true
				unix.EpollCtl(a.owner().epoll, unix.EPOLL_CTL_DEL, a.fd, nil)
				a.owner().server.door.Failed(err)
			}
			return
		case unix.EINVAL, unix.EBADF, unix.ENOTSOCK:
			return // the listening socket is closed
		}
	}
}

// maxOverfull limits connections being refused, which are also at most a quarter of those that are
// not; further ones are closed without a response, and so are all that would need a TLS handshake
// first.
const maxOverfull = 256

// hand passes a connection to the next loop, or refuses it.
func (a *acceptor) hand(fd int, remote netip.AddrPort) {
	s := a.owner().server
	s.counts.accepted.Add(1)
	beyond := s.counts.connections.Add(1) - int64(s.options.MaxConnections)
	overfull := beyond > 0
	if overfull {
		s.counts.overfull.Add(1)
		s.door.Full()
	}
	if overfull && s.shakes != nil || beyond > max(1, min(maxOverfull, int64(s.options.MaxConnections)/4)) {
		s.counts.connections.Add(-1)
		unix.Close(fd)
		return
	}
	for _, o := range tcpOptions {
		unix.SetsockoptInt(fd, o.level, o.name, o.value) // fails on sockets other than TCP, which do not need them
	}
	l := a.loops[a.next]
	a.next = (a.next + 1) % len(a.loops)
	switch {
	case s.shakes != nil:
		l.shake(fd, remote)
	case l == a.owner():
		l.add(fd, remote, overfull, nil)
	default:
		l.post(func() { l.add(fd, remote, overfull, nil) })
	}
}

func remoteOf(address unix.Sockaddr) netip.AddrPort {
	switch a := address.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port))
	}
	return netip.AddrPort{}
}
