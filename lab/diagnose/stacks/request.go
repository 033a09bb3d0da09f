package stacks

import (
	"slices"
	"strings"

	"dyno/lab/record"
)

// handling are functions that call a handler or end a request.
var handling = Names{
	// Handlers are recognised by the name of net/http's method; finishRequest runs after them.
	whole: set("net/http.(*response).finishRequest", "google.golang.org/grpc.(*Server).handleStream", "google.golang.org/grpc.(*Server).processUnaryRPC",
		"google.golang.org/grpc.(*Server).processStreamingRPC", "net/rpc.(*service).call",
		"net/http.(*http2serverConn).runHandler", "golang.org/x/net/http2.(*serverConn).runHandler",
		"github.com/quic-go/quic-go/http3.(*Server).handleRequest"),
}

const (
	fasthttp   = "github.com/valyala/fasthttp"
	fastServer = fasthttp + ".(*Server).serveConn" // and serveConnCounted, which it calls
)

// fastHandler reports whether a function that fasthttp's server calls is a handler: fasthttp's own that
// wrap others are closures, and its readers and writers are not.
func fastHandler(function string) bool {
	switch Package(function) {
	case fasthttp:
		return strings.Contains(function, ".func")
	case "bufio":
		return false
	}
	return true
}

// InRequest reports whether a goroutine with this stack is in a request's handler. A goroutine that
// a handler started does not count: see Behind.
func InRequest(frames []record.Frame) bool {
	for i, f := range frames {
		switch {
		case strings.HasSuffix(f.Function, ".ServeHTTP"), handling.Match(f.Function):
			return true
		case strings.HasPrefix(f.Function, fastServer):
			// It also reads the requests, and writes the responses, on a connection that the service's own
			// code may wrap: only its callees outside its package, not below its own calls, are handlers.
			return i > 0 && fastHandler(frames[i-1].Function) && slices.ContainsFunc(frames[:i], func(f record.Frame) bool {
				return !Standard(f.Function) && Package(f.Function) != fasthttp
			}) || streams(frames[:i])
		}
	}
	return false
}

// streams reports whether fasthttp's server reads the body of a response from a reader of the
// service's own, which does a part of the request.
func streams(frames []record.Frame) bool {
	i := slices.IndexFunc(frames, func(f record.Frame) bool { return f.Function == fasthttp+".(*Response).writeBodyStream" })
	return i > 0 && slices.ContainsFunc(frames[:i], func(f record.Frame) bool { return Own(f) && strings.HasSuffix(f.Function, ".Read") })
}

// serving are functions of a server between requests: it reads the next one, or accepts.
var serving = Names{
	whole: set("net/http.(*connReader).backgroundRead", "net/http.(*conn).serve", "net/http.(*http2serverConn).serve",
		"net/http.(*http2serverConn).readFrames", "golang.org/x/net/http2.(*serverConn).serve",
		"golang.org/x/net/http2.(*serverConn).readFrames", "net/http.(*Server).Serve",
		"net.(*netFD).accept", "internal/poll.(*FD).Accept", fastServer,
		"github.com/valyala/fasthttp.(*workerPool).workerFunc", "google.golang.org/grpc.(*Server).Serve"),
	prefix: []string{"google.golang.org/grpc/internal/transport.(*http2Server).HandleStreams",
		"google.golang.org/grpc/internal/transport.(*http2Server).keepalive",
		"google.golang.org/grpc/internal/transport.(*loopyWriter)",
		"google.golang.org/grpc.(*Server).serverWorker"},
}

