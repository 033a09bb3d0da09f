//go:build linux

package notify

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"dyno/parts/tracing"
	"dyno/services/notify/dispatch"
)

const (
	aTrace  = "0af7651916cd43dd8448eb211c80319c"
	aParent = "00-" + aTrace + "-b7ad6b7169203331-"
)

// The front makes the spans that parts/tracing makes for net/http, in the trace of the caller, or at
// the rate of the route.
func TestFrontSpans(t *testing.T) {
	const last = "Connection: close\r\n"
	for _, tt := range []struct {
		name, sent string
		rate       tracing.Rates
		want       []string
	}{
		{"one", postOf(last, `{"key":"k","type":"t"}`), tracing.Rates{"POST /v1/notices": 1}, []string{"POST /v1/notices 202"}},
		{"another route's rate", postOf(last, `{"key":"k","type":"t"}`), tracing.Rates{"GET /v1/dead": 1}, nil},
		{"a bad one", postOf(last, `{}`), tracing.Rates{tracing.Others: 1}, []string{"POST /v1/notices 400"}},
		{"a caller's decision to record", postOf("TraceParent: "+aParent+"01\r\nTracestate: a=b\r\n"+last, `{"key":"k","type":"t"}`), nil, []string{"POST /v1/notices 202 a=b"}},
		{"a caller's decision not to", postOf("traceparent: "+aParent+"00\r\n"+last, `{"key":"k","type":"t"}`), tracing.Rates{tracing.Others: 1}, nil},
		{"a client's rate", postOf("x-trace-sampling: 1\r\n"+last, `{"key":"k","type":"t"}`), nil, []string{"POST /v1/notices 202"}},
		{"a client's rate of 0", postOf("X-Trace-Sampling: 0\r\n"+last, `{"key":"k","type":"t"}`), tracing.Rates{tracing.Others: 1}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spans := tracetest.NewSpanRecorder()
			provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans), sdk.WithSampler(tt.rate.Sampler()))
			s := newFronted(t, "loop", func(c *Config) { c.Tracer = provider.Tracer("test") })
			s.talk(t, tt.sent)
			if n := s.front.Stats().Requests; n != 1 {
				t.Fatalf("the front served %d requests", n)
			}
			var got []string
			for _, span := range spans.Ended() {
				got = append(got, spanText(t, span))
				if state := span.SpanContext().TraceState().String(); state != "" {
					got[0] += " " + state
				}
				if strings.Contains(tt.sent, aTrace) != (span.SpanContext().TraceID().String() == aTrace) {
					t.Errorf("it is of the trace %s", span.SpanContext().TraceID())
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func spanText(t *testing.T, s sdk.ReadOnlySpan) string {
	t.Helper()
	of := map[string]string{}
	for _, a := range s.Attributes() {
		of[string(a.Key)] = a.Value.String()
	}
	if s.SpanKind() != trace.SpanKindServer || of["http.request.method"] != "POST" || of["http.route"] != "/v1/notices" || len(of) != 3 {
		t.Errorf("%s: %v %v", s.Name(), s.SpanKind(), of)
	}
	return s.Name() + " " + of["http.response.status_code"]
}

// A notice keeps its place in a trace when the buffer of its connection is used again.
func TestFrontKeepsTraces(t *testing.T) {
	s := newFronted(t, "loop", nil)
	parents, next := make(chan string), make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		parents <- r.Header.Get("Traceparent") + " " + r.Header.Get("Tracestate")
		<-next
	}))
	defer receiver.Close()
	defer close(next)
	if _, _, err := s.d.table.Subscribe(dispatch.SubscriptionRequest{URL: &receiver.URL}); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer := make([]byte, 4096)
	for i := range 3 {
		io.WriteString(conn, postOf(fmt.Sprintf("traceparent: 00-%032x-b7ad6b7169203331-01\r\ntracestate: v=%d\r\n", i+1, i), `{"key":"k","type":"t"}`))
		if n, err := conn.Read(answer); err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 202 ") {
			t.Fatal(string(answer[:n]), err)
		}
	}
	for i := range 3 {
		if i > 0 {
			next <- struct{}{}
		}
		if got, want := <-parents, fmt.Sprintf("00-%032x-b7ad6b7169203331-01 v=%d", i+1, i); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
