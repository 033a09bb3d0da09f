package gateway

import (
	"context"
	"net/http"
	"strings"

	"dyno/parts/tracing"
	"dyno/services/orders/web"

	"go.opentelemetry.io/otel/trace"
)

// Trace makes each request of fasthttp and of event loops a span, as parts/daemon does for
// net/http; nil: there are none.
func (g *Gateway) Trace() func(*web.Request) (context.Context, func(status int)) {
	if g.config.Tracer == nil {
		return nil
	}
	return func(req *web.Request) (context.Context, func(int)) {
		ctx, span, route := g.beginSpan(req)
		return ctx, func(status int) { tracing.End(span, route, req.Method, status) }
	}
}

func (g *Gateway) beginSpan(req *web.Request) (context.Context, trace.Span, tracing.Route) {
	route := otherRoute
	if r := g.routes[req.Path]; r != nil && r.takes(req.Method) {
		route = r.traced
	}
	ctx, span := tracing.Begin(context.Background(), g.config.Tracer, route, header{req})
	return ctx, span, route
}

// drawSpan is beginSpan for an order query that a loop begins: nil if it is not recorded. Nothing
// logs such a query, so that it needs no trace's id.
func (g *Gateway) drawSpan(req *web.Request) trace.Span {
	if g.config.Tracer == nil {
		return nil
	}
	ctx, recorded := g.config.Tracer.Draw(g.routes[orderPath].traced, header{req})
	if !recorded {
		return nil
	}
	_, span := tracing.Begin(ctx, g.config.Tracer, g.routes[orderPath].traced, header{req})
	return span
}

// otherRoute is the name of all that the routes do not have, in the ServeMux of Gateway.HTTP.
var otherRoute = tracing.Route{Name: "/", Path: "/"}

// header is a request's.
type header struct{ *web.Request }

// Get returns a field. That of tracestate is a copy, since a span keeps parts of it.
func (h header) Get(name string) string {
	value := h.Field(name)
	if strings.EqualFold(name, "tracestate") {
		return strings.Clone(value)
	}
	return value
}

// takes reports whether a route answers a method.
func (r *route) takes(method string) bool {
	return method == r.method || method == http.MethodHead && r.method == http.MethodGet
}
