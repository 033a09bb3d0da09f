package chain

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"dyno/parts/daemon"
	"dyno/parts/httploop/wire"
	"dyno/parts/tracing"
	"dyno/services/chain/jsonrpc"
)

// traced makes a span of each POST. A WebSocket is none, since it may stay open for days: its calls
// are traces of their own, or belong to the one that its traceparent names. Where calls are logged
// without spans, only the client's rate is read.
func traced(env *daemon.Env, logged bool, next http.Handler) http.Handler {
	switch {
	case env.Tracer == nil && !logged:
		return next
	case env.Tracer == nil:
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(tracing.WithSampling(r.Context(), r.Header)))
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			next.ServeHTTP(w, r.WithContext(trace.ContextWithRemoteSpanContext(r.Context(), tracing.Extract(r.Header))))
			return
		}
		ctx, span := env.Tracer.Start(r.Context(), spanRequest)
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// traces makes the spans of requests that the event loop serves, as traced and the server's span
// around it do. One that is recorded, or has a rate of its own, is run alone. The handler is
// net/http's, for the span's name. Nil: there is nothing to begin.
func traces(env *daemon.Env, logged bool, h http.Handler) func(*wire.Head) (context.Context, func(status int)) {
	none := func(int) {}
	alone := func(ctx context.Context) (context.Context, func(int)) {
		if _, asked := tracing.Asked(ctx); asked {
			return ctx, none
		}
		return ctx, nil
	}
	switch {
	case env.Tracer == nil && !logged:
		return nil
	case env.Tracer == nil:
		return func(h *wire.Head) (context.Context, func(int)) {
			return alone(tracing.WithSampling(context.Background(), tracing.Head{Head: h}))
		}
	}
	route := tracing.RouteOf(h, http.MethodPost, "/")
	return func(h *wire.Head) (context.Context, func(int)) {
		ctx, recorded := context.Background(), true
		if !logged { // a line in the log has the id of its trace
			ctx, recorded = env.Tracer.Draw(route, tracing.Head{Head: h})
		}
		if !recorded {
			return ctx, nil
		}
		ctx, outer := tracing.Begin(ctx, env.Tracer, route, tracing.Head{Head: h})
		if !outer.IsRecording() {
			return alone(ctx)
		}
		ctx, inner := env.Tracer.Start(ctx, spanRequest)
		return ctx, func(status int) {
			inner.End()
			tracing.End(outer, route, http.MethodPost, status)
		}
	}
}

// spanRequest is the name of a span, below the server's.
const spanRequest = "rpc/http.request"

// calls makes a span of each call, and a line in the log of each whose trace is recorded and of a
// share of the others.
type calls struct {
	tracer trace.Tracer  // nil: no spans
	rates  tracing.Rates // by method; nil: no lines beyond those of recorded traces
	log    *slog.Logger
}

// watch makes the methods do so; without spans and rates they stay as they are.
func (c calls) watch(methods map[string]jsonrpc.Method, together map[string]func(context.Context, []jsonrpc.Call)) error {
	for name := range c.rates {
		if methods[name] == nil && name != tracing.Others {
			return daemon.Usage(fmt.Errorf("--log-sample: there is no method %q", name))
		}
	}
	if c.tracer == nil && c.rates == nil {
		return nil
	}
	for name, m := range methods {
		watched := func(ctx context.Context, params []byte) (result any, err error) {
			c.run(ctx, name, 1, func(ctx context.Context) error {
				result, err = m(ctx, params)
				return err
			})
			return result, err
		}
		methods[name] = func(ctx context.Context, params []byte) (any, error) {
			if c.idle(ctx) {
				return m(ctx, params)
			}
			return watched(ctx, params)
		}
	}
	for name, m := range together {
		together[name] = func(ctx context.Context, all []jsonrpc.Call) {
			if c.idle(ctx) {
				m(ctx, all)
				return
			}
			c.run(ctx, name, len(all), func(ctx context.Context) error {
				m(ctx, all)
				return nil
			})
		}
	}
	return nil
}

func (c calls) run(ctx context.Context, method string, count int, do func(context.Context) error) {
	span := trace.SpanFromContext(context.Background()) // records nothing
	if c.tracer != nil && tracing.Records(ctx) {
		ctx, span = c.tracer.Start(ctx, method)
		defer span.End()
	}
	began := time.Now()
	err := do(ctx)
	if !span.IsRecording() && rand.Float64() >= c.rate(ctx, method) {
		return
	}
	span.SetAttributes(attribute.Int("rpc.calls", count))
	line := []any{"method", method, "calls", count, "duration", time.Since(began)}
	if err == nil {
		c.log.InfoContext(ctx, "called", append(line, "status_code", 0)...)
		return
	}
	code := jsonrpc.AsError(err).Code
	span.SetAttributes(attribute.Int("rpc.jsonrpc.error_code", code))
	span.SetStatus(codes.Error, err.Error())
	c.log.InfoContext(ctx, "called", append(line, "status_code", code, "error", err.Error())...)
}

// idle reports whether a call can have neither a span nor a line.
func (c calls) idle(ctx context.Context) bool { return c.rates == nil && !tracing.Records(ctx) }

// rate is the share of such calls that are logged although their trace is not recorded. Where there
// are traces, the rate that a client has set has had its effect.
func (c calls) rate(ctx context.Context, method string) float64 {
	own, ok := tracing.Asked(ctx)
	switch {
	case !ok:
		return c.rates.Of(method)
	case c.tracer != nil:
		return 0
	}
	return own
}
