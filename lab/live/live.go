// Package live shows a folder of experiments in a browser: their list, the report page of each,
// and the runs of an experiment in progress.
//
// It only reads folders. It neither runs experiments nor communicates with the process that does,
// so that it can start, stop and crash during a measurement without affecting it. It is not for
// judging: package report does.
//
// It serves the users of this machine. It responds to localhost and to IP addresses, not to names
// that another party's DNS can point here, and not to other sites' pages.
//
// Serve owns its goroutines: one that accepts connections, and net/http's, one per connection. The
// goroutine of a connection reads its stream of events from the disk; a client that does not read
// its events is disconnected and delays no other client. All goroutines have ended when Serve
// returns.
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

// Bounds on the resources of clients.
const (
	maxConnections = 128
	maxStreams     = 32               // concurrent clients that watch a run
	maxHeader      = 16 << 10         // bytes
	headerTime     = 5 * time.Second  // for a request to arrive
	idleTime       = 60 * time.Second // for a connection without a request
	answerTime     = time.Minute      // for a page to be built and sent
	graceTime      = time.Second      // for responses in progress when the server ends
)

// Server shows the experiments of one folder.
type Server struct {
	index   *index
	reports *reports
	guard   guard
	streams chan struct{} // a token for each client that watches
	pace    pace
}

// Options are the folder and the permitted host name.
type Options struct {
	Dir string // holds a folder for each experiment; it may be created later
	// Host is a permitted host name in addition to localhost and IP addresses; empty: none.
	Host string
}

// New returns a server of the experiments in a folder.
func New(o Options) *Server {
	s := newIndex(o.Dir)
	return &Server{
		index: s, reports: newReports(s), guard: guard{name: o.Host},
		streams: make(chan struct{}, maxStreams), pace: defaultPace,
	}
}

// Handler handles requests; it is for tests and for callers with their own server.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]http.HandlerFunc{
		"GET /{$}":               s.list,
		"GET /run/{name}/{$}":    s.run, // the slash is required: the page's links are relative to it
		"GET /run/{name}/report": s.report,
		"GET /run/{name}/answer": s.answer,
		"GET /assets/{file}":     serveAsset,
	} {
		mux.Handle(pattern, bounded(handle))
	}
	mux.HandleFunc("GET /run/{name}/events", s.events) // it limits the time of each event
	return s.guard.wrap(mux)
}

// bounded limits the time of a response.
func bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		// fails in a test without a connection
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Serve serves on a listener until the context ends or the listener fails, and closes the listener.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	serving, end := context.WithCancel(ctx)
	defer end()
	answering := make(chan struct{}, maxConnections) // a token for each response in progress
	handler := s.Handler()
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answering <- struct{}{}
			defer func() { <-answering }()
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return serving }, // ends the streams
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
		srv.Close() // browsers keep connections open without requests
	}
	err := <-stopped
	for range maxConnections {
		answering <- struct{}{} // full once all responses have ended
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", ln.Addr(), err)
	}
	return nil
}
