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

// Draw records a share of the requests that come without a decision, and leaves the others to Begin.
func TestDraw(t *testing.T) {
	c := collect(t)
	tracer := start(t, c.URL, Rates{"/half": 0.5, "/all": 1}, io.Discard)
	// Before there is anything to export, which allocates in another goroutine.
	if n := testing.AllocsPerRun(100, func() { tracer.Draw(Route{Name: "/none"}, Head{heads["root"]}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	for _, tt := range []struct {
		route       string
		field       wire.Field
		least, most int // of 1,000 requests, recorded
	}{
		{"/half", wire.Field{Name: "Host"}, 400, 600}, {"/all", wire.Field{Name: "Host"}, 1000, 1000}, {"/none", wire.Field{Name: "Host"}, 0, 0},
		{"/none", wire.Field{Name: "traceparent", Value: sampled}, 1000, 1000}, {"/all", wire.Field{Name: "traceparent", Value: unsampled}, 0, 0},
		{"/none", wire.Field{Name: "x-trace-sampling", Value: "1"}, 1000, 1000}, {"/all", wire.Field{Name: "x-trace-sampling", Value: "0"}, 0, 0},
	} {
		recorded := 0
		for range 1000 {
			header := Head{&wire.Head{Fields: []wire.Field{tt.field}}}
			ctx, goOn := tracer.Draw(Route{Name: tt.route}, header)
			if goOn != Records(ctx) {
				t.Fatalf("%v: go on %v, records %v", tt, goOn, Records(ctx))
			}
			if !goOn {
				continue
			}
			ctx, span := Begin(ctx, tracer.Tracer, Route{Name: tt.route}, header)
			if span.IsRecording() {
				recorded++
			}
			if Records(ctx) != span.IsRecording() {
				t.Fatalf("%v: a span below it: %v", tt, Records(ctx))
			}
			span.End()
		}
		if recorded < tt.least || recorded > tt.most {
			t.Errorf("%v: %d recorded", tt, recorded)
		}
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Error(err)
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
