package tracing

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// warnEvery is the minimum time between two warnings about an unreachable collector.
const warnEvery = 30 * time.Second

// exporter counts exported and failed spans, and logs failures. Only one goroutine calls its
// ExportSpans.
type exporter struct {
	client                  sdk.SpanExporter
	log                     *slog.Logger
	warned                  time.Time
	ended, exported, failed atomic.Int64
	once                    sync.Once
	closed                  chan struct{} // no more spans will be exported
}

func newExporter(client sdk.SpanExporter, log *slog.Logger) *exporter {
	return &exporter{client: client, log: log, closed: make(chan struct{})}
}

// ExportSpans receives a context that ends after exportTimeout. It returns no errors: the SDK would
// print them.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.client.ExportSpans(ctx, spans)
	if err == nil {
		e.exported.Add(int64(len(spans)))
		return nil
	}
	e.failed.Add(int64(len(spans)))
	if now := time.Now(); now.Sub(e.warned) >= warnEvery {
		e.warned = now
		e.log.Warn("spans were not exported", "error", err.Error(), "failed", e.failed.Load())
	}
	return nil
}

func (e *exporter) Shutdown(ctx context.Context) error {
	err := e.client.Shutdown(ctx)
	e.once.Do(func() { close(e.closed) })
	return err
}

// counting counts the spans passed to the exporter.
type counting struct {
	sdk.SpanProcessor
	ended *atomic.Int64
}

func (c counting) OnEnd(s sdk.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		c.ended.Add(1)
	}
	c.SpanProcessor.OnEnd(s)
}