// tending are goroutines, by their first function, that maintain a resource while no request waits
// for them in particular. A request that waits for a response on a client connection is seen at its
// own stack.
var tending = Names{
	whole: set("net/http.(*persistConn).readLoop", "net/http.(*persistConn).writeLoop",
		"net/http.(*http2ClientConn).readLoop", "golang.org/x/net/http2.(*ClientConn).readLoop",
		"database/sql.(*DB).connectionOpener", "database/sql.(*DB).connectionCleaner",
		"database/sql.(*Tx).awaitDone", "database/sql.(*Rows).awaitDone", "context.(*cancelCtx).propagateCancel",
		"os/signal.loop", "runtime.runFinalizers", "runtime.runfinq", "runtime.runCleanups", "runtime.bgsweep",
		"runtime.bgscavenge", "runtime.gcBgMarkWorker", "runtime.forcegchelper", "runtime.ensureSigM",
		"runtime.updateMaxProcsGoroutine", "runtime.unique_runtime_registerUniqueMapCleanup",
		"github.com/jackc/pgx/v5/pgxpool.NewWithConfig", "github.com/valyala/fasthttp.(*workerPool).Start"),
	prefix: []string{"google.golang.org/grpc/internal/transport.(*http2Client).reader",
		"google.golang.org/grpc/internal/transport.(*http2Client).keepalive",
		"github.com/redis/go-redis/v9/internal/pool.(*ConnPool).reaper",
		"github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck", "go.opentelemetry.io/otel/sdk"},
}

// answered are functions that a server calls for a request whose response is written: it waits
// for its own reader of the connection, or reads what is left of the request's body.
var answered = Names{whole: set("net/http.(*connReader).abortPendingRead", "net/http.(*body).Close")}

// afterResponse reports whether a goroutine is done with its request, whose response was flushed.
func afterResponse(frames []record.Frame) bool {
	ends := slices.IndexFunc(frames, func(f record.Frame) bool { return f.Function == "net/http.(*response).finishRequest" })
	return ends > 0 && answered.In(frames[:ends]) || handedOver.In(frames)
}

// handedOver are functions of HTTP/2 servers that run after a handler: they wait for the goroutine
// that writes the connection.
var handedOver = Names{whole: set("net/http.(*http2responseWriter).handlerDone", "golang.org/x/net/http2.(*responseWriter).handlerDone")}

// idle reports whether a waiting goroutine waits for work, and not on behalf of a request.
func idle(frames []record.Frame) bool {
	switch {
	case len(frames) == 0:
		return false
	case afterResponse(frames), waitsIn(frames) == "net/http.(*timeoutHandler).ServeHTTP":
		return true // of the latter, the request is the goroutine that it started: see innermost
	case ClassOf(frames) == Profiling:
		return true
	case InRequest(frames):
		return false
	}
	return serving.In(frames) || tending.Match(frames[len(frames)-1].Function)
}

// waitsIn is the function that called what the goroutine waits with.
func waitsIn(frames []record.Frame) string {
	for _, f := range frames {
		if !record.Synchronises(f.Function) {
			return f.Function
		}
	}
	return ""
}

// innermost returns a trace without the waits of handlers for goroutines that they started to run the
// rest of the request, as those do that set a time limit: the request is the inner goroutine, and would
// count twice.
func innermost(t *record.Trace) *record.Trace {
	started := map[string]bool{} // functions with the go statement of such a goroutine
	for _, w := range t.Waits {
		if starter := madeIn(w.Entry.Function); starter != "" && InRequest(w.Stack) {
			started[starter] = true
		}
	}
	if len(started) == 0 {
		return t
	}
	out := *t
	out.Waits = slices.DeleteFunc(slices.Clone(t.Waits), func(w record.Wait) bool {
		switch What(w) {
		case WaitChannel, WaitSelect, WaitGroup, WaitCond:
			return InRequest(w.Stack) && started[waitsIn(w.Stack)]
		}
		return false
	})
	return &out
}

// madeIn returns the function in which another, which the compiler named after it, was written; empty:
// the function has a name of its own.
func madeIn(function string) string {
	at := strings.LastIndexByte(function, '.')
	if at < 0 {
		return ""
	}
	name := strings.TrimRight(function[at+1:], "0123456789")
	if name != "" && name != "func" && name != "gowrap" || at+1+len(name) == len(function) {
		return ""
	}
	return function[:at]
}
