package sink

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"dyno/parts/daemon"
	"dyno/parts/tracing"
)

// spanReceive is a webhook's span, from its arrival to the answer.
const spanReceive = "receive"

// startTracer returns nil without a URL. No trace begins at a sink: it joins those of its callers.
func startTracer(url string, stderr io.Writer) (*tracing.Tracer, error) {
	if url == "" {
		return nil, nil
	}
	tracer, err := tracing.Start(tracing.Config{URL: url, Service: "notifyd sink", Log: newLog(stderr)})
	if err != nil {
		return nil, daemon.Usage(fmt.Errorf("--otlp: %w", err))
	}
	return tracer, nil
}

// stopTracer exports the last spans and says when some were lost.
func stopTracer(tracer *tracing.Tracer, stderr io.Writer) {
	if tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), tracing.FlushTimeout)
	defer cancel()
	if err := tracer.Close(ctx); err != nil {
		newLog(stderr).Warn("traces are incomplete", "error", err.Error())
	}
}

func newLog(stderr io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(stderr, nil)) }

func traced(s *Sink, tracer *tracing.Tracer) http.Handler {
	if tracer == nil {
		return s
	}
	return tracer.Wrap(spanReceive, s)
}
