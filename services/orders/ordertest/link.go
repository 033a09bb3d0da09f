package ordertest

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// link is what stands between a program and its database, so that a test can take the database away
// from the one program and leave it to everybody else: cut ends the connections and refuses new
// ones, hang keeps them open and lets nothing through.
type link struct {
	t        testing.TB
	to       string // the database's address
	listener net.Listener
	tasks    sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	conns map[net.Conn]bool
	state state
	free  *sync.Cond // signalled when the state changes
}

type state int

const (
	joined state = iota
	cut
	hanging
	closed
)

// newLink stands before the database of a DSN, and returns the DSN that leads through it.
func newLink(t testing.TB, dsn string) (*link, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l := &link{t: t, to: u.Host, conns: map[net.Conn]bool{}}
	l.free = sync.NewCond(&l.mu)
	if l.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	u.Host = l.listener.Addr().String()
	l.tasks.Go(l.accept)
	t.Cleanup(func() {
		l.set(closed)
		l.listener.Close()
		l.tasks.Wait()
	})
	return l, u.String()
}

// set changes what the link does from here on.
func (l *link) set(s state) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
	if s == cut || s == closed {
		for conn := range l.conns {
			conn.Close()
		}
	}
	l.free.Broadcast()
}

// take keeps a connection in mind, or closes it.
func (l *link) take(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == cut || l.state == closed {
		conn.Close()
		return false
	}
	l.conns[conn] = true
	return true
}

func (l *link) drop(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
	conn.Close()
}

func (l *link) accept() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		if l.take(conn) {
			l.tasks.Go(func() { l.join(conn) })
		}
	}
}

// join carries bytes both ways until one side ends.
func (l *link) join(conn net.Conn) {
	defer l.drop(conn)
	database, err := net.Dial("tcp", l.to)
	if err != nil || !l.take(database) {
		return
	}
	defer l.drop(database)
	var back sync.WaitGroup
	back.Go(func() {
		l.carry(conn, database)
		conn.Close()
	})
	l.carry(database, conn)
	database.Close()
	back.Wait()
}

// carry copies what comes, when it may.
func (l *link) carry(to, from net.Conn) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		l.mu.Lock()
		for l.state == hanging {
			l.free.Wait()
		}
		l.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				from.Close()
			}
			return
		}
	}
}
