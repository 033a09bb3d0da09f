// Package live shows a folder of experiments in a browser: the list of them, each one's page as report
// draws it, the runs of one that is still going on while they go on, and any two beside one another.
//
// It reads folders and nothing else: it neither runs experiments nor talks to the process that does, so
// that it can be started, stopped and crash beside a measurement without touching it. It judges nothing
// itself; what it says comes from report. It writes nothing.
//
// What it serves is for the people at this machine. It answers to localhost and to IP addresses, not to
// names that somebody else's DNS can point here, and not to other sites' pages.
//
// Serve owns its goroutines: one that accepts, and net/http's, one a connection. A stream of events is
// read from the disk by the goroutine of its own connection; a client that does not take what it is
// sent is dropped, and nobody else waits for it. All have ended when Serve returns.
package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// Bounds on what clients may hold.
const (
	maxConnections = 128
	maxStreams     = 32               // clients that watch a run at once
	maxHeader      = 16 << 10         // bytes
	headerTime     = 5 * time.Second  // for a request to arrive
	idleTime       = 60 * time.Second // a connection without one
	answerTime     = time.Minute      // for a page to be built and taken
	graceTime      = time.Second      // for answers under way, when the server ends
)

// Server shows the experiments of one folder.
type Server struct {
	shelf   *shelf
	reports *reports
	guard   guard
	streams chan struct{} // a token for each client that watches
	pace    pace
}

// Options is what to show and to whom.
type Options struct {
	Dir string // holds a folder for each experiment; it may come into being later
	// Host is a name by which the server may be asked besides localhost and IP addresses; empty: none.
	Host string
}

// New returns a server of the experiments in a folder.
func New(o Options) *Server {
	s := newShelf(o.Dir)
	return &Server{
		shelf: s, reports: newReports(s), guard: guard{name: o.Host},
		streams: make(chan struct{}, maxStreams), pace: defaultPace,
	}
}

// Handler answers requests; it is for tests and for those who bring their own server.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]http.HandlerFunc{
		"GET /{$}":               s.list,
		"GET /run/{name}/{$}":    s.run, // not without the slash, which what the page asks for is relative to
		"GET /run/{name}/report": s.report,
		"GET /run/{name}/answer": s.answer,
		"GET /compare":           s.compare,
		"GET /assets/{file}":     serveAsset,
	} {
		mux.Handle(pattern, bounded(handle))
	}
	mux.HandleFunc("GET /run/{name}/events", s.events) // which bounds each event
	return s.guard.wrap(mux)
}

// bounded gives an answer a time limit.
func bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime)) // fails where a test has no connection
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Serve answers on a listener until the context ends or the listener fails, and closes the listener.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	serving, end := context.WithCancel(ctx)
	defer end()
	answering := make(chan struct{}, maxConnections) // a token for each request that is being answered
	handler := s.Handler()
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answering <- struct{}{}
			defer func() { <-answering }()
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return serving }, // streams end with it
	}
	stopped := make(chan error, 1)
	go func() {
		defer end()
		stopped <- srv.Serve(netutil.LimitListener(ln, maxConnections))
	}()
	<-serving.Done()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		srv.Close() // a browser holds connections open on which it has asked for nothing
	}
	err := <-stopped
	for range maxConnections {
		answering <- struct{}{} // when each has been given back, nobody answers any more
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", ln.Addr(), err)
	}
	return nil
}
