package lameduck

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is a connection that tracks whether a request is in progress on it. One goroutine serves it,
// and calls Begin, End and Close.
type Conn struct {
	*net.TCPConn
	owner   *Listener
	turns   atomic.Uint32 // odd while a request is in progress; incremented when one begins and when it ends
	reads   atomic.Uint32 // reads that returned bytes of the next request, and those of a body
	body    atomic.Bool   // the handler waits for bytes of the request's body
	half    bool          // that body was cut off
	framing *framing      // of its requests; nil: over TLS, or not followed

	unread []byte // read by another server before it passed the connection on
	gone   func() // called on close, once or several times
	served func() // called for each request; nil: not counted
	origin Origin // that server, if the connection may return to it; nil: it stays
	stay   uint64 // requests that it has here before
	fate   atomic.Int32

	mu    sync.Mutex // a connection is asked only while no request is in progress
	asked asked      // to stop waiting for a request
	own   time.Time  // the server's read deadline

	handshake handshake // TLS handshake over this connection
	over      *tls.Conn // TLS of which another server made the handshake; nil means none
	early     []byte    // what that server has read of it

	seen  uint64 // turns and reads at Drain's last check
	quiet int    // checks since they changed
}

// Of returns the Conn that c is, or that carries c's TLS; nil if neither.
func Of(c net.Conn) *Conn {
	over := tlsOf(c)
	if over != nil {
		c = over.NetConn()
		if carrier, ok := c.(interface{ NetConn() net.Conn }); ok {
			c = carrier.NetConn()
		}
	}
	known, _ := c.(*Conn)
	if known != nil && over != nil {
		known.handshake.of.Store(over)
	}
	return known
}

func tlsOf(c net.Conn) *tls.Conn {
	switch over := c.(type) {
	case *tls.Conn:
		return over
	case *secured:
		return over.Conn
	}
	return nil
}

// Begin marks the start of a request. It is called again for each request that arrived together
// with another.
func (c *Conn) Begin() {
	if c.Busy() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns.Add(1)
	c.unask()
}

// Busy reports whether a request is in progress.
func (c *Conn) Busy() bool { return c.turns.Load()&1 == 1 }

// End marks that all responses are sent and the server waits for the next request.
func (c *Conn) End() {
	if c.Busy() {
		c.turns.Add(1)
	}
}

// Release removes the connection from the listener: Drain neither checks it nor waits for it.
func (c *Conn) Release() { c.owner.remove(c) }

// asked is the progress of closing a connection.
type asked int

const (
	notAsked asked = iota
	toEnd          // a Read returns the end after a lull without bytes
	waiting        // that lull has begun
)

// ask interrupts a Read that waits: only the reader knows for sure whether it has received bytes.
// While a handler works the deadlines remain those of the server, which uses them to notice clients
// that leave.
func (c *Conn) ask() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if (!c.Busy() || c.body.Load()) && c.asked != waiting {
		c.asked = toEnd
		c.TCPConn.SetReadDeadline(time.Unix(1, 0))
	}
}

// unask undoes ask when bytes arrived after all. It restores the server's own deadline. The caller
// holds mu.
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

// SetReadDeadline sets the server's read deadline.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own = t
	return c.TCPConn.SetReadDeadline(t)
}

// Read returns io.EOF when the connection should end and no byte waits on it.
func (c *Conn) Read(p []byte) (n int, err error) {
	if c.Busy() {
		return c.readBusy(p)
	}
	if c.framing != nil && c.returns(c.framing) {
		return 0, io.EOF
	}
	for {
		n, err = c.read(p)
		if n == 0 && err == nil {
			return n, err
		}
		if n > 0 {
			c.arrived()
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

// readBusy reads while a request is in progress. net/http reads 1 byte while it waits for a
// handler: at most the first of the next head, which proves nothing. More is of the body, which is
// cut off when it stops arriving while the connection should end.
func (c *Conn) readBusy(p []byte) (n int, err error) {
	body := len(p) > 1 && c.handshake.of.Load() == nil
	if body {
		c.reads.Add(1)
		c.body.Store(true)
	}
	for n, err = c.read(p); n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && c.onItsWay(); n, err = c.read(p) {
		if !body {
			c.goOn()
		} else if c.ends() {
			if !c.half {
				c.half = true
				c.owner.halves.Add(1)
			}
			break
		}
	}
	c.body.Store(false)
	if n > 0 && c.owner.Leaving() {
		c.goOn()
	}
	return n, err
}

func (c *Conn) read(p []byte) (n int, err error) {
	if len(c.unread) == 0 {
		n, err = c.TCPConn.Read(p)
	} else {
		n = copy(p, c.unread)
		if c.unread = c.unread[n:]; len(c.unread) == 0 {
			c.unread = nil
		}
	}
	if c.framing != nil {
		c.framing.read(p[:n])
	}
	return n, err
}

// arrived records the first bytes of a request.
func (c *Conn) arrived() {
	c.reads.Add(1)
	if c.owner.Leaving() {
		c.goOn()
	}
}

// goOn undoes ask.
func (c *Conn) goOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unask()
}

func (c *Conn) onItsWay() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked != notAsked
}

// ends decides on a Read that ended without bytes. The lull counts from when the server starts to
// wait for the client, since the server's own work may have taken long.
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

// Close of an ending connection first waits until the client has read the last response, or for a
// lull. It leaves a connection alone that has returned to another server.
func (c *Conn) Close() error {
	if !c.becomes(closed) {
		return nil
	}
	if c.Busy() && c.owner.Leaving() && !c.owner.cut.Load() && c.CloseWrite() == nil {
		c.TCPConn.SetReadDeadline(time.Now().Add(Lull))
		io.CopyN(io.Discard, c.TCPConn, lingering)
	}
	err := c.TCPConn.Close()
	c.owner.remove(c)
	c.gone()
	return err
}
