// Package otlp receives distributed traces during a run (OTLP/HTTP, protobuf and JSON) and breaks
// the latency of requests down by span: how long each step of each transaction took, and how much
// of that was spent outside its parts.
//
// It is not a store of traces: it keeps only a span's place in the trace and its times, and does
// not even decode attributes. Interpreting the figures is left to diagnose.
//
// A Receiver owns its HTTP server's goroutines; they have ended when Close returns. Everything it
// keeps is bounded, and it counts what exceeds a bound: see Losses.
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

// Path is the path of the traces' POST requests.
const Path = "/v1/traces"

// Bounds of the server.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 30 * time.Second
	closeTimeout  = 2 * time.Second // for requests in progress when the Receiver is closed
)

// Receiver receives traces until it is closed. Its methods are safe for concurrent use.
type Receiver struct {
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
	bodies   chan struct{} // a token for each body being read

	mu     sync.Mutex // guards the fields below
	traces traces
	losses Losses
}

// Losses are the spans and requests that a Receiver did not count. All zero: the stages cover
// everything that was sent.
type Losses struct {
	Malformed int64 // spans without valid ids or times
	TooMany   int64 // spans beyond the limit of one trace
	Early     int64 // traces closed before they were quiet, for lack of room
	Thinned   int64 // spans left out with their whole trace, for lack of room
	Refused   int64 // requests that were not OTLP, or too large
}

// Listen receives traces on addr, which must be a loopback address (127.0.0.1:0 picks a free
// port), because there is no access control.
func Listen(addr string) (*Receiver, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for traces: %w", err)
	}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		l.Close()
		return nil, fmt.Errorf("listening for traces: %s is reachable beyond loopback, so any client could send; give 127.0.0.1:0", addr)
	}
	r := &Receiver{listener: l, bodies: make(chan struct{}, maxBodies), traces: newTraces(wallOffset())}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Path, r.post)
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout}
	r.serving.Go(func() { r.server.Serve(l) }) // it always returns an error
	return r, nil
}

// URL returns the endpoint for an exporter (--otlp, OTEL_EXPORTER_OTLP_ENDPOINT), which appends
// Path.
func (r *Receiver) URL() string { return "http://" + r.listener.Addr().String() }

// Losses returns the losses so far.
func (r *Receiver) Losses() Losses {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.losses
	out.Early, out.Thinned = r.traces.early, r.traces.samples.thinned
	return out
}

// Close stops listening and waits for requests in progress. The received spans stay available.
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

// wallOffset returns the difference from Unix time to CLOCK_MONOTONIC, in ns. It uses the
// tightest of a few readings, so that a preemption between the two clocks does not shift every
// span.
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
