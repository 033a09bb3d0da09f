package jsonrpc

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"dyno/parts/guard"
)

// Options of a Server.
type Options struct {
	Codec Codec // required

	HTTP   *guard.Guard // hosts, and origins whose pages may POST; nil: as guard.Options{}
	Socket *guard.Guard // hosts, and origins whose pages may open a WebSocket; nil: as for HTTP

	// Together has functions for some of the methods, by name, that run calls of an array which follow
	// each other in one go: a function sets Result or Error of each. After a panic the method itself
	// is called for each that has neither.
	Together map[string]func(ctx context.Context, calls []Call)

	// Observe is called after each call with its method's name, its duration, and the code of its
	// error, 0 for none. The name is "" for calls and messages that name no method of the server.
	Observe func(method string, took time.Duration, code int) // nil: none
	Log     *slog.Logger                                      // for methods that panic; nil: none
}

// orNone returns options in which nothing is nil that a server calls.
func (o Options) orNone() Options {
	if o.HTTP == nil {
		o.HTTP, _ = guard.New(guard.Options{}) // no option is wrong
	}
	if o.Socket == nil {
		o.Socket = o.HTTP
	}
	if o.Observe == nil {
		o.Observe = func(string, time.Duration, int) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// bounds are what a server takes. Tests have narrower ones.
type bounds struct {
	MaxCalls   int // in an array
	MaxMessage int // bytes
	MaxAnswer  int // bytes of the answer to a message; beyond, -32003
	MaxLarge   int // answers of more than 1 MiB that exist at a time; beyond, the calls of an array wait

	// MaxTime is the time for an array after which none of its calls is begun any more, and those that
	// are left are answered with -32002. What one call may take is the method's to bound.
	MaxTime time.Duration

	MaxSockets       int           // WebSockets open at a time; beyond, 503
	MaxConcurrent    int           // messages of a WebSocket that are answered concurrently; beyond, it is not read
	MaxSubscriptions int           // of a WebSocket; beyond, -32005
	MaxQueue         int           // bytes that wait to be sent on a WebSocket
	PingInterval     time.Duration // also the time that a client has for its answer
	WriteTimeout     time.Duration // for one message
}

var standard = bounds{
	MaxCalls: 1000, MaxMessage: 5_000_000, MaxAnswer: 25_000_000, MaxLarge: 16, MaxTime: 30 * time.Second,
	MaxSockets: 10_000, MaxConcurrent: 64, MaxSubscriptions: 128, MaxQueue: 4_000_000,
	PingInterval: 30 * time.Second, WriteTimeout: 10 * time.Second,
}

// Server serves methods over HTTP POST and WebSocket at one address. Both carry single calls and
// arrays; over WebSocket a method can open a subscription, which sends notifications until the
// client or the connection ends it. Every message, queue and number of calls is bounded, and a
// client that does not read is disconnected. Calls of an array are run in their order, as
// go-ethereum does.
//
// HTTP answers have status 200 whether calls succeed or not, and 204 where all calls are
// notifications; a request that is no message has the status that HTTP has for it, with an answer
// whose error is -32600. A WebSocket is closed with 1001 when the server stops, 1003 after a binary
// message, 1008 when a ping is not answered, 1009 after a message that is too large and 1013 when
// the client reads too slowly.
//
// A connection has a goroutine that reads and one that writes beside the handler's, and one for
// each message that is being answered; the handler waits for them, and Drain for all handlers of
// WebSockets.
type Server struct {
	methods map[string]method
	o       Options
	bounds  bounds
	handler http.Handler
	buffers sync.Pool     // of *exchange
	large   chan struct{} // one for each answer that is large

	subscriptions, slow atomic.Int64

	draining chan struct{} // closed by Drain
	mu       sync.Mutex
	drained  bool
	sockets  map[*socket]struct{}
	open     sync.WaitGroup // handlers of WebSockets
}

type method struct {
	name string
	run  Method
}

// NewServer returns a server of methods by name.
func NewServer(methods map[string]Method, o Options) *Server { return newServer(methods, o, standard) }

func newServer(methods map[string]Method, o Options, b bounds) *Server {
	s := &Server{
		methods: map[string]method{}, o: o.orNone(), bounds: b, draining: make(chan struct{}), sockets: map[*socket]struct{}{},
		buffers: sync.Pool{New: func() any { return new(exchange) }},
	}
	s.large = make(chan struct{}, s.bounds.MaxLarge)
	for name, run := range methods {
		s.methods[name] = method{name, run}
	}
	s.handler = s.route()
	return s
}

// Stats is what a server counts.
type Stats struct {
	Sockets       int   // open now
	Subscriptions int64 // open now
	Slow          int64 // WebSockets that were closed because the client read too slowly
}

// Stats reads the counters.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{len(s.sockets), s.subscriptions.Load(), s.slow.Load()}
}

// Drain ends the WebSockets: it refuses further ones, reads no further messages, answers those that
// were read and closes with 1001. What is left when ctx ends is cut off, which is an error. It
// returns when the handlers have returned. Requests over HTTP are the HTTP server's to drain.
func (s *Server) Drain(ctx context.Context) error {
	s.mu.Lock()
	if !s.drained {
		s.drained = true
		close(s.draining)
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.open.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	left := len(s.sockets)
	for c := range s.sockets {
		c.stop(errCutOff)
	}
	s.mu.Unlock()
	<-done
	if left == 0 {
		return nil
	}
	return context.Cause(ctx)
}

// enter registers a WebSocket; false means that there is no place for it, or that the server
// stops.
func (s *Server) enter(c *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drained || len(s.sockets) >= s.bounds.MaxSockets {
		return false
	}
	s.sockets[c] = struct{}{}
	s.open.Add(1)
	return true
}

func (s *Server) leave(c *socket) {
	s.mu.Lock()
	delete(s.sockets, c)
	s.mu.Unlock()
	s.open.Done()
}
