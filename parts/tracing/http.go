package tracing

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// unrouted is the span name of requests whose route is not known. Clients choose their paths
// freely, so a path would make too many names.
const unrouted = "HTTP"

// router is an http.ServeMux, or a handler with the same method.
type router interface {
	http.Handler
	Handler(*http.Request) (h http.Handler, pattern string)
}

// Routes wraps a handler so that each request is a span named after its route. A rate for a route
// that the handler does not have is an error.
func (t *Tracer) Routes(next http.Handler) (http.Handler, error) {
	mux, ok := next.(router)
	for route := range t.rates {
		if route == Others {
			continue
		}
		if !ok {
			return nil, fmt.Errorf("the rate for route %q cannot be used: this service does not name its routes", route)
		}
		if _, pattern := mux.Handler(example(route)); pattern != route {
			return nil, fmt.Errorf("there is no route %q; name one as the service does, such as \"POST /v1/things\"", route)
		}
	}
	if !ok {
		return t.Wrap(unrouted, next), nil
	}
	return t.wrap(next, func(r *http.Request) Route { return routeOf(mux, r) }), nil
}

// example returns a request that a pattern ([METHOD ][HOST]/[PATH]) matches: a pattern matches
// itself.
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

// pathOf returns a pattern's path, the value of http.route.
func pathOf(pattern string) string { return pattern[max(0, strings.IndexByte(pattern, '/')):] }

// Wrap wraps a handler so that each request is a span with that name.
func (t *Tracer) Wrap(name string, next http.Handler) http.Handler {
	route := Route{Name: name}
	return t.wrap(next, func(*http.Request) Route { return route })
}

// wrap calls of for each request's route.
func (t *Tracer) wrap(next http.Handler, of func(*http.Request) Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route := of(r)
		ctx, span := Begin(r.Context(), t.Tracer, route, r.Header)
		defer span.End()
		r = r.WithContext(ctx)
		if !span.IsRecording() {
			next.ServeHTTP(w, r)
			return
		}
		answer := &answer{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(answer, r)
		describe(span, route, r.Method, answer.status)
	})
}

// answer records the status.
type answer struct {
	http.ResponseWriter
	status int
	begun  bool
}

func (a *answer) WriteHeader(status int) {
	if !a.begun && status >= 200 { // lower ones are interim responses
		a.status, a.begun = status, true
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (a *answer) Flush() {
	a.begun = true
	http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap supports http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
