// Package httploop is an HTTP/1.1 server on event loops instead of a goroutine per connection. A
// loop reads all ready sockets, passes the requests of this turn to the service as one slice, and
// writes the responses with one call per connection. The service can therefore check, look up or
// store many requests together, and complete each immediately or later, from any goroutine (Done).
//
// It is for services whose responses cost little more than the HTTP around them and which gain from
// batches. A request costs no goroutine switch, no timer, no allocation, and no read that finds
// nothing. TLS is crypto/tls, over memory. It is not for HTTP/2, WebSocket or streams: those need
// net/http or fasthttp. It runs on Linux (epoll); elsewhere New returns ErrUnsupported.
//
// Package wire refuses more requests than net/http does. A connection without a request has no
// buffer, except for what crypto/tls keeps: up to 40 KiB after large records, which MaxBuffered does
// not count. Everything is bounded: heads, bodies, requests in flight per connection, output that a
// client does not read, connections, and the time for each.
//
// It is here because fasthttp, which was measured first, costs ordersd more CPU per query
// (docs/reference/ordersd-measured.md, steps fitted and loop).
//
// Serve owns the goroutines of the loops and of TLS handshakes, and returns when they have ended,
// after the last request. Turn and Tick run on a loop's goroutine: they must not block, and a panic
// in them ends the process.
package httploop

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"dyno/parts/doors"
	"dyno/parts/httploop/wire"
	"dyno/parts/lameduck"
)

// ErrUnsupported means that there is no epoll, or that a listener is not a socket: see Options.TLS.
var ErrUnsupported = errors.New("httploop serves TCP sockets on Linux only; use net/http or fasthttp here")

// Options configure a Server. A zero field means the default named with it.
type Options struct {
	// Turn receives the requests that a loop has read in one turn, in their order of arrival on each
	// connection. Each must be completed with Done, once. The slice belongs to the loop again when
	// Turn returns; the requests are the service's until they are completed.
	Turn func(loop int, requests []*Request)

	// Tick is called by each loop about every 100 ms, for time limits of the service. Nil means none.
	Tick func(loop int)

	Loops   int // event loops; default half of GOMAXPROCS: goroutines that complete requests need processors, too
	MaxHead int // bytes of a request's first line and headers, and size of a read buffer; default 16 KiB
	MaxBody int // bytes; a larger body leaves, or is answered 413 without a Leave; default 64 KiB
	// MaxConnections includes those that left. Further clients are answered 503, or closed if they would
	// need a TLS handshake for that. Default 65,536. The bound of the listener's door (lameduck.Listener.Door) holds, too.
	MaxConnections int
	// MaxBuffered limits the bytes of all buffers: of requests without a response, and of unread
	// responses. Above it, clients that have read nothing of theirs for a second are cut off, and if
	// that does not suffice, a client is answered 503. Default MaxHead for each of MaxConnections.
	MaxBuffered  int
	MaxPipelined int // unanswered requests of one connection; more wait in its socket; default 64

	ReadTimeout  time.Duration // for a whole request to arrive; default 30 s
	WriteTimeout time.Duration // for a client to read what is written; default 30 s
	IdleTimeout  time.Duration // between requests; default 2 min

	// TLS makes all connections encrypted. A client that offers HTTP/2 leaves before its handshake, if
	// the configuration has "h2" and there is a Leave. Nil means that none is.
	TLS *tls.Config

	// Leave receives the connections whose request Serves does not accept, whose body is larger than
	// MaxBody, or whose bytes are not a request, with the bytes read so far: for a server that supports
	// more, such as net/http's. They no longer belong to the loop, and count towards MaxConnections
	// until Gone is called, from any goroutine, once or several times, or belong to it again after
	// its Origin has taken it. Loops and handshakes call Leave, loops call Serves, and neither may block.
	// Nil means that all requests are served and anything else is refused.
	Leave func(lameduck.Handed)

	// Serves decides on a request before its body is read: "" means that it is served, anything else
	// is the reason why not, which HandedOver counts and the log has once. It must be one of a few.
	Serves func(r *Request) (reason string)

	// Refuse writes the response to a refused request. Nil means the text, as text/plain.
	Refuse func(resp *wire.Response, text string)

	Log *slog.Logger // nil means none

	slow time.Duration // a client that has read nothing for that long gives way to others; default 1 s
	lull time.Duration // silence after which Drain ends a connection; default lameduck.Lull
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
	const minHead = 512 // bytes; any sensible head is larger
	o.MaxHead = max(o.MaxHead, minHead)
	if o.MaxBuffered = cmp.Or(o.MaxBuffered, o.MaxConnections*o.MaxHead); o.MaxBuffered < o.MaxHead {
		return o, fmt.Errorf("httploop: MaxBuffered is %d bytes, less than one request's head of %d", o.MaxBuffered, o.MaxHead)
	}
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 30*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 2*time.Minute)
	o.slow = cmp.Or(o.slow, time.Second)
	o.lull = cmp.Or(o.lull, lameduck.Lull)
	if o.Refuse == nil {
		o.Refuse = func(resp *wire.Response, text string) {
			resp.Add("Content-Type", "text/plain; charset=utf-8")
			resp.Body = append(append(resp.Body, text...), '\n')
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Stats are counts since the start.
type Stats struct {
	Connections int64  // open now, including those that left
	Buffered    int64  // bytes of their buffers
	Accepted    uint64 // connections
	Overfull    uint64 // connections refused because MaxConnections were open or MaxBuffered bytes taken
	Requests    uint64 // handed to Turn
	Turns       uint64 // calls of Turn
	Elsewhere   uint64 // had by another server on connections that left
	Refused     uint64 // answered 4xx or 5xx without the service, or cut off as too slow
}

// leaves is the line of log at the first connection that left for a reason.
const leaves = "a connection was handed over to net/http for a request, which costs more there; others for this reason are only counted, in handed_over_total"

// HandedOver returns how often a connection left, by reason.
func (s *Server) HandedOver() map[string]uint64 { return s.handed.Counts() }

type counts struct {
	connections, buffered                                   atomic.Int64
	accepted, overfull, requests, turns, elsewhere, refused atomic.Uint64
}

// Server serves HTTP/1.1 connections on event loops. New creates it.
type Server struct {
	options Options
	door    *doors.Door // logs what is refused
	shakes  *shakes     // nil means no TLS
	handed  Reasons     // of connections that left
	counts  counts
	lame    atomic.Bool // LameDuck was called

	mu      sync.Mutex
	loops   []*loop       // nil before Serve
	stopped bool          // Drain was called
	ended   chan struct{} // closed when Serve has returned
}

// New returns a server that is not serving yet.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err == nil && !supported {
		err = ErrUnsupported
	}
	if err != nil {
		return nil, err
	}
	door := &doors.Door{Name: "listen", Most: o.MaxConnections, Log: o.Log}
	s := &Server{options: o, door: door, handed: Reasons{Log: o.Log, Event: leaves}, ended: make(chan struct{})}
	if o.TLS != nil {
		s.shakes = newShakes(&s.options)
	}
	return s, nil
}

