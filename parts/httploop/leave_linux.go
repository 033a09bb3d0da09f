package httploop

import (
	"bytes"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// leave passes a connection to the service, as soon as the earlier requests have their responses.
func (c *conn) leave() {
	if c.inFlight > 0 {
		c.alone = true // proceed parses it again then
		return
	}
	l := c.loop
	unread := bytes.Clone(c.buf[c.start:])
	unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, c.fd, nil)
	file := os.NewFile(uintptr(c.fd), "connection")
	conn, err := net.FileConn(file) // on a duplicate
	file.Close()
	c.dead, c.closing, c.deadline = true, true, time.Time{}
	c.letGo()
	c.remove()
	gone := sync.OnceFunc(func() { l.server.counts.connections.Add(-1) })
	tcp, ok := conn.(*net.TCPConn)
	if !ok || err != nil { // no file descriptors are left, and it is closed
		gone()
		return
	}
	l.server.options.Leave(tcp, unread, gone)
}
