// Package lameduck shuts an HTTP server down without losing a request. A server that receives
// SIGTERM is a lame duck for a while: it still accepts and answers, so that load balancers have
// time to notice that it is no longer ready, and each response carries Connection: close. Then the
// listener is sealed: the kernel takes no further connections, and those it already took are
// accepted. At the end, idle connections are closed one by one, when no byte waits on them and no
// TLS handshake is in progress. A request whose body stops arriving is then cut off; over TLS,
// which hides its bytes, only when the time of the drain is over.
//
// Listener does that for connections, for any HTTP parser; Server does it for net/http's server.
// One race of TCP remains: a request may still be on its way when an idle connection is closed.
// HTTP clients send such a request again (RFC 9112, 9.3.1).
//
// The package does not decide when a process stops (parts/daemon does), and does not end streams:
// their handlers do. A Server owns only the goroutines of the http.Server and, while it drains, one
// for each TLS handshake in progress.
package lameduck

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"dyno/parts/doors"
)

const (
	// Lull is the silence after which a connection is closed: a client that keeps sending has its next
	// request on the way well before that, and a response has arrived.
	Lull = 250 * time.Millisecond

	looks = 5 // checks of each connection per lull

	// Handshake is the time for a client to complete a connection that the kernel has begun when the
	// listener is sealed: a round trip to the other side of a continent.
	Handshake = 100 * time.Millisecond

	// lingering limits the bytes that are read and discarded from a client that goes on sending after
	// the last response. If a socket is closed with unread bytes, the kernel resets the connection,
	// and the reset may overtake the response.
	lingering = 256 << 10
)

// Listener accepts the connections of a TCP listener and ends them.
type Listener struct {
	// Door bounds the connections that are open: Listen sets it to doors.Public. Further ones are
	// answered 503 and closed.
	Door *doors.Door

	tcp     *net.TCPListener
	leaving atomic.Bool // responses carry Connection: close
	sealed  atomic.Bool
	cut     atomic.Bool // connections that close now were cut off
	halves  atomic.Int64

	mu    sync.Mutex
	conns map[*Conn]struct{}

	handed *handed // nil: Accept accepts from TCP

	accepted atomic.Bool // Accept has failed permanently
}

// Listen listens on a TCP address, such as 127.0.0.1:8080. It listens without Multipath TCP, which
// net.Listen uses where the kernel has it: the kernel refuses SealSocket's filter there.
func Listen(address string) (*Listener, error) {
	config := net.ListenConfig{}
	config.SetMultipathTCP(false)
	l, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	return &Listener{Door: doors.Public("listen"), tcp: l.(*net.TCPListener), conns: map[*Conn]struct{}{}}, nil
}

// LameDuck makes Leaving report true from now on.
func (l *Listener) LameDuck() { l.leaving.Store(true) }

// Leaving reports whether responses must carry Connection: close.
func (l *Listener) Leaving() bool { return l.leaving.Load() }

// Addr returns the listener's address.
func (l *Listener) Addr() net.Addr { return l.tcp.Addr() }

// TCP returns the underlying listener, for a server that accepts connections itself. That server
// keeps to the listener's Door, and calls SealSocket before its last accepts.
func (l *Listener) TCP() Socket { return Socket{l.tcp, l.Door} }

// Socket is a listener's own, with its bound.
type Socket struct {
	*net.TCPListener
	Bound *doors.Door
}

// Door returns the bound.
func (s Socket) Door() *doors.Door { return s.Bound }

// Close closes the listener and the connections queued in the kernel; Seal first lets those be
// accepted.
func (l *Listener) Close() error {
	if l.handed != nil {
		l.handed.end()
	}
	return l.tcp.Close()
}

// Seal makes Accept return the queued connections and then net.ErrClosed; after HandOver, those
// until its end. It returns immediately.
func (l *Listener) Seal() {
	l.LameDuck()
	if l.handed != nil {
		l.sealed.Store(true)
		return
	}
	if raw, err := l.tcp.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { SealSocket(int(fd)) })
	}
	l.sealed.Store(true)
	l.tcp.SetDeadline(time.Now().Add(Handshake))
}

// Accept returns the next connection, a *Conn. After an error that is not temporary, Drain expects
// no more connections.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.accept()
	if passing, ok := err.(interface{ Temporary() bool }); err != nil && (!ok || !passing.Temporary()) {
		l.accepted.Store(true)
	}
	return c, err
}

func (l *Listener) accept() (net.Conn, error) {
	if l.handed != nil {
		return l.handed.next()
	}
	for {
		c, err := doors.Accept(l.Door, l.tcp.AcceptTCP)
		if err == nil {
			return l.add(Handed{TCPConn: c, Gone: l.Door.Leave}), nil
		}
		if !l.sealed.Load() || !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, err
		}
		if !readable(l.tcp) {
			l.tcp.Close()
			return nil, net.ErrClosed
		}
		l.tcp.SetDeadline(time.Now().Add(Handshake)) // the client may be gone before its connection is accepted
	}
}

func (l *Listener) add(from Handed) *Conn {
	c := &Conn{TCPConn: from.TCPConn, owner: l, unread: from.Unread, gone: sync.OnceFunc(from.Gone), served: from.Served, origin: from.Origin, stay: from.Stay}
	l.mu.Lock()
	l.conns[c] = struct{}{}
	l.mu.Unlock()
	return c
}

func (l *Listener) remove(c *Conn) {
	l.mu.Lock()
	delete(l.conns, c)
	l.mu.Unlock()
}

// Drain closes each connection that has no request in progress and was silent for a lull. It
// returns when none is left and Accept has failed permanently, or when ctx ends, and returns how
// many are left. Call Seal first, and keep calling Accept meanwhile: connections that end make room
// for queued ones.
func (l *Listener) Drain(ctx context.Context) (left int) {
	tick := time.NewTicker(Lull / looks)
	defer tick.Stop()
	for {
		accepted := l.accepted.Load()
		if left = l.endQuiet(); left == 0 && accepted {
			return 0
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return left
		}
	}
}

// endQuiet checks each connection and returns how many there are.
func (l *Listener) endQuiet() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		now := uint64(c.turns.Load())<<32 | uint64(c.reads.Load())
		if c.quiet++; now != c.seen {
			c.seen, c.quiet = now, 0
		}
		if c.quiet >= looks && !c.shakesHands() {
			c.ask()
		}
	}
	return len(l.conns)
}

// CutOff closes all remaining connections, including those with a request in progress.
func (l *Listener) CutOff() {
	l.cut.Store(true)
	l.mu.Lock()
	left := make([]*Conn, 0, len(l.conns))
	for c := range l.conns {
		left = append(left, c)
	}
	l.mu.Unlock()
	for _, c := range left {
		c.Close()
	}
}
