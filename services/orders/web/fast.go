package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"
)

// Fast serves a Handler with fasthttp. A request's context does not end when its client goes away: fasthttp
// does not look.
type Fast struct {
	server   *fasthttp.Server
	listener net.Listener
	served   chan struct{} // closed when Start's goroutine has ended
}

// Bounds of fasthttp, as parts/daemon has them for net/http.
const (
	idleTimeout = 2 * time.Minute

	// All headers of a request; each connection that is being read has a buffer of that size. A token has at
	// most 8 KiB.
	maxHeader = 16 << 10
)

// lenient is how many times MaxBody is read before the connection is closed with the client still at it: it would
// not see the answer then.
const lenient = 4

// FastOptions configure Fast.
type FastOptions struct {
	MaxBody        int // bytes
	MaxConnections int
	ClientTimeout  time.Duration // within which a request is to arrive whole, and its answer to be taken
	Log            *slog.Logger

	// Trace begins a span for a request and returns what ends it. Nil: there are no spans.
	Trace func(req *Request) (context.Context, func(status int))
}

// NewFast returns one that serves nothing yet.
func NewFast(h Handler, o FastOptions) *Fast {
	f := &Fast{served: make(chan struct{})}
	f.server = &fasthttp.Server{
		Handler:               func(ctx *fasthttp.RequestCtx) { serveFast(h, o, ctx) },
		ErrorHandler:          refuse,
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		Concurrency:           o.MaxConnections,
		ReadBufferSize:        maxHeader,
		ReadTimeout:           o.ClientTimeout,
		WriteTimeout:          o.ClientTimeout,
		IdleTimeout:           idleTimeout,
		MaxRequestBodySize:    lenient * o.MaxBody,
		CloseOnShutdown:       true,
		SecureErrorLogMessage: true, // tokens stand in headers
		Logger:                logger{o.Log},
	}
	return f
}

// Start serves a listener until Shutdown; failed is told if that ends by itself.
func (f *Fast) Start(l net.Listener, failed func(error)) {
	f.listener = l
	go func() {
		defer close(f.served)
		err := f.server.Serve(l)
		if err != nil && !errors.Is(err, net.ErrClosed) {
			failed(fmt.Errorf("serving HTTP: %w", err))
		}
	}()
}

// Shutdown takes no more connections, waits for the requests under way until ctx ends, and ends what Start began.
func (f *Fast) Shutdown(ctx context.Context) error {
	f.listener.Close() // fasthttp does not when it has not come to serving it yet
	err := f.server.ShutdownWithContext(ctx)
	<-f.served
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("requests were still under way: %w", err)
	}
	return nil
}

func serveFast(h Handler, o FastOptions, in *fasthttp.RequestCtx) {
	c := calls.Get().(*call)
	defer c.free()
	readFast(&c.req, &in.Request, o.MaxBody)
	ctx, ended := context.Background(), func(int) {}
	if o.Trace != nil {
		ctx, ended = o.Trace(&c.req)
	}
	h.Serve(ctx, &c.req, &c.resp)
	writeFast(&in.Response, &c.resp)
	ended(c.resp.Status)
}

func readFast(to *Request, from *fasthttp.Request, maxBody int) {
	h := &from.Header
	*to = Request{
		Method: text(h.Method()), Path: text(from.URI().Path()), Query: text(from.URI().QueryString()),
		Authorization:  joinedFast(h, fasthttp.HeaderAuthorization),
		Accept:         joinedFast(h, fasthttp.HeaderAccept),
		AcceptEncoding: joinedFast(h, fasthttp.HeaderAcceptEncoding),
		CacheControl:   joinedFast(h, fasthttp.HeaderCacheControl),
		ContentType:    text(h.ContentType()),
		IfNoneMatch:    joinedFast(h, fasthttp.HeaderIfNoneMatch),
		Traceparent:    joinedFast(h, "Traceparent"),
		Body:           from.Body(),
	}
	if len(to.Body) > maxBody {
		to.Body, to.BodyErr = nil, ErrTooLarge
	}
}

// joinedFast is joined for fasthttp.
func joinedFast(h *fasthttp.RequestHeader, name string) string {
	first := h.Peek(name)
	if first == nil {
		return ""
	}
	all := h.PeekAll(name)
	if len(all) < 2 {
		return text(first)
	}
	out := string(all[0])
	for _, field := range all[1:] {
		out += ", " + string(field)
	}
	return out
}

// text is b without a copy: good as long as b is, which is what Request promises.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func writeFast(to *fasthttp.Response, r *Response) {
	h := &to.Header
	set := func(name, value string) {
		if value != "" {
			h.Set(name, value)
		}
	}
	to.SetStatusCode(r.Status)
	if r.ContentType != "" {
		h.SetContentType(r.ContentType)
	}
	set(fasthttp.HeaderContentEncoding, r.ContentEncoding)
	set(fasthttp.HeaderAllow, r.Allow)
	set(fasthttp.HeaderWWWAuthenticate, r.Challenge)
	set(fasthttp.HeaderETag, r.ETag)
	set(fasthttp.HeaderVary, r.Vary)
	set(fasthttp.HeaderWarning, r.Warning)
	if r.RetryAfter > 0 {
		h.Set(fasthttp.HeaderRetryAfter, seconds(r.RetryAfter))
	}
	to.SetBody(r.Body)
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
	ctx.SetBodyString(fmt.Sprintf("{\"error\":%q}\n", text))
}

// logger passes on what fasthttp says, which is of broken connections.
type logger struct{ to *slog.Logger }

func (l logger) Printf(format string, args ...any) {
	if l.to != nil {
		l.to.Debug("http", "says", fmt.Sprintf(format, args...))
	}
}
