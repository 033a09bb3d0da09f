package httploop

import (
	"bytes"
	"net"
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
	unread := c.unread()
	unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, c.fd, nil)
	conn, over := netConn(c.fd), c.secure
	c.dead, c.closing, c.deadline, c.secure = true, true, time.Time{}, nil
	c.letGo()
	c.count()
	c.remove()
	gone := l.server.gone()
	if conn == nil { // no file descriptors are left, and it is closed
		gone()
		return
	}
	left := lameduck.Handed{TCPConn: conn, Unread: unread, Gone: gone}
	if over != nil {
		left.Over = over.on
	}
	l.server.options.Leave(left)
}

// gone returns what ends the count of a connection, once.
func (s *Server) gone() func() {
	return sync.OnceFunc(func() { s.counts.connections.Add(-1) })
}

// netConn makes a connection of a descriptor, on a duplicate; nil if that fails.
func netConn(fd int) *net.TCPConn {
	file := os.NewFile(uintptr(fd), "connection")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		conn.Close()
		return nil
	}
	return tcp
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
