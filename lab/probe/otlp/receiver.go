// Package otlp listens for distributed traces while a run goes on (OTLP/HTTP, protobuf and JSON) and
// breaks the latency of requests down by the spans in them: which step of which transaction took how
// long, and how much of that was spent in none of its parts.
//
// It is not a store of traces: of a span nothing is kept but its place in the trace and its times, and
// attributes are not even decoded. What the figures mean for a service is for others to say (diagnose).
//
// A Receiver owns its HTTP server's goroutines; they have ended when Close returns. Everything it keeps
// is bounded, and what went beyond a bound is counted: see Losses.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"dyno/agent/monotonic"
)

// Path is where traces are posted.
const Path = "/v1/traces"

// Bounds of the server.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 30 * time.Second
	closeTimeout  = 2 * time.Second // for requests under way when the Receiver is closed
)

// Receiver takes traces until it is closed. Its methods are safe for concurrent use.
type Receiver struct {
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
	bodies   chan struct{} // a token for each body being read

	mu     sync.Mutex // guards the fields below
	traces traces
	losses Losses
}

// Losses is what a Receiver did not count, and why. All zero: the stages rest on everything that was sent.
type Losses struct {
	Malformed int64 // spans without valid ids or times
	TooMany   int64 // spans beyond what is kept of one trace
	Early     int64 // traces that were closed before they were quiet, for want of room
	Thinned   int64 // spans left out, with all of their trace, for want of room
	Refused   int64 // requests that were not OTLP, or too large
}

// Listen takes traces on addr, which must be a loopback address (127.0.0.1:0 picks a free port): there is
// no access control.
func Listen(addr string) (*Receiver, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for traces: %w", err)
	}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		l.Close()
		return nil, fmt.Errorf("listening for traces: %s is open beyond loopback, and whoever reaches it could send; give 127.0.0.1:0", addr)
	}
	r := &Receiver{listener: l, bodies: make(chan struct{}, maxBodies), traces: newTraces(wallOffset())}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Path, r.post)
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout}
	r.serving.Go(func() { r.server.Serve(l) }) // it ends with an error always
	return r, nil
}

// URL is what an exporter is given as its endpoint (--otlp, OTEL_EXPORTER_OTLP_ENDPOINT); it adds Path.
func (r *Receiver) URL() string { return "http://" + r.listener.Addr().String() }

// Losses returns what was not counted so far.
func (r *Receiver) Losses() Losses {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.losses
	out.Early, out.Thinned = r.traces.early, r.traces.samples.thinned
	return out
}

// Close stops listening and waits for what is under way. What was received can still be asked for.
func (r *Receiver) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := r.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = r.server.Close() // ends the reading of bodies
	}
	r.serving.Wait()
	for range maxBodies {
		r.bodies <- struct{}{} // and with it the handlers
	}
	return err
}

// wallOffset is what must be added to a Unix time in ns to have it on CLOCK_MONOTONIC. The tightest of a
// few readings counts, so that a preemption between the two clocks does not shift every span.
func wallOffset() int64 {
	best, offset := int64(1<<62), int64(0)
	for range 16 {
		before := monotonic.Now()
		wall := time.Now().UnixNano()
		after := monotonic.Now()
		if width := after - before; width < best {
			best, offset = width, before+width/2-wall
		}
	}
	return offset
}
