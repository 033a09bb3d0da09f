// Package lameduck ends an HTTP server without losing a request. A server that receives SIGTERM is a lame duck for a
// while: it still accepts and answers, so that load balancers have the time to see that it is no longer ready, and each
// answer says Connection: close. Then the listener is sealed: the kernel takes no further connections, and those that it
// took are accepted. At the end, connections on which nothing happens are closed, one by one, when no byte waits on
// them and no TLS handshake is under way.
//
// Listener does that for connections, whatever reads HTTP from them; Server does it for net/http's server. What cannot be
// closed is the race of TCP itself: a request that is still on its way when an idle connection is closed. HTTP clients
// send such a request again (RFC 9112, 9.3.1).
//
// It does not decide when a process stops (parts/daemon does), and knows nothing of streams: their handlers end them. A
// Server owns no goroutines but those of the http.Server and, while it drains, one for each TLS handshake under way.
package lameduck

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Lull is for how long nothing must have happened on a connection before it is closed: a client that keeps sending
	// has its next request on the way well before that, and an answer has arrived.
	Lull = 250 * time.Millisecond

	looks = 5 // at each connection within a lull

	// Handshake is how long a client may take to complete a connection that the kernel has begun when the listener is
	// sealed: a round trip to the other side of a continent.
	Handshake = 100 * time.Millisecond

	// lingering bounds what is read, and thrown away, of a client that goes on sending after the last answer. A close
	// with unread bytes would have the kernel reset the connection, and the reset would overtake the answer.
	lingering = 256 << 10
)

// Listener hands out the connections of a TCP listener and ends them.
type Listener struct {
	tcp     *net.TCPListener
	leaving atomic.Bool // answers say Connection: close
	sealed  atomic.Bool
	cut     atomic.Bool // what is closed now is cut off

	mu    sync.Mutex
	conns map[*Conn]struct{}

	handed *handed // nil: Accept accepts

	accepted atomic.Bool // Accept has failed for good
}

// Listen returns a Listener over l.
func Listen(l *net.TCPListener) *Listener { return &Listener{tcp: l, conns: map[*Conn]struct{}{}} }

// LameDuck has Leaving report true from now on.
func (l *Listener) LameDuck() { l.leaving.Store(true) }

// Leaving reports whether answers must say Connection: close.
func (l *Listener) Leaving() bool { return l.leaving.Load() }

// Addr returns the listener's address.
func (l *Listener) Addr() net.Addr { return l.tcp.Addr() }

// TCP returns the listener beneath, for a server that accepts connections itself. It calls SealSocket before its last accepts.
func (l *Listener) TCP() *net.TCPListener { return l.tcp }

// Close closes the listener with what the kernel has queued there; Seal before it lets that be accepted.
func (l *Listener) Close() error {
	if l.handed != nil {
		l.handed.end()
	}
	return l.tcp.Close()
}

// Seal has Accept return the connections that are queued, and then net.ErrClosed; with HandOver, those until its end. It
// returns immediately.
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

// Accept returns the next connection, a *Conn. After an error that is not temporary, Drain expects no more of them.
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
		c, err := l.tcp.AcceptTCP()
		if err == nil {
			return l.add(c, nil, func() {}), nil
		}
		if !l.sealed.Load() || !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, err
		}
		if !readable(l.tcp) {
			l.tcp.Close()
			return nil, net.ErrClosed
		}
		l.tcp.SetDeadline(time.Now().Add(Handshake)) // its client may be gone before it is accepted
	}
}

