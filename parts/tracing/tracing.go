// Package tracing exports a service's spans over OTLP/HTTP and joins them to the traces of its callers
// (W3C traceparent). It sets up the OpenTelemetry SDK within bounds: a collector that is slow, hangs or is
// away costs spans, never the service's time.
//
// It is not for a service without traces: such a one has no Tracer, wraps nothing and pays nothing. And
// it does not say which steps of a service are worth a span.
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

// Bounds of the export.
const (
	maxQueue      = 8192 // spans that wait for it; some 8 MB. Further ones are dropped
	maxBatch      = 512  // spans in a request
	delay         = time.Second
	exportTimeout = 5 * time.Second // of a batch, with its retries
	dialTimeout   = 2 * time.Second
)

// FlushTimeout is what a process that ends gives Close: enough for what waits, and no more than a collector
// that does not answer may hold it up.
const FlushTimeout = 2 * time.Second

const tracesPath = "/v1/traces" // where a collector takes traces

// Config of a Tracer.
type Config struct {
	URL     string // of the collector; without a path, /v1/traces is added
	Service string // service.name
	Rates   Rates  // the zero value samples what the caller has sampled, and nothing else
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

// Start returns a Tracer; the error says what is wrong with the URL. The collector need not be there.
// Headers for it (an API key) are taken from the environment, OTEL_EXPORTER_OTLP_HEADERS, further
// attributes of the resource from OTEL_RESOURCE_ATTRIBUTES.
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
	t.provider = sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithSampler(c.Rates.sampler()),
		sdk.WithSpanProcessor(counting{t.batches, &t.exporter.ended}))
	t.Tracer = t.provider.Tracer("dyno/parts/tracing")
	return t, nil
}

func endpointOf(text string) (string, error) {
	u, err := url.Parse(text)
	is := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
	switch {
	case is && (u.User != nil || u.RawQuery != ""), !is && strings.ContainsAny(text, "@?"):
		// It is not repeated: logs are kept and shown around.
		return "", errors.New("a collector's address holds no password and no query; what the collector is to know of us goes into OTEL_EXPORTER_OTLP_HEADERS, such as Authorization=Bearer%20TOKEN")
	case !is:
		return "", fmt.Errorf("%q is no collector's address such as http://127.0.0.1:4318", text)
	}
	if err := hostport.CheckPort(u); err != nil {
		return "", err
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = tracesPath
	}
	return u.String(), nil
}

// Close exports what has ended, until ctx ends, and lets go of the rest; the error says how many spans
// were lost since Start.
func (t *Tracer) Close(ctx context.Context) error {
	// The provider would not even tell the processor when ctx has ended already; the processor begins to end
	// before it looks at ctx.
	if t.batches.Shutdown(ctx) != nil {
		t.exporter.client.Shutdown(context.Background()) // ends the request under way and those to come
	}
	<-t.exporter.closed
	t.provider.Shutdown(context.Background()) // its processor has ended
	t.transport.CloseIdleConnections()
	if c := t.Counts(); c.Exported < c.Ended {
		return fmt.Errorf("%d of %d spans did not reach the collector", c.Ended-c.Exported, c.Ended)
	}
	return nil
}

// Counts are of sampled spans since Start. What is neither exported nor failed waits, or was dropped
// because too many waited.
type Counts struct{ Ended, Exported, Failed int64 }

// Counts reads the counters.
func (t *Tracer) Counts() Counts {
	// Ended last: it is never less than the others.
	c := Counts{Exported: t.exporter.exported.Load(), Failed: t.exporter.failed.Load()}
	c.Ended = t.exporter.ended.Load()
	return c
}

// Inject writes the span context into a request's header, so that the receiver can join the trace.
func Inject(at trace.SpanContext, header http.Header) {
	ctx := trace.ContextWithSpanContext(context.Background(), at)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
}

// Extract reads the traceparent of a request; the zero context says that it has none.
func Extract(header http.Header) trace.SpanContext {
	if header.Get("Traceparent") == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(header))
	return trace.SpanContextFromContext(ctx)
}
