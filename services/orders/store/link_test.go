package store

import (
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// link stands before a database. While it hangs it keeps connections, takes new ones, and lets
// nothing through.
type link struct {
	hangs    atomic.Bool
	to       string
	listener net.Listener
	tasks    sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// newLink returns the address that leads to the database of a DSN.
func newLink(t *testing.T, config *pgx.ConnConfig) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener, to: net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))}
	l.tasks.Go(l.accept)
	t.Cleanup(func() {
		listener.Close()
		l.mu.Lock()
		for _, c := range l.conns {
			c.Close()
		}
		l.mu.Unlock()
		l.tasks.Wait()
	})
	return l
}

// resume lets through what comes from now on. The connections that lost something end.
func (l *link) resume() {
	l.hangs.Store(false)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

func (l *link) address() string { return l.listener.Addr().String() }

func (l *link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", l.to)
		if err != nil {
			client.Close()
			return
		}
		l.mu.Lock()
		l.conns = append(l.conns, client, server)
		l.mu.Unlock()
		l.tasks.Go(func() { l.carry(server, client) })
		l.tasks.Go(func() { l.carry(client, server) })
	}
}

// carry drops what comes while the link hangs: what it held up is never read again.
func (l *link) carry(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !l.hangs.Load() {
			to.Write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}