func (l *Listener) add(tcp *net.TCPConn, unread []byte, gone func()) *Conn {
	c := &Conn{TCPConn: tcp, owner: l, unread: unread, gone: gone}
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

// Drain ends each connection on which no request is under way when nothing has happened on it for a lull. It returns
// when none is left and Accept has failed for good, or when ctx ends, and says how many are left. Seal comes
// before it, and Accept is called meanwhile: connections that end make room for those that are queued.
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

// endQuiet looks at each connection and returns how many there are.
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

// CutOff closes all connections that are left, whatever is under way on them.
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

// Conn is a connection that knows whether a request is under way on it. One goroutine serves it, which calls Begin, End
// and Close.
type Conn struct {
	*net.TCPConn
	owner *Listener
	turns atomic.Uint32 // odd while a request is under way; goes up when one begins and when it ends
	reads atomic.Uint32 // that had bytes of the next request
	head  heads         // of what is read

	unread []byte // which another server read before it handed the connection over
	gone   func() // called when it is closed

	mu    sync.Mutex // so that a connection is asked only while no request is under way
	asked asked      // to give up waiting for a request
	own   time.Time  // the server's deadline for reads

	handshake handshake // of TLS over it

	seen  uint64 // turns and reads when Drain looked last
	quiet int    // looks since they changed
}

// Of returns the Conn that c is, or that c carries TLS over; nil: neither.
func Of(c net.Conn) *Conn {
	over, ok := c.(*tls.Conn)
	if ok {
		c = over.NetConn()
	}
	known, _ := c.(*Conn)
	if known != nil && over != nil {
		known.handshake.of.Store(over)
	}
	return known
}

// Begin says that a request has begun, again for each that came together with another.
func (c *Conn) Begin() {
	if c.Busy() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns.Add(1)
	c.unask()
}

// Busy reports whether a request is under way.
func (c *Conn) Busy() bool { return c.turns.Load()&1 == 1 }

// End says that all answers are sent and the next request is waited for.
func (c *Conn) End() {
	if c.Busy() {
		c.turns.Add(1)
	}
}

// Release leaves the connection to others: Drain does not look at it any more, nor wait for it.
func (c *Conn) Release() { c.owner.remove(c) }

// asked is how far a connection is on its way out.
type asked int

const (
	notAsked asked = iota
	toEnd          // when a Read has waited a lull for bytes
	waiting        // it does
)

// ask has a Read under way return, which alone knows for sure whether it has taken bytes. While a request is under way the
// deadlines are the server's own, by which it watches for clients that go away.
func (c *Conn) ask() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.Busy() && c.asked != waiting {
		c.asked = toEnd
		c.TCPConn.SetReadDeadline(time.Unix(1, 0))
	}
}

// unask is called with mu held, when bytes came after all. The server's own deadline holds again.
func (c *Conn) unask() {
	if c.asked != notAsked {
		c.asked = notAsked
		c.TCPConn.SetReadDeadline(c.own)
	}
}

// SetDeadline sets the server's deadlines, as SetReadDeadline does.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline sets the server's deadline for reads.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own = t
	return c.TCPConn.SetReadDeadline(t)
}

// Read returns io.EOF when the connection is to end and no byte waits on it.
func (c *Conn) Read(p []byte) (n int, err error) {
	for {
		n, err = c.read(p)
		if c.Busy() || n == 0 && err == nil {
			// Net/http reads 1 byte while it waits for a handler: the first of the next head at most, which says nothing.
			c.head.ahead = c.head.ahead || n > 0 && len(p) > 1
			return n, err
		}
		if n > 0 {
			c.arrived(p[:n])
			return n, err
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || !c.onItsWay() {
			return n, err
		}
		if c.ends() {
			return 0, io.EOF
		}
	}
}

func (c *Conn) read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		return c.TCPConn.Read(p)
	}
	n := copy(p, c.unread)
	if c.unread = c.unread[n:]; len(c.unread) == 0 {
		c.unread = nil
	}
	return n, nil
}

// arrived keeps what a request begins with.
func (c *Conn) arrived(p []byte) {
	c.reads.Add(1)
	c.head.add(c.turns.Load(), p)
	if c.owner.Leaving() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unask()
	}
}

func (c *Conn) onItsWay() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked != notAsked
}

// ends decides on a Read that ended without bytes: a client gets a lull from when the server waits for it, as that may have
// been what took long.
func (c *Conn) ends() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case readable(c.TCPConn):
		c.unask()
	case c.asked == waiting:
		return true
	default:
		c.asked = waiting
		c.TCPConn.SetReadDeadline(time.Now().Add(Lull))
	}
	return false
}

// Close waits, on the way out, until the client has read the last answer, or for a lull.
func (c *Conn) Close() error {
	if c.Busy() && c.owner.Leaving() && !c.owner.cut.Load() && c.CloseWrite() == nil {
		c.TCPConn.SetReadDeadline(time.Now().Add(Lull))
		io.CopyN(io.Discard, c.TCPConn, lingering)
	}
	err := c.TCPConn.Close()
	c.owner.remove(c)
	c.gone()
	return err
}
