package dispatch

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"dyno/agent/monotonic"
	"dyno/services/notify/webhook"
)

// Names of the spans of a notice, all children of the request that it came with.
const (
	SpanQueue   = "queue"   // from acceptance until a worker takes it; includes waiting for earlier ones of its key
	SpanDeliver = "deliver" // an attempt
	SpanRetry   = "retry"   // from an attempt that failed until a worker takes it again
)

// spans makes the spans of notices after they were accepted. Without a tracer it makes none.
type spans struct{ tracer trace.Tracer }

// deliverySpan is a traced notice's part in one webhook.
type deliverySpan struct {
	from  *trace.SpanContext
	since int64 // when its wait began, ns, monotonic
	tries int   // this one included
	span  trace.Span
}

// pick collects the notices of a batch that are traced. The caller holds the subscriber's lock.
func (s spans) pick(b *batch) {
	for _, part := range b.parts {
		it := part.lane.first
		for range part.n {
			if it.notice.Trace != nil {
				since := it.since
				if it.tries > 1 {
					since = part.lane.parked
				}
				b.traced = append(b.traced, deliverySpan{from: it.notice.Trace, since: since, tries: it.tries})
			}
			it = it.next
		}
	}
}

// begin records how long the notices have waited, begins the spans of an attempt, and chooses the
// trace that the receiver may join: the first that is recorded, else the first. Every notice has
// spans of its own in its own trace, although notices may share a webhook.
func (s spans) begin(b *batch) {
	if len(b.traced) == 0 {
		return
	}
	if s.tracer != nil { // without a tracer the receiver joins the client's trace
		s.start(b)
	}
	b.Trace = *b.traced[0].from
	for _, t := range b.traced {
		if t.span != nil {
			b.Trace = t.span.SpanContext()
			return
		}
	}
}

func (s spans) start(b *batch) {
	now, ticks := time.Now(), monotonic.Now()
	for i := range b.traced {
		t := &b.traced[i]
		if !t.from.IsSampled() {
			continue
		}
		parent := trace.ContextWithSpanContext(context.Background(), *t.from)
		name := SpanQueue
		if t.tries > 1 {
			name = SpanRetry
		}
		_, wait := s.tracer.Start(parent, name, trace.WithTimestamp(now.Add(time.Duration(t.since-ticks))))
		wait.End(trace.WithTimestamp(now))
		_, t.span = s.tracer.Start(parent, SpanDeliver, trace.WithTimestamp(now), trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(semconv.HTTPRequestMethodPost, semconv.ServerAddress(b.Target.URL().Hostname()),
				semconv.HTTPRequestResendCount(t.tries-1), semconv.MessagingBatchMessageCount(len(b.Notices))))
	}
}

// end ends the attempt.
func (s spans) end(b *batch, o webhook.Outcome) {
	for _, t := range b.traced {
		if t.span == nil {
			continue
		}
		if o.Status != 0 {
			t.span.SetAttributes(semconv.HTTPResponseStatusCode(o.Status))
		}
		if !o.Delivered() {
			t.span.SetStatus(codes.Error, http.StatusText(o.Status))
		}
		t.span.End()
	}
}
