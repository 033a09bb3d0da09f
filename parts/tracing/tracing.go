// Package tracing exports a service's spans over OTLP/HTTP and joins them to the traces of its
// callers (W3C traceparent). It configures the OpenTelemetry SDK with limits: a slow, hanging or
// unreachable collector costs spans, never the service's time.
//
// It is not for a service without traces: such a service has no Tracer, wraps no handler and pays
// nothing. It does not decide which steps of a service get a span.
//
// A Tracer owns one goroutine, which exports; it has ended when Close returns.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"dyno/parts/hostport"
)

// Limits of the export.
const (
	maxQueue      = 8192 // spans waiting for export, about 8 MB; further ones are dropped
	maxBatch      = 512  // spans in a request
	delay         = time.Second
	exportTimeout = 5 * time.Second // of a batch, with its retries
	dialTimeout   = 2 * time.Second
)

// FlushTimeout is the time that an ending process gives Close: enough for the waiting spans, and a
// limit if the collector does not answer.
const FlushTimeout = 2 * time.Second

const tracesPath = "/v1/traces" // path at which a collector accepts traces

// Config of a Tracer.
type Config struct {
	URL     string // of the collector; /v1/traces is added if it has no path
	Service string // service.name
	Rates   Rates  // the zero value samples only traces that the caller has sampled
	Log     *slog.Logger
}

// Tracer starts spans and exports them until it is closed.
type Tracer struct {
	trace.Tracer
	rates     Rates
	provider  *sdk.TracerProvider
	batches   sdk.SpanProcessor
	exporter  *exporter
	transport *http.Transport
}

// Start returns a Tracer, or an error that describes what is wrong with the URL. The collector need
// not be reachable. The environment may add headers for it, such as an API key
// (OTEL_EXPORTER_OTLP_HEADERS), and attributes of the resource (OTEL_RESOURCE_ATTRIBUTES).
func Start(c Config) (*Tracer, error) {
	endpoint, err := endpointOf(c.URL)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext,
	}
	client, err := otlptracehttp.New(context.Background(), // it does not connect yet
		otlptracehttp.WithEndpointURL(endpoint),
		otlptracehttp.WithHTTPClient(&http.Client{Transport: transport, Timeout: exportTimeout}),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
	)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(context.Background(), resource.WithFromEnv(), resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName(c.Service)))
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	t := &Tracer{rates: c.Rates, exporter: newExporter(client, c.Log), transport: transport}
	t.batches = sdk.NewBatchSpanProcessor(t.exporter, sdk.WithMaxQueueSize(maxQueue), sdk.WithMaxExportBatchSize(maxBatch),
		sdk.WithBatchTimeout(delay), sdk.WithExportTimeout(exportTimeout))
	t.provider = sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithSampler(c.Rates.Sampler()),
		sdk.WithSpanProcessor(counting{t.batches, &t.exporter.ended}))
	t.Tracer = t.provider.Tracer("dyno/parts/tracing")
	return t, nil
}

func endpointOf(text string) (string, error) {
	u, err := url.Parse(text)
	is := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
	switch {
	case is && (u.User != nil || u.RawQuery != ""), !is && strings.ContainsAny(text, "@?"):
		// The URL is not part of the error: logs are stored and shared.
		return "", errors.New("a collector's address holds no password and no query; pass credentials in OTEL_EXPORTER_OTLP_HEADERS, such as Authorization=Bearer%20TOKEN")
	case !is:
		return "", fmt.Errorf("%q is not a collector's address; an example is http://127.0.0.1:4318", text)
	}
	if err := hostport.CheckPort(u); err != nil {
		return "", err
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = tracesPath
	}
	return u.String(), nil
}

// Close exports ended spans until ctx ends, and drops the rest; the error contains the number of
// spans lost since Start.
func (t *Tracer) Close(ctx context.Context) error {
	// If ctx has already ended, the provider would not stop the processor at all; the processor starts
	// to stop before it checks ctx.
	if t.batches.Shutdown(ctx) != nil {
		t.exporter.client.Shutdown(context.Background()) // ends the request in progress and later ones
	}
	<-t.exporter.closed
	t.provider.Shutdown(context.Background()) // its processor has ended
	t.transport.CloseIdleConnections()
	if c := t.Counts(); c.Exported < c.Ended {
		return fmt.Errorf("%d of %d spans did not reach the collector", c.Ended-c.Exported, c.Ended)
	}
	return nil
}

// Counts are numbers of sampled spans since Start. Spans neither exported nor failed are waiting,
// or were dropped because too many waited.
type Counts struct{ Ended, Exported, Failed int64 }

// Counts returns the counters.
func (t *Tracer) Counts() Counts {
	// Ended last: it is never less than the others.
	c := Counts{Exported: t.exporter.exported.Load(), Failed: t.exporter.failed.Load()}
	c.Ended = t.exporter.ended.Load()
	return c
}

// Inject writes the span context to a request's header, so that the receiver can join the trace.
func Inject(at trace.SpanContext, header http.Header) {
	ctx := trace.ContextWithSpanContext(context.Background(), at)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
}

// Extract reads a request's traceparent; the zero context means that it has none.
func Extract(header Header) trace.SpanContext {
	if header.Get(parentHeader) == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), readOnly{header})
	return trace.SpanContextFromContext(ctx)
}
