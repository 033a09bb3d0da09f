// Package otlp receives distributed traces during a run (OTLP/HTTP, protobuf and JSON) and breaks
// the latency of requests down by span: how long each step of each transaction took, and how much
// of that was spent outside its child spans.
//
// It is not a store of traces: it keeps only a span's place in the trace and its times, and does
// not even decode attributes. Package diagnose interprets the figures.
//
// A Receiver owns the goroutines of its HTTP server; they have ended when Close returns. Everything
// that it keeps is bounded, and it counts what exceeds a bound: see Losses.
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

// Path is the path to which exporters POST traces.
const Path = "/v1/traces"

// Bounds of the server.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 30 * time.Second
	closeTimeout  = 2 * time.Second // time limit for requests in progress when Close is called
)

// Receiver receives traces until it is closed. Its methods are safe for concurrent use.
type Receiver struct {
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
	bodies   chan struct{} // semaphore of the handlers, which hold a token each

	mu     sync.Mutex // guards the fields below
	traces traces
	losses Losses
}

// Losses counts what is missing from the stages, or incomplete there. If all counts are zero, the
// stages cover everything that was sent.
type Losses struct {
	Malformed int64 // spans without valid ids or times
	TooMany   int64 // spans beyond the limit of their trace
	Early     int64 // traces closed for lack of room before they were quiet for maxQuiet
	Thinned   int64 // spans dropped for lack of room, with their whole trace
	Refused   int64 // requests that were not OTLP, or too large
}

// Listen returns a Receiver that listens on addr. It must be a loopback address (127.0.0.1:0 picks
// a free port), because there is no access control.
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
// Path to it.
func (r *Receiver) URL() string { return "http://" + r.listener.Addr().String() }

// Losses returns the losses so far.
func (r *Receiver) Losses() Losses {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.losses
	out.Early, out.Thinned = r.traces.early, r.traces.samples.thinned
	return out
}

// Close stops listening and waits for requests in progress. The spans that were received remain
// available. Call it once.
func (r *Receiver) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := r.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = r.server.Close() // makes handlers that read a body fail
	}
	r.serving.Wait()
	for range maxBodies {
		r.bodies <- struct{}{} // wait for the handlers, which hold these tokens
	}
	return err
}

// wallOffset returns the offset that turns Unix time into CLOCK_MONOTONIC, in ns. It uses the
// fastest of several readings, so that a preemption between reading the two clocks does not shift
// every span.
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
