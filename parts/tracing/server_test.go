package tracing

import (
	"context"
	"io"
	"net/http"
	"testing"

	"dyno/parts/httploop/wire"
)

// heads are of requests without a traceparent, and with one whose caller records nothing.
var heads = map[string]*wire.Head{
	"root":  {Fields: []wire.Field{{Name: "Host", Value: "x"}, {Name: "Content-Type", Value: "a/b"}, {Name: "User-Agent", Value: "x"}}},
	"child": {Fields: []wire.Field{{Name: "Host", Value: "x"}, {Name: "traceparent", Value: unsampled}}},
}

// What a request that is not recorded allocates. It was 2 and 5 when this was written, in the SDK.
func TestUnsampledAllocations(t *testing.T) {
	tracer := start(t, silent(t), Rates{}, io.Discard)
	defer tracer.Close(t.Context())
	route := Route{"POST /v1/notices", "/v1/notices"}
	for name, most := range map[string]float64{"root": 3, "child": 7} {
		got := testing.AllocsPerRun(100, func() {
			_, span := Begin(context.Background(), tracer.Tracer, route, Head{heads[name]})
			End(span, route, "POST", 202)
		})
		t.Logf("%s: %v allocations", name, got)
		if got > most {
			t.Errorf("%s: %v allocations, more than %v", name, got, most)
		}
	}
}

// A head and a net/http header say the same.
func TestHead(t *testing.T) {
	h := &wire.Head{Fields: []wire.Field{{Name: "TraceParent", Value: sampled}, {Name: "tracestate", Value: "a=b"}, {Name: "X-Trace-Sampling", Value: "0.5"}}}
	same := http.Header{"Traceparent": {sampled}, "Tracestate": {"a=b"}, SamplingHeader: {"0.5"}}
	if got, want := Extract(Head{h}), Extract(same); !got.Equal(want) || got.TraceState().String() != "a=b" {
		t.Errorf("%v, want %v", got, want)
	}
	for _, header := range []Header{Head{h}, same} {
		if rate, ok := Asked(WithSampling(t.Context(), header)); !ok || rate != 0.5 {
			t.Errorf("%T: %v %v", header, rate, ok)
		}
	}
	if Extract(Head{&wire.Head{}}).IsValid() {
		t.Error("a trace without a traceparent")
	}
}

// The names of spans are those of the handler's routes.
func TestRouteOf(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/things", http.NotFound)
	mux.HandleFunc("/{$}", http.NotFound)
	for _, c := range []struct {
		h            http.Handler
		method, path string
		want         Route
	}{
		{mux, "POST", "/v1/things", Route{"POST /v1/things", "/v1/things"}},
		{mux, "POST", "/", Route{"/{$}", "/{$}"}},
		{mux, "GET", "/none", Route{Name: unrouted}},
		{http.NotFoundHandler(), "POST", "/v1/things", Route{Name: unrouted}},
	} {
		if got := RouteOf(c.h, c.method, c.path); got != c.want {
			t.Errorf("%s %s: %v, want %v", c.method, c.path, got, c.want)
		}
	}
}
