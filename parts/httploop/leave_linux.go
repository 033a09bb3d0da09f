package httploop

import (
	"bytes"
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
	if c.inFlight > 0 || len(c.out) > 0 {
		c.alone = true // proceed parses it again then
		return
	}
	l := c.loop
	l.server.handed.Add(reason)
	stay := uint64(1)
	if c.away > 0 && !c.served {
		stay = min(2*c.away, maxStay)
	}
	unread := c.unread()
	unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, c.fd, nil)
	over := c.secure
	conn, err := netConn(c.fd)
	c.dead, c.closing, c.deadline, c.secure = true, true, time.Time{}, nil
	c.letGo()
	c.count()
	c.remove()
	gone := l.server.gone()
	if err != nil { // no file descriptors are left, and it is closed
		l.server.door.Failed(err)
		gone()
		return
	}
	left := lameduck.Handed{TCPConn: conn, Unread: unread, Gone: gone, Stay: stay}
	if over != nil {
		left.Over = over.on
	}
	remote := c.remote
	left.Back = func() { l.back(conn, remote, over, stay, gone) }
	l.server.options.Leave(left)
}

// maxStay bounds how long a connection stays away that leaves whenever it has returned.
const maxStay = 1 << 20

// back takes a connection again that had left. Any goroutine may call it.
func (l *loop) back(conn *net.TCPConn, remote netip.AddrPort, over *secure, away uint64, gone func()) {
	if over != nil {
		over.under.Conn = nil
	}
	fd, err := descriptor(conn)
	if err != nil { // no file descriptors are left
		l.server.door.Failed(err)
		conn.Close()
		gone()
		return
	}
	if !l.post(func() {
		c := l.add(fd, remote, false, over)
		c.away, c.phase = away, working
		c.settle()
	}) {
		unix.Close(fd)
		gone()
	}
}

// gone returns what ends the count of a connection, once.
func (s *Server) gone() func() {
	return sync.OnceFunc(func() { s.counts.connections.Add(-1) })
}

// netConn makes a connection of a descriptor, on a duplicate, and closes the original.
func netConn(fd int) (*net.TCPConn, error) {
	file := os.NewFile(uintptr(fd), "connection")
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
