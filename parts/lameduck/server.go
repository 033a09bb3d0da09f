package lameduck

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is a net/http server that shuts down as the package comment describes. It also refuses
// requests whose end is ambiguous (framing.go), since it sees bytes that net/http hides.
type Server struct {
	*http.Server
	listener *Listener
	served   chan struct{} // closed when Serve has returned

	mu         sync.Mutex
	handshakes *handshakes // nil: no TLS, or not served yet
}

type (
	framingKey struct{}
	servedKey  struct{}
)

// NewServer returns a Server over s for connections of l. It sets s.ConnState and s.ConnContext.
func NewServer(s *http.Server, l *Listener) *Server {
	handler := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.Leaving() {
			w.Header()["Connection"] = []string{"close"} // over HTTP/2 this becomes GOAWAY
		}
		if f, ok := r.Context().Value(framingKey{}).(*framing); ok {
			if !f.admit(w, r) {
				return
			}
		} else if len(r.TransferEncoding) > 0 { // over a listener of another kind: nothing may follow it
			w.Header()["Connection"] = []string{"close"}
		}
		if count, ok := r.Context().Value(servedKey{}).(func()); ok {
			count()
		}
		handler.ServeHTTP(w, r)
	})
	s.ConnState, s.ConnContext = follow, func(ctx context.Context, c net.Conn) context.Context {
		if f := framingOf(c); f != nil {
			ctx = context.WithValue(ctx, framingKey{}, f)
		}
		if known := Of(c); known != nil && known.served != nil {
			ctx = context.WithValue(ctx, servedKey{}, known.served)
		}
		return ctx
	}
	return &Server{Server: s, listener: l, served: make(chan struct{})}
}

// framingOf returns what follows the requests of a connection, from the first on; nil: they are of
// HTTP/2, which has no such doubt, or of a handshake that failed.
func framingOf(c net.Conn) *framing {
	switch c := c.(type) {
	case *Conn:
		c.framing = &framing{}
		return c.framing
	case *secured:
		return &c.framing
	}
	return nil
}

// follow updates a Conn with net/http's state of the connection.
func follow(c net.Conn, state http.ConnState) {
	if state == http.StateClosed { // also if it has returned to another server, which alone uses it now
		return
	}
	known := Of(c)
	if known == nil {
		return
	}
	switch state {
	case http.StateActive:
		known.Begin()
		if over := tlsOf(c); over != nil && over.ConnectionState().NegotiatedProtocol == "h2" {
			known.Release() // Shutdown sends GOAWAY there, and waits
		}
	case http.StateIdle:
		known.End()
	case http.StateHijacked:
		known.Release()
		if s, ok := c.(*secured); ok {
			s.framing.over.Store(true)
		} else if known.framing != nil {
			known.framing.over.Store(true)
		}
	}
}

// Serve serves the listener passed to NewServer, or TLS over it, and returns http.ErrServerClosed
// after the seal.
func (s *Server) Serve(over net.Listener) error {
	defer close(s.served)
	if over != net.Listener(s.listener) {
		shaking := shakeHands(over, s.handshakeTimeout())
		defer shaking.abandon()
		defer shaking.Close()
		s.mu.Lock()
		s.handshakes = shaking
		s.mu.Unlock()
		over = shaking
	}
	err := s.Server.Serve(over)
	if s.listener.sealed.Load() {
		return http.ErrServerClosed
	}
	return err
}

// handshakeTimeout is net/http's: the shortest of the server's own; 0: none.
func (s *Server) handshakeTimeout() (shortest time.Duration) {
	for _, d := range []time.Duration{s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout} {
		if d > 0 && (shortest == 0 || d < shortest) {
			shortest = d
		}
	}
	return shortest
}

// LameDuck makes all responses carry Connection: close from now on.
func (s *Server) LameDuck() { s.listener.LameDuck() }

// Drain seals the listener, answers requests in progress and ends all connections. A handler whose
// request's body stops arriving reads os.ErrDeadlineExceeded; how many did is written to ErrorLog.
// What is left when ctx ends is cut off, which is an error. Call Serve first.
func (s *Server) Drain(ctx context.Context) error {
	began := time.Now()
	s.listener.Seal()
	s.listener.Drain(ctx)
	s.listener.Close() // for connections that arrive after the end of ctx
	s.mu.Lock()
	if s.handshakes != nil {
		s.handshakes.cancel() // those that last longer than ctx
	}
	s.mu.Unlock()
	<-s.served
	err := s.Server.Shutdown(ctx)
	if n := s.listener.halves.Load(); n > 0 && s.ErrorLog != nil {
		s.ErrorLog.Printf("%d requests had not arrived whole when the server stopped, and were refused", n)
	}
	if err == nil {
		return nil
	}
	s.listener.CutOff()
	s.Server.Close()
	return fmt.Errorf("requests were still under way after %v and were cut off", time.Since(began).Round(time.Millisecond))
}

// Stop handles SIGTERM in a program without parts/daemon: a lame duck period of window, then Drain
// for at most drain.
func (s *Server) Stop(window, drain time.Duration) error {
	s.LameDuck()
	time.Sleep(window)
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	return s.Drain(ctx)
}
