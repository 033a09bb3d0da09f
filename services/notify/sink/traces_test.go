package sink

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A sink joins the traces that are recorded and begins none; without --otlp nothing stands before it.
func TestSpans(t *testing.T) {
	var exports atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { exports.Add(1) }))
	defer collector.Close()
	tracer, err := startTracer(collector.URL, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	s := newSink(t, Config{})
	h := traced(s, tracer)
	for _, parent := range []string{
		"", "nonsense",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	} {
		if code := post(h, "/", body(1, "a"), http.Header{"Traceparent": {parent}}); code != http.StatusNoContent {
			t.Errorf("%q: %d", parent, code)
		}
	}
	stopTracer(tracer, io.Discard)
	if n := tracer.Counts(); n.Ended != 1 || n.Exported != 1 || exports.Load() != 1 || s.Stats().Webhooks != 4 {
		t.Errorf("%+v in %d exports, %+v", n, exports.Load(), s.Stats())
	}
	if traced(s, nil) != http.Handler(s) {
		t.Error("something stands before a sink without traces")
	}
}

func TestLostSpansAreSaid(t *testing.T) {
	collector := httptest.NewServer(http.NotFoundHandler())
	collector.Close()
	var log bytes.Buffer
	tracer, err := startTracer(collector.URL, &log)
	if err != nil {
		t.Fatal(err)
	}
	post(traced(newSink(t, Config{}), tracer), "/", body(1, "a"), http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}})
	if stopTracer(tracer, &log); !strings.Contains(log.String(), "1 of 1 spans did not reach the collector") {
		t.Errorf("logged %s", log.String())
	}
}
