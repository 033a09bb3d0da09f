package httploop

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// transport carries the records of TLS: over a connection during the handshake, and again when the
// loop has handed it over; in memory meanwhile.
type transport struct {
	net.Conn // nil means memory

	in    []byte // received, but not read by TLS
	out   []byte // written by TLS, but not sent
	ended bool   // in is all that will come
	cut   cut    // where TLS is in the records that it reads

	hello []byte // all that was read, until the client's first message is known
	known bool

	shakes *shakes   // nil means that no handshake is counted
	until  time.Time // when the handshake must be over
	heard  bool      // guarded by shakes.mu: the client has sent something
}

// cut follows the records of a stream: one may have no data, such as that with a client's new keys.
type cut struct {
	head [5]byte // of a record: its type, version and length
	have int     // bytes of head
	left int     // bytes of the record's rest
}

func (c *cut) read(b []byte) {
	for len(b) > 0 {
		if c.left > 0 {
			n := min(c.left, len(b))
			c.left, b = c.left-n, b[n:]
			continue
		}
		n := copy(c.head[c.have:], b)
		if c.have, b = c.have+n, b[n:]; c.have == len(c.head) {
			c.have, c.left = 0, int(binary.BigEndian.Uint16(c.head[3:]))
		}
	}
}

// within reports whether a record has begun that is not whole.
func (c *cut) within() bool { return c.have > 0 || c.left > 0 }

// again is the error of a transport that has no bytes now. TLS continues after a temporary one.
type again struct{}

func (again) Error() string   { return "no bytes have arrived" }
func (again) Timeout() bool   { return true }
func (again) Temporary() bool { return true }

func (t *transport) Read(b []byte) (n int, err error) {
	switch {
	case len(t.in) > 0:
		n = copy(b, t.in)
		if t.in = t.in[n:]; len(t.in) == 0 {
			t.in = nil
		}
	case t.Conn != nil:
		if n, err = t.Conn.Read(b); n > 0 && t.shakes != nil {
			t.shakes.hear(t)
		}
	case t.ended:
		err = io.EOF
	default:
		err = again{}
	}
	t.cut.read(b[:n])
	if !t.known {
		t.hello = append(t.hello, b[:n]...)
	}
	return n, err
}

func (t *transport) Write(b []byte) (int, error) {
	switch {
	case !t.known: // an alert, but another server may be the one to answer
		return len(b), nil
	case t.Conn != nil:
		return t.Conn.Write(b)
	}
	t.out = append(t.out, b...)
	return len(b), nil
}

// SetWriteDeadline does nothing in memory, where no write waits. tls.Conn calls it to close.
func (t *transport) SetWriteDeadline(at time.Time) error {
	if t.Conn != nil {
		return t.Conn.SetWriteDeadline(at)
	}
	return nil
}

// NetConn is the connection below, for lameduck.Of.
func (t *transport) NetConn() net.Conn { return t.Conn }

// errElsewhere ends the handshake of a client that another server must serve.
var errElsewhere = errors.New("the client offers HTTP/2")

// keep copies what TLS has not read yet: the loop receives others' bytes in the same memory.
func (t *transport) keep() {
	if len(t.in) == 0 {
		t.in = nil
		return
	}
	t.in = bytes.Clone(t.in)
}

// overTLS returns the configuration of the loops' handshakes: one, so that a client can resume its
// session on any. A client that offers HTTP/2 is the other server's, as soon as its first message
// has arrived.
func (o *Options) overTLS() *tls.Config {
	c := o.TLS.Clone()
	inner := c.GetConfigForClient
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if o.Leave != nil && slices.Contains(c.NextProtos, "h2") && slices.Contains(hello.SupportedProtos, "h2") {
			return nil, errElsewhere
		}
		t := hello.Conn.(*transport)
		t.known, t.hello = true, nil
		if inner == nil {
			return nil, nil
		}
		return inner(hello)
	}
	return c
}

// shakes makes TLS handshakes, each in a goroutine. A nil one has none.
type shakes struct {
	mu     sync.Mutex
	silent map[*transport]struct{} // clients that have sent nothing yet
	hasty  time.Duration           // that they may take for their first bytes; 0 means until the handshake's limit

	config *tls.Config
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	count  atomic.Int64 // in progress
}

func newShakes(o *Options) *shakes {
	s := &shakes{config: o.overTLS(), silent: map[*transport]struct{}{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

func (s *shakes) open() int64 {
	if s == nil {
		return 0
	}
	return s.count.Load()
}

// begin counts a handshake over a connection, until its end.
func (s *shakes) begin(c net.Conn, within time.Duration) *transport {
	t := &transport{Conn: c, shakes: s, until: time.Now().Add(within)}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.SetDeadline(t.until)
	if s.hasty > 0 {
		c.SetReadDeadline(time.Now().Add(s.hasty))
	}
	s.silent[t] = struct{}{}
	return t
}

// hear gives a client that has begun all the time of a handshake.
func (s *shakes) hear(t *transport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.heard {
		return
	}
	t.heard = true
	delete(s.silent, t)
	if s.hasty > 0 {
		t.Conn.SetReadDeadline(t.until)
	}
}

// finish forgets a handshake.
func (s *shakes) finish(t *transport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.silent, t)
	t.Conn.SetDeadline(time.Time{})
	t.shakes = nil
}

// hasten gives clients that have sent nothing a last moment for it: a server that drains waits for
// handshakes, and would wait for connections that clients open in advance.
func (s *shakes) hasten(lull time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hasty = lull
	for t := range s.silent {
		t.Conn.SetReadDeadline(time.Now().Add(lull))
	}
}

// cutOff ends the handshakes in progress.
func (s *shakes) cutOff() {
	if s != nil {
		s.cancel()
	}
}

// end cuts off what is in progress, and waits.
func (s *shakes) end() {
	if s.cutOff(); s != nil {
		s.tasks.Wait()
	}
}
