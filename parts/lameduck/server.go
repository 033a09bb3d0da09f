package lameduck

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server is a net/http server that ends as this package says. It also refuses requests of which it is not sure where they end
// (framing.go), as it sees the bytes that net/http hides.
type Server struct {
	*http.Server
	listener *Listener
	served   chan struct{} // closed when Serve has returned
}

// NewServer returns a Server over s for connections of l. It takes s.ConnState and s.ConnContext for itself.
func NewServer(s *http.Server, l *Listener) *Server {
	handler := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.Leaving() {
			w.Header()["Connection"] = []string{"close"} // over HTTP/2 this is a GOAWAY
		}
		if len(r.TransferEncoding) > 0 && r.ProtoMajor == 1 && ambiguous(w, r) {
			return
		}
		handler.ServeHTTP(w, r)
	})
	s.ConnState, s.ConnContext = follow, func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	return &Server{s, l, make(chan struct{})}
}

// follow keeps a Conn informed of what net/http does with it.
func follow(c net.Conn, state http.ConnState) {
	known := Of(c)
	if known == nil {
		return
	}
	switch state {
	case http.StateActive:
		known.Begin()
		if over, ok := c.(*tls.Conn); ok && over.ConnectionState().NegotiatedProtocol == "h2" {
			known.Release() // Shutdown says GOAWAY there, and waits
		}
	case http.StateIdle:
		known.End()
	case http.StateHijacked:
		known.Release()
	}
}

// Serve serves the listener that NewServer got, or TLS over it, and returns http.ErrServerClosed when that was sealed.
func (s *Server) Serve(over net.Listener) error {
	defer close(s.served)
	err := s.Server.Serve(over)
	if s.listener.sealed.Load() {
		return http.ErrServerClosed
	}
	return err
}

// LameDuck has all answers say Connection: close from now on.
func (s *Server) LameDuck() { s.listener.LameDuck() }

// Drain seals the listener, answers what is under way and ends all connections. What is left when ctx ends is cut off,
// which is an error. Serve has been called.
func (s *Server) Drain(ctx context.Context) error {
	began := time.Now()
	s.listener.Seal()
	s.listener.Drain(ctx)
	s.listener.Close() // to what comes after the end of ctx
	<-s.served
	err := s.Server.Shutdown(ctx)
	if err == nil {
		return nil
	}
	s.listener.CutOff()
	s.Server.Close()
	return fmt.Errorf("requests were still under way after %v and were cut off", time.Since(began).Round(time.Millisecond))
}

// Stop is what follows SIGTERM in a program that parts/daemon does not run: a time as a lame duck, and Drain within
// another.
func (s *Server) Stop(window, drain time.Duration) error {
	s.LameDuck()
	time.Sleep(window)
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	return s.Drain(ctx)
}
