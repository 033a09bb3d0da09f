package chain

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"dyno/parts/daemon"
	"dyno/parts/jsonrpc"
	"dyno/parts/tracing"
)

// traced makes a span of each POST. A WebSocket is none, since it may stay open for days: its calls
// are traces of their own, or belong to the one that its traceparent names.
func traced(env *daemon.Env, next http.Handler) http.Handler {
	if env.Tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			next.ServeHTTP(w, r.WithContext(trace.ContextWithRemoteSpanContext(r.Context(), tracing.Extract(r.Header))))
			return
		}
		ctx, span := env.Tracer.Start(r.Context(), "rpc/http.request")
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// calls makes a span of each call, and a line in the log of each that is recorded.
type calls struct {
	tracer trace.Tracer
	log    *slog.Logger
}

// trace makes the methods do so; without --otlp they stay as they are.
func (c calls) trace(methods map[string]jsonrpc.Method, together map[string]func(context.Context, []jsonrpc.Call)) {
	for name, m := range methods {
		methods[name] = func(ctx context.Context, params []byte) (result any, err error) {
			c.run(ctx, name, 1, func(ctx context.Context) error {
				result, err = m(ctx, params)
				return err
			})
			return result, err
		}
	}
	for name, m := range together {
		together[name] = func(ctx context.Context, all []jsonrpc.Call) {
			c.run(ctx, name, len(all), func(ctx context.Context) error {
				m(ctx, all)
				return nil
			})
		}
	}
}

func (c calls) run(ctx context.Context, method string, count int, do func(context.Context) error) {
	ctx, span := c.tracer.Start(ctx, method)
	defer span.End()
	err := do(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.Int("rpc.calls", count))
	if err == nil {
		c.log.InfoContext(ctx, "called", "method", method, "calls", count)
		return
	}
	code := jsonrpc.AsError(err).Code
	span.SetAttributes(attribute.Int("rpc.jsonrpc.error_code", code))
	span.SetStatus(codes.Error, err.Error())
	c.log.InfoContext(ctx, "called", "method", method, "calls", count, "status_code", code, "error", err.Error())
}
