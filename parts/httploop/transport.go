package httploop

import (
	"bytes"
	"context"
	"crypto/tls"
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

	hello []byte // all that was read, until the client's first message is known
	known bool
}

// again is the error of a transport that has no bytes now. TLS continues after a temporary one.
type again struct{}

func (again) Error() string   { return "no bytes have arrived" }
func (again) Timeout() bool   { return true }
func (again) Temporary() bool { return true }

func (t *transport) Read(b []byte) (n int, err error) {
	switch {
	case len(t.in) > 0:
		n = copy(b, t.in)
		t.in = t.in[n:]
	case t.Conn != nil:
		n, err = t.Conn.Read(b)
	case t.ended:
		err = io.EOF
	default:
		err = again{}
	}
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
	config *tls.Config
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	count  atomic.Int64 // in progress
}

func newShakes(o *Options) *shakes {
	s := &shakes{config: o.overTLS()}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

func (s *shakes) open() int64 {
	if s == nil {
		return 0
	}
	return s.count.Load()
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
