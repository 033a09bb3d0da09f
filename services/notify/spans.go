package notify

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"dyno/agent/monotonic"
	"dyno/parts/tracing"
)

// Names of the spans of a notice, all children of the request that it came with.
const (
	spanQueue   = "queue"   // from acceptance until a worker takes it; includes waiting for earlier ones of its key
	spanDeliver = "deliver" // an attempt
	spanRetry   = "retry"   // from an attempt that failed until a worker takes it again
)

// maxTraced bounds the notices of one request that have spans; the traces of the others go on unsampled.
// A batch of 10,000 would otherwise be a trace of 20,000 spans.
const maxTraced = 8

// spans makes the spans of notices after they were accepted. A nil one makes none.
type spans struct{ tracer trace.Tracer }

func newSpans(tracer trace.Tracer) *spans {
	if tracer == nil {
		return nil
	}
	return &spans{tracer}
}

// mark gives the notices of a request its place in a trace: that of its span, or, when this process makes no
// spans, the one that the request came with.
func (s *spans) mark(r *http.Request, notices []*notice) {
	at := trace.SpanContextFromContext(r.Context())
	if !at.IsValid() {
		at = tracing.Extract(r.Header)
	}
	if !at.IsValid() {
		return
	}
	first := min(len(notices), maxTraced)
	for _, n := range notices[:first] {
		n.trace = &at
	}
	rest := at.WithTraceFlags(at.TraceFlags().WithSampled(false))
	for _, n := range notices[first:] {
		n.trace = &rest
	}
}

// leg is a traced notice's part in one webhook.
type leg struct {
	from  *trace.SpanContext
	since int64 // when its wait began, ns, monotonic
	tries int   // this one included
	span  trace.Span
}

// pick notes which of a parcel's notices are traced. The caller holds the subscription's mutex.
func (s *spans) pick(p *parcel) {
	for _, part := range p.parts {
		it := part.lane.first
		for range part.n {
			if it.notice.trace != nil {
				since := it.since
				if it.tries > 1 {
					since = part.lane.parked
				}
				p.legs = append(p.legs, leg{from: it.notice.trace, since: since, tries: it.tries})
			}
			it = it.behind
		}
	}
}

// begin says how long the notices have waited, and begins an attempt. Every notice has spans of its own
// in its own trace, although they may share a webhook.
func (s *spans) begin(p *parcel) {
	if s == nil || len(p.legs) == 0 { // without a tracer the receiver joins the client's trace
		return
	}
	now, ticks := time.Now(), monotonic.Now()
	for i := range p.legs {
		leg := &p.legs[i]
		if !leg.from.IsSampled() {
			continue
		}
		parent := trace.ContextWithSpanContext(context.Background(), *leg.from)
		name := spanQueue
		if leg.tries > 1 {
			name = spanRetry
		}
		_, wait := s.tracer.Start(parent, name, trace.WithTimestamp(now.Add(time.Duration(leg.since-ticks))))
		wait.End(trace.WithTimestamp(now))
		_, leg.span = s.tracer.Start(parent, spanDeliver, trace.WithTimestamp(now), trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(semconv.HTTPRequestMethodPost, semconv.ServerAddress(p.target.Hostname()),
				semconv.HTTPRequestResendCount(leg.tries-1), semconv.MessagingBatchMessageCount(len(p.notices))))
	}
}

// end ends the attempt.
func (s *spans) end(p *parcel, o outcome) {
	for _, leg := range p.legs {
		if leg.span == nil {
			continue
		}
		if o.status != 0 {
			leg.span.SetAttributes(semconv.HTTPResponseStatusCode(o.status))
		}
		if !o.delivered() {
			leg.span.SetStatus(codes.Error, http.StatusText(o.status))
		}
		leg.span.End()
	}
}

// forwardTrace lets the receiver join a notice's trace: the first that is recorded, else the first.
func (p *parcel) forwardTrace(req *http.Request) {
	if len(p.legs) == 0 {
		return
	}
	at := *p.legs[0].from
	for _, leg := range p.legs {
		if leg.span != nil {
			at = leg.span.SpanContext()
			break
		}
	}
	tracing.Inject(at, req.Header)
}
