package gateway

import (
	"context"
	"net/http"

	"dyno/parts/tracing"
	"dyno/services/orders/web"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Trace makes each request of fasthttp a span, as parts/daemon does for net/http; nil: there are
// none.
func (g *Gateway) Trace() func(*web.Request) (context.Context, func(status int)) {
	tracer := g.config.Tracer
	if tracer == nil {
		return nil
	}
	return func(req *web.Request) (context.Context, func(int)) {
		ctx := context.Background()
		if req.Traceparent != "" {
			caller := tracing.Extract(http.Header{"Traceparent": {req.Traceparent}})
			ctx = trace.ContextWithRemoteSpanContext(ctx, caller)
		}
		name := "HTTP" // clients choose other paths, and their number is unbounded
		if r := g.routes[req.Path]; r != nil {
			name = r.method + " " + r.path
		}
		ctx, span := tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
		return ctx, func(status int) {
			if status >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, http.StatusText(status))
			}
			span.End()
		}
	}
}
