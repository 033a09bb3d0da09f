package jsonrpc

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"dyno/parts/httploop"
	"dyno/parts/httploop/wire"
	"dyno/parts/lameduck"
)

// Front serves, on event loops, the POSTs of one address that are a single small call of one of the
// methods in Options.Together. Those that arrive while others are being run are then run in one go,
// as if they were an array; each has its own answer. Other calls of a message that it has read run
// in goroutines of their own. A connection with any other request it hands over to the listener's
// next server, whose handler is the Server, and which gives it back afterwards.
//
// Its goroutines are the loop's, two that run calls, and those of other calls; Drain ends them and
// waits.
type Front struct {
	s      *Server
	screen httploop.Screen
	begin  func(h *wire.Head) (context.Context, func(status int)) // FrontOptions.Begin; never nil
	loops  *httploop.Server
	leave  func(lameduck.Handed)
	left   func() // called when no more connections are handed over
	lines  []byte // of the header of every answer
	owned  sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	changed sync.Cond  // queue or ended
	queue   []*httploop.Request
	ended   bool // no more requests will come
}

const (
	runners     = 2         // while the calls of one become durable, the other's are checked
	maxTogether = 1000      // calls that are run in one go
	maxSmall    = 64 << 10  // bytes of a body that the loop reads
	maxWaiting  = 256 << 20 // bytes that clients have sent and have no answer to, or have not read of their answers
)

// FrontOptions are the options of a Front.
type FrontOptions struct {
	Listener     *lameduck.Listener
	TLS          *tls.Config   // nil: connections are not encrypted
	ReadTimeout  time.Duration // that a client has to send a request
	WriteTimeout time.Duration // that a client has to read its answer
	Fail         func(error)   // receives an error that ends the loop
	Log          *slog.Logger

	// Begin is called for each request, from several goroutines. It returns the context of its calls,
	// and what is called with the status of its answer. A request for which end is nil may be run
	// together with others, in the context of one of them. A nil Begin means none of that.
	Begin func(h *wire.Head) (ctx context.Context, end func(status int))
}

// NewFront begins to serve what connects to a listener. The error is httploop.ErrUnsupported where
// the system has no event loops.
func NewFront(s *Server, o FrontOptions) (*Front, error) {
	f := &Front{s: s, screen: httploop.Screen{Guard: s.o.HTTP, WebSockets: true}, begin: o.Begin, lines: []byte("Content-Type: application/json\r\n")}
	if f.begin == nil {
		f.begin = func(*wire.Head) (context.Context, func(int)) { return context.Background(), nil }
	}
	s.o.HTTP.Share("", func(name, value string) { f.lines = fmt.Appendf(f.lines, "%s: %s\r\n", name, value) })
	f.changed.L = &f.mu
	var err error
	f.loops, err = httploop.New(httploop.Options{
		Turn: f.turn, Serves: f.serves, Loops: 1,
		Leave: func(c lameduck.Handed) { f.leave(c) }, TLS: o.TLS,
		MaxPipelined: 1, MaxBody: maxSmall, MaxBuffered: maxWaiting, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout, Log: o.Log,
		Refuse: func(resp *wire.Response, text string) {
			s.o.Observe("", 0, InvalidRequest)
			resp.Fields = append(resp.Fields, f.lines...)
			resp.Body = appendWholeError(s.o.Codec, resp.Body, &Error{Code: InvalidRequest, Message: text})
		},
	})
	if err != nil {
		return nil, err
	}
	f.leave, f.left = o.Listener.HandOver()
	f.owned.Go(func() {
		if err := f.loops.Serve(o.Listener.TCP()); err != nil {
			o.Fail(err)
		}
	})
	for range runners {
		f.owned.Go(f.run)
	}
	return f, nil
}

// serves returns why the front does not serve a request; "" means that it does. It reads the header
// fields that servePOST reads, and those before it.
func (f *Front) serves(r *httploop.Request) (reason string) {
	switch {
	case r.Target != "/" && !strings.HasPrefix(r.Target, "/?"):
		return httploop.ReasonPath
	case r.Method != http.MethodPost:
		return httploop.ReasonMethod
	}
	if reason = f.screen.Denies(r); reason != "" {
		return reason
	}
	typed := false
	for i := range r.Fields {
		switch field := &r.Fields[i]; {
		case field.Is("Content-Type"):
			if typed = take(field.Value); !typed {
				return "Content-Type"
			}
		case field.Is("Content-Encoding"):
			if encodes(field.Value) {
				return "Content-Encoding"
			}
		}
	}
	if !typed {
		return "Content-Type"
	}
	return ""
}

