package sink

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"dyno/parts/daemon"
	"dyno/parts/tracing"
)

// spanReceive is a webhook's span, from its arrival to the answer.
const spanReceive = "receive"

// flushTimeout bounds how long a collector that does not answer can hold the end of the sink up.
const flushTimeout = 2 * time.Second

// startTracer returns nil without a URL. No trace begins at a sink: it joins those of its callers.
func startTracer(url string, stderr io.Writer) (*tracing.Tracer, error) {
	if url == "" {
		return nil, nil
	}
	tracer, err := tracing.Start(tracing.Config{URL: url, Service: "notifyd sink", Log: slog.New(slog.NewJSONHandler(stderr, nil))})
	if err != nil {
		return nil, daemon.Usage(fmt.Errorf("--otlp: %w", err))
	}
	return tracer, nil
}

func stopTracer(tracer *tracing.Tracer) {
	if tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	tracer.Close(ctx) // what was lost has been said, if it was for a reason
}

func traced(s *Sink, tracer *tracing.Tracer) http.Handler {
	if tracer == nil {
		return s
	}
	return tracer.Wrap(spanReceive, s)
}
