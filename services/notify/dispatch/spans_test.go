package dispatch

import (
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"dyno/services/notify/notice"
	"dyno/services/notify/webhook"
)

// The first wait counts from acceptance, a further one from the attempt before it.
func TestWaitsBegin(t *testing.T) {
	s := spans{sdk.NewTracerProvider().Tracer("test")}
	r := newTestSubscriber(t)
	l := &lane{sub: r}
	at := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	l.append(&item{notice: &notice.Notice{Trace: &at}})
	l.first.since, l.parked = 100, 300
	for _, want := range []deliverySpan{{from: &at, since: 100, tries: 1}, {from: &at, since: 300, tries: 2}} {
		var b batch
		b.reset(r)
		b.add(l, 1)
		if s.pick(&b); len(b.traced) != 1 || b.traced[0] != want {
			t.Errorf("%+v, want %+v", b.traced, want)
		}
	}
}

// Of notices that share a webhook, one whose trace is recorded is forwarded before those whose is
// not.
func TestRecordedTraceIsForwardedFirst(t *testing.T) {
	at := func(id byte, flags trace.TraceFlags) *trace.SpanContext {
		c := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{id}, SpanID: trace.SpanID{id}, TraceFlags: flags})
		return &c
	}
	s := spans{sdk.NewTracerProvider().Tracer("test")}
	var b batch
	b.reset(newTestSubscriber(t))
	b.traced = []deliverySpan{{from: at(1, 0), tries: 1}, {from: at(2, trace.FlagsSampled), tries: 1}, {from: at(3, trace.FlagsSampled), tries: 1}}
	s.begin(&b)
	s.end(&b, webhook.Outcome{})
	if want := b.traced[1].span.SpanContext(); !b.Trace.Equal(want) {
		t.Errorf("forwarded %v, want %v", b.Trace, want)
	}
}

// Without traces an attempt costs nothing for them.
func TestNoTracesNoCost(t *testing.T) {
	var s spans
	r := newTestSubscriber(t)
	l := &lane{sub: r}
	l.append(&item{notice: &notice.Notice{}})
	var b batch
	b.reset(r)
	b.add(l, 1)
	if got := testing.AllocsPerRun(1000, func() {
		s.pick(&b)
		s.begin(&b)
		s.end(&b, webhook.Outcome{})
	}); got != 0 || b.Trace.IsValid() {
		t.Errorf("%v allocations, trace %v", got, b.Trace)
	}
}