// turn queues requests, on the loop's goroutine, while those before are run.
func (f *Front) turn(_ int, requests []*httploop.Request) {
	f.mu.Lock()
	f.queue = append(f.queue, requests...)
	f.mu.Unlock()
	f.changed.Signal()
}

// next waits for requests and takes them; none means that no more will come.
func (f *Front) next(into []*httploop.Request) []*httploop.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) == 0 && !f.ended {
		f.changed.Wait()
	}
	n := min(len(f.queue), maxTogether)
	into = append(into[:0], f.queue[:n]...)
	left := copy(f.queue, f.queue[n:])
	clear(f.queue[left:])
	f.queue = f.queue[:left]
	return into
}

// run answers until no more requests will come.
func (f *Front) run() {
	var batch []*httploop.Request
	groups := map[string]*group{}
	for name := range f.s.o.Together {
		groups[name] = &group{}
	}
	for batch = f.next(batch); len(batch) > 0; batch = f.next(batch) {
		for _, r := range batch {
			f.sort(r, groups)
		}
		for _, g := range groups {
			if len(g.calls) > 0 {
				f.together(g)
			}
		}
		clear(batch)
	}
}

// group is calls of one method, each of a request.
type group struct {
	ctx      context.Context // of the first
	calls    []Call
	requests []*httploop.Request
	taken    []*exchange
}

// sort adds the call of a request to its group, or has another goroutine serve it.
func (f *Front) sort(r *httploop.Request, groups map[string]*group) {
	ctx, end := f.begin(&r.Head)
	x := f.s.exchange()
	if end == nil && f.s.o.Codec.Decode(r.Body, f.s.bounds.MaxCalls, &x.batch) == nil && !x.batch.Array && len(x.batch.Calls) == 1 && x.batch.Calls[0].Error == nil {
		if g := groups[string(x.batch.Calls[0].Method)]; g != nil {
			if len(g.calls) == 0 {
				g.ctx = ctx
			}
			g.calls, g.requests, g.taken = append(g.calls, x.batch.Calls[0]), append(g.requests, r), append(g.taken, x)
			return
		}
	}
	x.batch.Reset()
	x.message.Write(r.Body)
	f.owned.Go(func() {
		defer f.s.release(x)
		f.s.serve(ctx, x)
		f.answer(r, x)
		if end != nil {
			end(r.Response.Status)
		}
		if x.large { // until the client has read the answer
			x.large, r.Released = false, f.s.releaseLarge
		}
		httploop.Done(r)
	})
}

// together runs the calls of a group and answers them.
func (f *Front) together(g *group) {
	f.s.callTogether(g.ctx, g.calls)
	for i, x := range g.taken {
		answers := newAnswers(f.s.o.Codec, x.answer[:0], false, f.s.bounds.MaxAnswer)
		answers.add(&g.calls[i])
		x.answer = answers.all()
		f.answer(g.requests[i], x)
		f.s.release(x)
	}
	httploop.Done(g.requests...)
	clear(g.calls)
	clear(g.requests)
	clear(g.taken)
	g.ctx = nil
	g.calls, g.requests, g.taken = g.calls[:0], g.requests[:0], g.taken[:0]
}

// answer makes the answer of an exchange that of a request. A large one is not copied.
func (f *Front) answer(r *httploop.Request, x *exchange) {
	to := &r.Response
	to.Fields = append(to.Fields, f.lines...)
	switch to.Status = http.StatusOK; {
	case len(x.answer) == 0:
		to.Status = http.StatusNoContent
	case len(x.answer) > maxSmall:
		to.Body, x.answer = x.answer, nil
	default:
		to.Body = append(to.Body, x.answer...)
	}
}

// LameDuck ends each connection with its next answer.
func (f *Front) LameDuck() { f.loops.LameDuck() }

// Drain answers what arrives, as httploop.Server's does, and ends the front.
func (f *Front) Drain(ctx context.Context) error {
	before := f.Stats().Refused
	err := f.loops.Drain(ctx)
	f.left()
	if n := f.Stats().Refused - before; n > 0 {
		f.s.o.Log.Warn("requests that had not arrived whole when the server stopped were refused", "requests", n)
	}
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.changed.Broadcast()
	f.owned.Wait()
	return err
}

// HandedOver returns how often a connection was handed over, by reason.
func (f *Front) HandedOver() map[string]uint64 { return f.loops.HandedOver() }

// Stats are counts of the loop.
func (f *Front) Stats() httploop.Stats { return f.loops.Stats() }
