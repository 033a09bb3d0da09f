// Package httploop serves HTTP/1.1 from event loops instead of a goroutine per connection. A loop reads all sockets that
// are ready, hands the requests of this turn to the service as one slice, and writes what has been answered with one
// call per connection. The service can so check, look up or store many requests together, and complete each of
// them immediately or later, from any goroutine (Done).
//
// It is for services whose answer costs little more than the HTTP around it and which gain from batches. A request costs
// no goroutine switch, no timer, no allocation, and no read that finds nothing. It is not for TLS, HTTP/2, WebSocket or
// streams: those need net/http or fasthttp. It runs on Linux (epoll); elsewhere New returns ErrUnsupported.
//
// What it accepts is narrower than what net/http accepts (parse.go): where two readers could disagree on where a request
// ends, the answer is 400 and the connection ends. A connection without a request has no buffer. Everything is bounded:
// heads, bodies, requests in flight per connection, output that a client does not take, connections, and the time for
// each.
//
// fasthttp was measured first, as gnet and nbio are in none of the registries that this is built with: ordersd takes 25.0 us
// of CPU for an order query behind fasthttp and 14.7 us behind this (docs/reference/ordersd-measured.md).
//
// Serve owns the loops' goroutines and returns when they have ended, which is after the last request was completed. Turn
// and Tick run on a loop's goroutine: they must not block, and a panic in them ends the process.
package httploop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"dyno/parts/lameduck"
)

// ErrUnsupported is returned where there is no epoll, and for listeners that are no plain sockets, such as those of TLS.
var ErrUnsupported = errors.New("httploop serves plain TCP on Linux only; use net/http or fasthttp here")

// Options configure a Server. A zero is the default given.
type Options struct {
	// Turn receives the requests that a loop has read in one turn, in the order of their arrival on each connection.
	// Each must be completed with Done, once. The slice is the loop's again when Turn returns; the requests
	// are the service's until they are completed.
	Turn func(loop int, requests []*Request)

	// Tick is called by each loop about every 100 ms, for what the service must give up in time. Nil: nothing.
	Tick func(loop int)

	Loops          int // event loops; half of GOMAXPROCS: goroutines that complete requests need processors, too
	MaxHead        int // bytes of a request's first line and headers; 16 KiB. It is also the size of a read buffer
	MaxBody        int // bytes; 64 KiB. Beyond: 413
	MaxConnections int // with those that left, until they are closed; beyond, a client is answered 503; 65,536
	MaxBuffered    int // bytes of all connections' buffers: of requests without an answer, and answers that clients do not take; beyond, a client that sends is answered 503; MaxHead for each of MaxConnections
	MaxPipelined   int // requests of one connection that are not yet answered; more wait in its socket; 64

	ReadTimeout  time.Duration // within which a request must arrive whole; 30 s
	WriteTimeout time.Duration // within which a client must take what is written; 30 s
	IdleTimeout  time.Duration // between requests; 2 min

	// Leave receives the connections on which something comes that Serves does not want, or that is no request, with
	// what was read of it: for a server that knows more, such as net/http's. They are no longer the loop's, and count among
	// MaxConnections until gone is called, from any goroutine, once or more often.
	// Both are called by the loops, and must not block. Nil: all requests are served, and what is none is refused.
	Leave  func(c *net.TCPConn, unread []byte, gone func())
	Serves func(r *Request) bool // looks at a request without its body

	// Refuse writes the answer to what is no request, or not one that is served. Nil: the text, as text/plain.
	Refuse func(resp *Response, text string)

	Log *slog.Logger // nil: none

	lull time.Duration // for which nothing has happened on a connection that Drain ends; lameduck.Lull
}

