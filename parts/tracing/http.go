package tracing

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"
)

// unrouted is the name of requests whose route is not known. Their paths are anybody's choice, and so
// many.
const unrouted = "HTTP"

// router is an http.ServeMux, or what can be asked like one.
type router interface {
	http.Handler
	Handler(*http.Request) (h http.Handler, pattern string)
}

// Routes wraps a handler so that each request is a span named after its route. A rate of a route that the
// handler does not have is an error.
func (t *Tracer) Routes(next http.Handler) (http.Handler, error) {
	mux, ok := next.(router)
	for route := range t.rates {
		if route == Others {
			continue
		}
		if !ok {
			return nil, fmt.Errorf("a rate for route %q is of no use: this service does not say its routes", route)
		}
		if _, pattern := mux.Handler(example(route)); pattern != route {
			return nil, fmt.Errorf("there is no route %q; name one as the service does, such as \"POST /v1/things\"", route)
		}
	}
	if !ok {
		return t.Wrap(unrouted, next), nil
	}
	return t.wrap(next, func(r *http.Request) (name, route string) {
		if _, pattern := mux.Handler(r); pattern != "" {
			return pattern, pathOf(pattern)
		}
		return unrouted, ""
	}), nil
}

// example returns a request that a pattern ([METHOD ][HOST]/[PATH]) matches: it matches itself.
func example(pattern string) *http.Request {
	method, rest, ok := strings.Cut(pattern, " ")
	if !ok {
		method, rest = http.MethodGet, pattern
	}
	host, path, _ := strings.Cut(strings.TrimLeft(rest, " "), "/")
	r := &http.Request{Method: method, Host: host}
	r.URL = &url.URL{Path: "/" + strings.TrimSuffix(path, "{$}")}
	return r
}

// pathOf returns a pattern's path, which is what http.route holds.
func pathOf(pattern string) string { return pattern[max(0, strings.IndexByte(pattern, '/')):] }

// Wrap wraps a handler so that each request is a span of that name.
func (t *Tracer) Wrap(name string, next http.Handler) http.Handler {
	return t.wrap(next, func(*http.Request) (string, string) { return name, "" })
}

// wrap asks for each request's name and route; an empty route is not known.
func (t *Tracer) wrap(next http.Handler, of func(*http.Request) (name, route string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		name, route := of(r)
		ctx, span := t.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		r = r.WithContext(ctx)
		if !span.IsRecording() {
			next.ServeHTTP(w, r)
			return
		}
		answer := &answer{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(answer, r)
		span.SetAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPResponseStatusCode(answer.status))
		if route != "" {
			span.SetAttributes(semconv.HTTPRoute(route))
		}
		if answer.status >= 500 {
			span.SetStatus(codes.Error, http.StatusText(answer.status))
		}
	})
}

// answer remembers the status.
type answer struct {
	http.ResponseWriter
	status int
	begun  bool
}

func (a *answer) WriteHeader(status int) {
	if !a.begun && status >= 200 { // others announce that there will be one
		a.status, a.begun = status, true
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(b)
}

// Flush is for handlers that ask for an http.Flusher.
func (a *answer) Flush() {
	a.begun = true
	http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
