package tracing

import (
	"context"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// traceKey is the top-level key of the trace ID in a log line.
const traceKey = "trace_id"

// Log wraps a handler so that log lines whose context has a span contain its trace ID, at the top
// level even inside groups.
func Log(h slog.Handler) slog.Handler { return logHandler{Handler: h, top: h} }

type logHandler struct {
	slog.Handler
	top   slog.Handler                      // before the first group was opened
	since []func(slog.Handler) slog.Handler // operations since then
}

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	at := trace.SpanContextFromContext(ctx)
	if !at.HasTraceID() {
		return h.Handler.Handle(ctx, r)
	}
	with := h.top.WithAttrs([]slog.Attr{slog.String(traceKey, at.TraceID().String())})
	for _, do := range h.since {
		with = do(with)
	}
	return with.Handle(ctx, r)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := func(to slog.Handler) slog.Handler { return to.WithAttrs(attrs) }
	if len(h.since) == 0 {
		return Log(with(h.Handler))
	}
	return h.then(with)
}

func (h logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.then(func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
}

func (h logHandler) then(do func(slog.Handler) slog.Handler) slog.Handler {
	return logHandler{Handler: do(h.Handler), top: h.top, since: append(slices.Clip(h.since), do)}
}
