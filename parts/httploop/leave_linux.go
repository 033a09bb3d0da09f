package httploop

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"dyno/parts/lameduck"
)

// leave passes a connection to the service, as soon as the earlier requests have their responses.
func (c *conn) leave(reason string) {
	if c.inFlight > 0 || c.unsent() {
		c.alone = true // proceed parses it again then
		return
	}
	l := c.loop
	conn, err := netConn(c.fd)
	if err != nil {
		l.server.door.Failed(err)
		c.refuse(errFiles)
		return
	}
	l.server.handed.Add(reason)
	v := &visit{loop: l, conn: conn, remote: c.remote, over: c.secure, stay: 1, gone: l.server.gone()}
	if c.stay > 0 && c.requests < worth {
		v.stay = min(2*c.stay, maxStay)
	}
	unread := c.unread()
	unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, c.fd, nil)
	unix.Close(c.fd)
	c.dead, c.closing, c.deadline, c.secure = true, true, time.Time{}, nil
	c.letGo()
	c.count()
	c.remove()
	left := lameduck.Handed{TCPConn: conn, Unread: unread, Gone: v.gone, Served: l.server.servedElsewhere, Origin: v, Stay: v.stay}
	if v.over != nil {
		left.Over = v.over.on
	}
	l.server.options.Leave(left)
}

const (
	// worth is how many requests in a row make a move to the other server and back cost less than what
	// they save here. A connection with fewer stays away twice as long.
	worth = 4
	// maxStay bounds how long that is: moving a connection that has requests for the other server alone
	// then costs little per request, and one that has others again has them here soon.
	maxStay = 64
)

// visit is a connection that has left, to the server that has it.
type visit struct {
	loop   *loop
	conn   *net.TCPConn
	remote netip.AddrPort
	over   *secure // nil means no TLS
	stay   uint64
	gone   func()

	fd int // its descriptor here, between Reserve and the end of the visit
}

// Reserve implements lameduck.Origin.
func (v *visit) Reserve() bool {
	var err error
	if v.fd, err = duplicate(v.conn); err != nil {
		v.loop.server.door.Failed(err)
	}
	return err == nil
}

// Drop implements lameduck.Origin.
func (v *visit) Drop() { unix.Close(v.fd) }

// Take implements lameduck.Origin.
func (v *visit) Take() {
	v.conn.Close()
	if v.over != nil {
		v.over.under.Conn = nil
	}
	if !v.loop.post(v.end) {
		unix.Close(v.fd)
		v.gone()
	}
}

// end adds the connection to its loop again.
func (v *visit) end() {
	c := v.loop.add(v.fd, v.remote, false, v.over)
	c.stay, c.phase = v.stay, working
	c.settle()
}

// servedElsewhere counts a request of a connection that has left.
func (s *Server) servedElsewhere() { s.counts.elsewhere.Add(1) }

// gone returns what ends the count of a connection, once.
func (s *Server) gone() func() {
	return sync.OnceFunc(func() { s.counts.connections.Add(-1) })
}

// netConn makes a connection of a duplicate of a descriptor.
func netConn(fd int) (*net.TCPConn, error) {
	again, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(again), "connection")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		conn.Close()
		return nil, fmt.Errorf("it is a %T", conn)
	}
	return tcp, nil
}

// duplicate returns a descriptor of a connection, which remains.
func duplicate(c *net.TCPConn) (fd int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	var failed error
	err = raw.Control(func(original uintptr) { fd, failed = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0) })
	return fd, errors.Join(err, failed)
}

// unread returns a copy of the bytes that are not part of an earlier request.
func (c *conn) unread() []byte {
	r := c.current
	if r == nil {
		return bytes.Clone(c.buf[c.start:])
	}
	b := c.incoming.Unread(c.head, c.buf[c.body:])
	c.current, c.head = nil, nil
	c.loop.recycle(r)
	return b
}