// Serve serves a listener's connections until Drain. It is called once, and closes the listener
// before it returns. The error is nil after Drain.
func (s *Server) Serve(l net.Listener) error {
	defer close(s.ended)
	defer l.Close()
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return nil
	}
	s.keepTo(l)
	loops, err := s.open(l)
	s.loops = loops
	s.mu.Unlock()
	if err != nil {
		return err
	}
	// The loops accept on a duplicate. With l closed here, the socket closes when they stop.
	l.Close()
	failed := make(chan error, len(loops))
	for _, one := range loops {
		go func() { failed <- one.run() }()
	}
	for range loops {
		err = errors.Join(err, <-failed)
	}
	s.shakes.end()
	return err
}

// keepTo applies the bound of a listener's door.
func (s *Server) keepTo(l net.Listener) {
	with, ok := l.(interface{ Door() *doors.Door })
	if !ok {
		return
	}
	if s.door = with.Door(); s.door.Most > 0 {
		s.options.MaxConnections = min(s.options.MaxConnections, s.door.Most)
	}
}

// LameDuck makes every response from now on end its connection. Connections are still accepted and
// requests answered, so that clients and load balancers have time to notice and go elsewhere.
func (s *Server) LameDuck() { s.lame.Store(true) }

// Drain makes the server a lame duck, accepts the connections that wait, and closes the listener.
// It answers all requests that arrive and ends a connection after a moment of silence, since an
// active client has sent its next request by then. It returns when Serve has ended. When ctx ends
// first, the requests in progress are cut off, which is an error: their responses are not sent, but
// Drain still waits until they are completed. It is called once, and may be called before Serve.
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
	s.shakes.cutOff()
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
		Requests: c.requests.Load(), Turns: c.turns.Load(), Elsewhere: c.elsewhere.Load(), Refused: c.refused.Load()}
}
