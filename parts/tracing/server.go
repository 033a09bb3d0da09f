package tracing

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"dyno/parts/httploop/wire"
)

// Header gives the first value of a header field by its name, in any case; "" if there is none.
type Header interface{ Get(name string) string }

// Head is the Header of an event loop's request.
type Head struct{ *wire.Head }

// Get returns the first value of a field. That of tracestate is a copy, since a span keeps parts of
// it, and a head's strings are views.
func (h Head) Get(name string) string {
	value := h.Field(name)
	if strings.EqualFold(name, "tracestate") {
		return strings.Clone(value)
	}
	return value
}

// readOnly makes a Header a propagation.TextMapCarrier, to extract from.
type readOnly struct{ Header }

func (readOnly) Set(string, string) {}
func (readOnly) Keys() []string     { return nil }

const parentHeader = "Traceparent"

var _ propagation.TextMapCarrier = readOnly{}

// Route is what the spans of a handler's requests are called. The zero Route is that of requests
// whose route is not known.
type Route struct {
	Name string // of the span: the pattern, such as "POST /v1/things"
	Path string // of the pattern, the value of http.route
}

// RouteOf returns how Tracer.Routes names the requests of a method and path, for a server that
// makes their spans itself.
func RouteOf(h http.Handler, method, path string) Route {
	if mux, ok := h.(router); ok {
		return routeOf(mux, example(method+" "+path))
	}
	return Route{Name: unrouted}
}

func routeOf(mux router, r *http.Request) Route {
	if _, pattern := mux.Handler(r); pattern != "" {
		return Route{pattern, pathOf(pattern)}
	}
	return Route{Name: unrouted}
}

// serverSpan are the options of every server's span; a slice of its own for each would be an
// allocation.
var serverSpan = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}

// Draw decides on a request that comes without a decision of its own, before it has a span. False
// means that it is not recorded, and the context is Unrecorded: nothing is allocated. Otherwise it
// is Begin's to continue in that context. A span that is begun without Draw is decided on by its
// trace's id, which the spans that are not recorded have, too.
func (t *Tracer) Draw(route Route, header Header) (ctx context.Context, recorded bool) {
	if header.Get(parentHeader) != "" || header.Get(SamplingHeader) != "" {
		return context.Background(), true
	}
	if rand.Float64() >= t.rates.Of(route.Name) {
		return Unrecorded, false
	}
	return drawn, true
}

type unrecorded struct{}

var (
	// Unrecorded is the context of requests that are not recorded and have no span.
	Unrecorded = context.WithValue(context.Background(), unrecorded{}, true)

	drawn = context.WithValue(context.Background(), asked{}, 1.0)
)

// Records reports whether a span that begins in a context may be recorded: whether no decision
// against it was made.
func Records(ctx context.Context) bool {
	if at := trace.SpanContextFromContext(ctx); at.IsValid() {
		return at.IsSampled()
	}
	return ctx.Value(unrecorded{}) == nil
}

// Begin starts the span of a request in the trace of its traceparent, if it has one, as Tracer.Wrap
// does for net/http. The caller ends it with End.
func Begin(ctx context.Context, t trace.Tracer, route Route, header Header) (context.Context, trace.Span) {
	if header.Get(parentHeader) != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, readOnly{header})
	}
	return t.Start(WithSampling(ctx, header), route.Name, serverSpan...)
}

// End ends a span that Begin has started, with the status of the response. It copies the method.
func End(span trace.Span, route Route, method string, status int) {
	if span.IsRecording() {
		describe(span, route, strings.Clone(method), status)
	}
	span.End()
}

func describe(span trace.Span, route Route, method string, status int) {
	span.SetAttributes(semconv.HTTPRequestMethodKey.String(method), semconv.HTTPResponseStatusCode(status))
	if route.Path != "" {
		span.SetAttributes(semconv.HTTPRoute(route.Path))
	}
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
}