func (o Options) withDefaults() (Options, error) {
	if o.Turn == nil {
		return o, errors.New("httploop: the options have no Turn")
	}
	if (o.Leave == nil) != (o.Serves == nil) {
		return o, errors.New("httploop: the options have one of Leave and Serves")
	}
	for _, d := range []struct {
		field *int
		value int
	}{{&o.Loops, max(1, runtime.GOMAXPROCS(0)/2)}, {&o.MaxHead, 16 << 10}, {&o.MaxBody, 64 << 10}, {&o.MaxConnections, 65_536}, {&o.MaxPipelined, 64}} {
		if *d.field = cmp.Or(*d.field, d.value); *d.field < 1 {
			return o, fmt.Errorf("httploop: a bound of %d is below 1", *d.field)
		}
	}
	o.MaxHead = max(o.MaxHead, minHead)
	if o.MaxBuffered = cmp.Or(o.MaxBuffered, o.MaxConnections*o.MaxHead); o.MaxBuffered < o.MaxHead {
		return o, fmt.Errorf("httploop: MaxBuffered is %d bytes, less than one request's head of %d", o.MaxBuffered, o.MaxHead)
	}
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 30*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 2*time.Minute)
	o.lull = cmp.Or(o.lull, lameduck.Lull)
	if o.Refuse == nil {
		o.Refuse = func(resp *Response, text string) {
			resp.Add("Content-Type", "text/plain; charset=utf-8")
			resp.Body = append(append(resp.Body, text...), '\n')
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// minHead is less than no sensible head has, in bytes.
const minHead = 512

// Stats are counts since the start.
type Stats struct {
	Connections int64  // open now, with those that left
	Buffered    int64  // bytes of their buffers
	Accepted    uint64 // connections
	Overfull    uint64 // connections refused because MaxConnections were open or MaxBuffered bytes taken
	Requests    uint64 // handed to Turn
	Turns       uint64 // calls of Turn
	Refused     uint64 // answered 4xx or 5xx without the service, or cut off by a time-out
}

// counts are what Stats reads.
type counts struct {
	connections, buffered                        atomic.Int64
	accepted, overfull, requests, turns, refused atomic.Uint64
}

// Server is made by New.
type Server struct {
	options Options
	counts  counts
	lame    atomic.Bool // LameDuck was called

	mu      sync.Mutex
	loops   []*loop       // nil before Serve
	stopped bool          // Drain was called
	ended   chan struct{} // closed when Serve has returned
}

// New returns a server that serves nothing yet.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err == nil && !supported {
		err = ErrUnsupported
	}
	if err != nil {
		return nil, err
	}
	return &Server{options: o, ended: make(chan struct{})}, nil
}

// Serve serves a listener's connections, once, until Drain. The listener is closed when it returns. The error is nil
// after Drain.
func (s *Server) Serve(l net.Listener) error {
	defer close(s.ended)
	defer l.Close()
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return nil
	}
	loops, err := s.open(l)
	s.loops = loops
	s.mu.Unlock()
	if err != nil {
		return err
	}
	// The loops have a socket of their own for it. Closed here, it is closed for good when they stop accepting.
	l.Close()
	failed := make(chan error, len(loops))
	for _, one := range loops {
		go func() { failed <- one.run() }()
	}
	for range loops {
		err = errors.Join(err, <-failed)
	}
	return err
}

// LameDuck has every answer from now on say that its connection ends, and ends it then. Connections are still accepted
// and requests answered, so that clients and load balancers have time to notice and to go elsewhere.
func (s *Server) LameDuck() { s.lame.Store(true) }

// Drain makes it a lame duck, accepts what has connected, and closes the listener; answers all requests that arrive; ends
// a connection when nothing has happened on it for a moment, since a client that goes on has its next request on
// the way by then; and returns when Serve has ended. When ctx ends before, the requests under way are cut off, which is an
// error: their answers go nowhere, but Drain still waits until they are completed. It is called once, and may be called
// before Serve.
func (s *Server) Drain(ctx context.Context) error {
	began := time.Now()
	s.LameDuck()
	s.mu.Lock()
	s.stopped = true
	loops := s.loops
	s.mu.Unlock()
	if loops == nil {
		return nil
	}
	loops[0].post(loops[0].drain)
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
	}
	var cut atomic.Int64
	for _, l := range loops {
		l.post(func() { cut.Add(int64(l.cutOff())) })
	}
	<-s.ended
	if n := cut.Load(); n > 0 {
		return fmt.Errorf("%d requests were still under way after %v and were cut off", n, time.Since(began).Round(time.Millisecond))
	}
	return nil
}

// Stats returns the counts.
func (s *Server) Stats() Stats {
	c := &s.counts
	return Stats{Connections: c.connections.Load(), Buffered: c.buffered.Load(), Accepted: c.accepted.Load(), Overfull: c.overfull.Load(),
		Requests: c.requests.Load(), Turns: c.turns.Load(), Refused: c.refused.Load()}
}
