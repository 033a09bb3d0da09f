package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"time"

	"dyno/parts/lameduck"

	"github.com/valyala/fasthttp"
)

// Fast serves a Handler with fasthttp. A request's context does not end when its client goes away,
// as fasthttp does not look; it ends when Drain cuts the request off.
type Fast struct {
	handler Handler
	options FastOptions
	server  *fasthttp.Server
	conns   *listener
	served  chan struct{} // closed when Start's goroutine has ended
}

// Bounds of fasthttp, as parts/daemon has them for net/http.
const (
	idleTimeout = 2 * time.Minute

	// All headers of a request; each connection that is being read has a buffer of that size. A token
	// has at most 8 KiB.
	maxHeader = 16 << 10
)

// lenient is how many times MaxBody is read before the connection is closed with the client still
// at it: it would not see the answer then.
const lenient = 4

// FastOptions configure Fast.
type FastOptions struct {
	MaxBody       int           // bytes
	ClientTimeout time.Duration // within which a request is to arrive whole, and its answer to be taken
	Log           *slog.Logger

	// Beyond MaxConnections a client is answered 503 before it has asked. One needs 20 KiB when it has
	// its buffers, 16 KiB to read and 4 KiB to write.
	MaxConnections int

	// Trace begins a span for a request and returns what ends it. Nil: there are no spans.
	Trace func(req *Request) (context.Context, func(status int))
}

// NewFast returns one that serves nothing yet.
func NewFast(h Handler, o FastOptions) *Fast {
	f := &Fast{handler: h, options: o, served: make(chan struct{})}
	f.server = &fasthttp.Server{
		Handler:                      f.serve,
		ErrorHandler:                 refuse,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		Concurrency:                  math.MaxInt32, // the listener bounds them, and refuses in JSON
		ReadBufferSize:               maxHeader,
		ReadTimeout:                  o.ClientTimeout,
		WriteTimeout:                 o.ClientTimeout,
		IdleTimeout:                  idleTimeout,
		MaxRequestBodySize:           lenient * o.MaxBody,
		DisablePreParseMultipartForm: true, // a body is the handler's, whatever it is
		SecureErrorLogMessage:        true, // tokens stand in headers
		Logger:                       logger{o.Log},
	}
	return f
}

// Start serves a listener until Drain: one of connections of under, which is itself or below its
// TLS. failed is called if serving ends unexpectedly.
func (f *Fast) Start(l net.Listener, under *lameduck.Listener, failed func(error)) {
	f.conns = newListener(l, under, f.options.MaxConnections)
	go func() {
		defer close(f.served)
		err := f.server.Serve(f.conns)
		if err != nil && !errors.Is(err, net.ErrClosed) {
			failed(fmt.Errorf("serving HTTP: %w", err))
		}
	}()
}

// LameDuck has all answers say Connection: close from now on.
func (f *Fast) LameDuck() { f.conns.under.LameDuck() }

// Drain ends what Start began, once. It takes no more connections, answers what is under way, ends
// the connections on which nothing happens, and cuts off what is left when ctx ends, which is an
// error. When it returns no handler runs any more: one that does not heed its context holds it.
func (f *Fast) Drain(ctx context.Context) error {
	began := time.Now()
	f.conns.under.Seal()
	f.conns.under.Drain(ctx)
	f.conns.under.Close() // to what comes after the end of ctx
	<-f.served
	if cut := f.conns.cutOff(); cut > 0 {
		return fmt.Errorf("%d requests were still under way after %v and were cut off", cut, time.Since(began).Round(time.Millisecond))
	}
	return nil
}

// serve is called by fasthttp, at the same time for each connection.
func (f *Fast) serve(in *fasthttp.RequestCtx) {
	from := in.Conn().(*conn)
	from.begin()
	c := calls.Get().(*call)
	defer c.free()
	if err := readFast(&c.req, &in.Request, f.options.MaxBody); err != nil {
		refuse(in, err)
		in.SetConnectionClose()
		return
	}
	f.options.serve(from.ctx, f.handler, &c.req, &c.resp)
	writeFast(&in.Response, &c.resp)
	if f.conns.under.Leaving() {
		in.SetConnectionClose()
	}
}

// serve lets h answer, in a span if there are any.
func (o FastOptions) serve(ctx context.Context, h Handler, req *Request, resp *Response) {
	if o.Trace != nil {
		span, done := o.Trace(req)
		ctx = spanned{ctx, span}
		defer func() { done(resp.Status) }()
	}
	if err := serve(ctx, h, req, resp); err != nil {
		o.Log.Error("a request went wrong", "path", req.Path, "error", err)
	}
}

// spanned is a connection's context with the values of a span's.
type spanned struct {
	context.Context
	span context.Context
}

func (s spanned) Value(key any) any {
	if v := s.span.Value(key); v != nil {
		return v
	}
	return s.Context.Value(key)
}

// refuse answers what is no request. fasthttp closes the connection after it.
func refuse(ctx *fasthttp.RequestCtx, err error) {
	status, text := http.StatusBadRequest, "this is no HTTP request that can be read here"
	timeout := (net.Error)(nil)
	switch small := (*fasthttp.ErrSmallBuffer)(nil); {
	case errors.As(err, &small):
		status, text = http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("the headers have more than %d bytes", maxHeader)
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		status, text = http.StatusRequestEntityTooLarge, ErrTooLarge.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		status, text = http.StatusRequestTimeout, "the request did not arrive in time"
	}
	ctx.Response.Reset()
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.SetBodyString(errorBody(text))
}

// logger passes on what fasthttp says, which is of broken connections.
type logger struct{ to *slog.Logger }

func (l logger) Printf(format string, args ...any) {
	l.to.Debug("http", "says", fmt.Sprintf(format, args...))
}
