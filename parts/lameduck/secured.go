package lameduck

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"time"
)

// secured is a connection of HTTP/1 over TLS whose bytes are followed. net/http takes the state of
// its TLS from ConnectionState.
type secured struct {
	*tls.Conn
	framing framing
	early   []byte // read before
	known   *Conn  // below; nil: over a listener of another kind
}

func (c *secured) Read(p []byte) (n int, err error) {
	if len(c.early) > 0 {
		n = copy(p, c.early)
		if c.early = c.early[n:]; len(c.early) == 0 {
			c.early = nil
		}
	} else if c.known != nil && c.known.returns(&c.framing) {
		return 0, io.EOF
	} else {
		n, err = c.Conn.Read(p)
	}
	c.framing.read(p[:n])
	return n, err
}

// Close leaves alone what has returned to another server.
func (c *secured) Close() error {
	if c.known != nil && !c.known.becomes(closed) {
		return nil
	}
	return c.Conn.Close()
}

// TLS returns a listener over a Listener whose connections have TLS.
func TLS(l *Listener, config *tls.Config) net.Listener { return &overTLS{l, config} }

type overTLS struct {
	*Listener
	config *tls.Config
}

func (l *overTLS) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if known := c.(*Conn); known.over != nil {
		return known.over, nil
	}
	return tls.Server(c, l.config), nil
}

// handshakes is a listener that returns connections with TLS when their handshake is over: only
// then it is known whether they are of HTTP/1, and secured, or of HTTP/2, which net/http serves on
// a *tls.Conn alone. It owns a goroutine for each handshake in progress.
type handshakes struct {
	net.Listener
	timeout time.Duration

	ctx      context.Context // of the handshakes
	cancel   context.CancelFunc
	accepted chan net.Conn
	err      error         // of the listener
	failed   chan struct{} // closed when err is set and no handshake is left
	tasks    sync.WaitGroup
}

// shakeHands returns a listener over TLS listener l. Its Close must be called, and waits.
func shakeHands(l net.Listener, timeout time.Duration) *handshakes {
	h := &handshakes{Listener: l, timeout: timeout, accepted: make(chan net.Conn), failed: make(chan struct{})}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	go h.run()
	return h
}

func (h *handshakes) run() {
	defer close(h.failed)
	for {
		c, err := h.Listener.Accept()
		if err != nil {
			h.tasks.Wait()
			h.err = err
			return
		}
		h.tasks.Go(func() {
			c = h.shake(c)
			select {
			case h.accepted <- c:
			case <-h.ctx.Done():
				c.Close()
			}
		})
	}
}

// shake returns a connection when its handshake is over. net/http reports a failure of it.
func (h *handshakes) shake(c net.Conn) net.Conn {
	over, ok := c.(*tls.Conn)
	if !ok {
		return c
	}
	known := Of(over)
	if h.timeout > 0 {
		c.SetDeadline(time.Now().Add(h.timeout))
	}
	err := over.HandshakeContext(h.ctx)
	c.SetDeadline(time.Time{})
	if err != nil || over.ConnectionState().NegotiatedProtocol == "h2" {
		return c
	}
	s := &secured{Conn: over, known: known}
	if known != nil {
		s.early, known.early = known.early, nil
	}
	return s
}

// Accept returns the listener's error when the last handshake is over.
func (h *handshakes) Accept() (net.Conn, error) {
	select {
	case c := <-h.accepted:
		return c, nil
	case <-h.failed:
		return nil, h.err
	}
}

// abandon ends the handshakes in progress, and waits for their goroutines. The listener is closed.
func (h *handshakes) abandon() {
	h.cancel()
	<-h.failed
}
