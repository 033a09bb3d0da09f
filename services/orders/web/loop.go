package web

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"dyno/parts/guard"
	"dyno/parts/httploop"
	"dyno/parts/httploop/wire"
	"dyno/parts/lameduck"
)

// Loop serves a Handler with event loops. As with Fast, a request's context does not end when its
// client goes away; it ends when Drain cuts the request off.
type Loop struct {
	handler Handler
	options LoopOptions
	screen  httploop.Screen
	share   []Field          // header fields that the guard adds to answers for clients that are no pages
	reasons httploop.Reasons // of requests that were not begun
	server  *httploop.Server
	served  chan struct{} // closed when Start's goroutine has ended
	started bool

	ctx     context.Context // of requests
	cancel  context.CancelFunc
	running atomic.Int64 // goroutines that answer requests
}

// LoopOptions configure Loop.
type LoopOptions struct {
	FastOptions

	Loops int
	TLS   *tls.Config // nil means none

	// Begin is called on a loop's goroutine for requests that have a whole body and that Guard lets
	// pass. It returns "" if it has taken the request: then it must call Finish, once, at any time and
	// from any goroutine. Otherwise it returns why not, one of a few texts. It must not block, or
	// panic. All others, and all when it is nil, are answered by the Handler, which must be behind the
	// same guard, on a goroutine each. A nil Guard checks nothing.
	Begin func(loop int, c *Call) (reason string)
	Guard *guard.Guard

	// Tick is called by each loop about every 100 ms. Nil: nothing.
	Tick func(loop int)

	MaxConcurrent int // of those goroutines; beyond: 503
}

// Call is a request that an event loop has read, and its answer.
type Call struct {
	Request
	Response Response

	// Data is its taker's. It stays with the Call when that is used again.
	Data any

	from *httploop.Request
}

// NewLoop returns one that serves nothing yet. The error is httploop.ErrUnsupported where there are
// no event loops.
func NewLoop(h Handler, o LoopOptions) (*Loop, error) {
	l := &Loop{handler: h, options: o, screen: httploop.Screen{Guard: o.Guard}, served: make(chan struct{}),
		reasons: httploop.Reasons{Log: o.Log, Event: handsOver}}
	if o.Guard != nil {
		o.Guard.Share("", func(name, value string) { l.share = append(l.share, Field{name, value}) })
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	var err error
	l.server, err = httploop.New(httploop.Options{
		Turn: l.turn, Tick: o.Tick, Loops: o.Loops, TLS: o.TLS,
		MaxHead: maxHeader, MaxBody: lenient * o.MaxBody, MaxConnections: o.MaxConnections,
		ReadTimeout: o.ClientTimeout, WriteTimeout: o.ClientTimeout, IdleTimeout: idleTimeout,
		Refuse: func(resp *wire.Response, text string) {
			resp.Add("Content-Type", "application/json")
			resp.Body = append(resp.Body, errorBody(text)...)
		},
		Log: o.Log,
	})
	return l, err
}

// handsOver is the line of log at the first request with a goroutine for a reason.
const handsOver = "an event loop gave a request a goroutine of its own, which costs more; others for this reason are only counted, in orders_handed_over_total"

// Start serves the connections of under until Drain. failed is called if serving ends unexpectedly.
func (l *Loop) Start(_ net.Listener, under *lameduck.Listener, failed func(error)) {
	l.started = true
	go func() {
		defer close(l.served)
		if err := l.server.Serve(under.TCP()); err != nil {
			failed(err)
		}
	}()
}

// Drain ends what Start began, once: see httploop. What is under way when ctx ends is cut off,
// which is an error.
func (l *Loop) Drain(ctx context.Context) error {
	stop := context.AfterFunc(ctx, l.cancel)
	defer stop()
	err := l.server.Drain(ctx)
	if l.started {
		<-l.served
	}
	l.cancel()
	return err
}

// LameDuck has each connection end with its next answer.
func (l *Loop) LameDuck() { l.server.LameDuck() }

// HandedOver returns how many requests had a goroutine of their own, by reason.
func (l *Loop) HandedOver() map[string]uint64 { return l.reasons.Counts() }

// Stats are the server's.
func (l *Loop) Stats() httploop.Stats { return l.server.Stats() }

// turn begins what can be begun, and gives each of the others a goroutine.
func (l *Loop) turn(loop int, requests []*httploop.Request) {
	for _, r := range requests {
		c, ok := r.Data.(*Call)
		if !ok {
			c = &Call{}
			r.Data = c
		}
		c.from = r
		c.read(r, l.options.MaxBody)
		reason := l.denies(r, c)
		if reason == "" {
			c.Response.Share = l.share
			if reason = l.options.Begin(loop, c); reason == "" {
				continue
			}
			c.Response.Share = nil
		}
		l.reasons.Add(reason)
		if l.running.Add(1) > int64(l.options.MaxConcurrent) {
			l.running.Add(-1)
			c.Response.Status, c.Response.ContentType = http.StatusServiceUnavailable, "application/json"
			c.Response.Body = append(c.Response.Body, errorBody("too many requests wait here; try again later")...)
			c.Response.RetryAfter = time.Second
			c.Finish()
			continue
		}
		go l.serve(c)
	}
}

// denies returns why a request must not be begun; "": it is whole, and of no page.
func (l *Loop) denies(r *httploop.Request, c *Call) (reason string) {
	switch {
	case l.options.Begin == nil:
		return "assembly"
	case c.BodyErr != nil:
		return httploop.ReasonBody
	}
	return l.screen.Denies(r)
}

func (l *Loop) serve(c *Call) {
	defer l.running.Add(-1)
	l.options.serve(l.ctx, l.handler, &c.Request, &c.Response)
	c.Finish()
}

// read gives what net/http would give.
func (c *Call) read(from *httploop.Request, maxBody int) {
	c.Request = Request{Method: from.Method, Path: from.Path, Query: from.Query, Body: from.Body}
	if len(c.Body) > maxBody {
		c.Body, c.BodyErr = nil, ErrTooLarge
	}
	for i := range from.Fields {
		c.add(from.Fields[i].Name, from.Fields[i].Value)
	}
	c.Host = from.Host
	c.Response = Response{Body: from.Response.Body}
}

// Finish sends the answer. The Call is another request's from then on.
func (c *Call) Finish() {
	to, r := &c.from.Response, &c.Response
	to.Status, to.Body = r.Status, r.Body
	r.header(to.Add)
	for _, field := range r.Share {
		to.Add(field.Name, field.Value)
	}
	httploop.Done(c.from)
}
