package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collected is what a collector received.
type collected struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*tracepb.Span
	service string
}

func collect(t *testing.T) *collected {
	c := &collected{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request collector.ExportTraceServiceRequest
		zip, err := gzip.NewReader(r.Body)
		if err != nil || r.URL.Path != tracesPath {
			t.Errorf("%s: %v", r.URL, err)
			return
		}
		body, err := io.ReadAll(zip)
		if err != nil || proto.Unmarshal(body, &request) != nil {
			t.Error("no request", err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range request.ResourceSpans {
			for _, a := range resource.Resource.Attributes {
				if a.Key == "service.name" {
					c.service = a.Value.GetStringValue()
				}
			}
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// names returns the names of the received spans, in order.
func (c *collected) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, s := range c.spans {
		out = append(out, s.Name)
	}
	slices.Sort(out)
	return out
}

// attribute returns a span's attribute; "" if it has none.
func attribute(s *tracepb.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

func start(t testing.TB, url string, rates Rates, log io.Writer) *Tracer {
	t.Helper()
	tracer, err := Start(Config{URL: url, Service: "toyd", Rates: rates, Log: slog.New(slog.NewJSONHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

const (
	sampled   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

func request(method, path, parent string) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	if parent != "" {
		r.Header.Set("traceparent", parent)
	}
	return r
}

func TestRoutesAndRates(t *testing.T) {
	c := collect(t)
	tracer := start(t, c.URL, Rates{"GET /a/{id}": 1, Others: 0}, io.Discard)
	mux := http.NewServeMux()
	var forwarded []string
	note := func(w http.ResponseWriter, r *http.Request) {
		header := http.Header{}
		Inject(trace.SpanContextFromContext(r.Context()), header)
		forwarded = append(forwarded, header.Get("traceparent"))
		w.(http.Flusher).Flush()
		if r.URL.Path == "/fails" {
			w.WriteHeader(http.StatusTeapot + 100)
		}
	}
	mux.HandleFunc("GET /a/{id}", note)
	mux.HandleFunc("/fails", note)
	h, err := tracer.Routes(mux)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*http.Request{
		request("GET", "/a/1", ""), request("GET", "/a/2", unsampled),
		request("GET", "/fails", ""), request("PUT", "/fails", sampled),
		request("GET", "/nowhere", sampled), request("GET", "/nowhere", "nonsense"),
	} {
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got, want := c.names(), []string{"/fails", "GET /a/{id}", unrouted}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if c.service != "toyd" {
		t.Errorf("the service is called %q", c.service)
	}
	for i, flag := range []string{"01", "00", "00", "01"} {
		ofCaller := strings.Contains(forwarded[i], sampled[3:35])
		if !strings.HasSuffix(forwarded[i], flag) || ofCaller != (i == 1 || i == 3) || forwarded[i] == sampled {
			t.Errorf("request %d was forwarded as %s", i, forwarded[i])
		}
	}
	routes := map[string]string{"/fails": "/fails", "GET /a/{id}": "/a/{id}", unrouted: ""}
	for _, s := range c.spans {
		if got := attribute(s, "http.route"); got != routes[s.Name] {
			t.Errorf("the route of %s is %q", s.Name, got)
		}
		if s.Name == "/fails" && (s.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET || s.Kind != tracepb.Span_SPAN_KIND_SERVER) {
			t.Errorf("what was flushed as 200 is %v", s)
		}
	}
}

// A client sets the rate for its own request; a traceparent decides before it, and nonsense does
// not count.
func TestSamplingHeader(t *testing.T) {
	c := collect(t)
	tracer := start(t, c.URL, Rates{"/off": 0, Others: 1}, io.Discard)
	mux := http.NewServeMux()
	for _, path := range []string{"/off", "/on"} {
		mux.HandleFunc(path, func(http.ResponseWriter, *http.Request) {})
	}
	h, err := tracer.Routes(mux)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path, parent, rate string
		want               int
	}{
		{"/off", "", "1", 1}, {"/off", "", "1.1", 0}, {"/off", "", "NaN", 0}, {"/off", "", "-1", 0}, {"/off", sampled, "0", 1},
		{"/on", "", "0", 0}, {"/on", "", "x", 1}, {"/on", unsampled, "1", 0},
	} {
		before := tracer.Counts().Ended
		r := request("GET", tt.path, tt.parent)
		r.Header.Set(SamplingHeader, tt.rate)
		h.ServeHTTP(httptest.NewRecorder(), r)
		if got := tracer.Counts().Ended - before; got != int64(tt.want) {
			t.Errorf("%v: %d spans", tt, got)
		}
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestServerErrorsAreErrors(t *testing.T) {
	c := collect(t)
	tracer := start(t, c.URL, Rates{Others: 1}, io.Discard)
	codes := []int{200, 404, 500, 103}
	h := tracer.Wrap("work", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(codes[0])
		w.WriteHeader(500) // too late, except after 103
	}))
	for len(codes) > 0 {
		h.ServeHTTP(httptest.NewRecorder(), request("GET", "/", ""))
		codes = codes[1:]
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Error(err)
	}
	failed := 0
	for _, s := range c.spans {
		if s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
			failed++
		}
	}
	if failed != 2 || len(c.spans) != 4 {
		t.Errorf("%d of %d spans failed", failed, len(c.spans))
	}
}

func TestUnknownRoutes(t *testing.T) {
	mux := http.NewServeMux()
	for _, pattern := range []string{"GET /a/{id}", "/b/{rest...}", "POST example.com/c", "GET /{$}"} {
		mux.HandleFunc(pattern, http.NotFound)
		tracer := &Tracer{rates: Rates{pattern: 1, Others: 0}}
		if _, err := tracer.Routes(mux); err != nil {
			t.Error(err)
		}
	}
	for _, route := range []string{"GET /a", "POST /a/{id}", "/a/{id}", "", "GET", "GET /a/{id}/"} {
		tracer := &Tracer{rates: Rates{route: 1}}
		if _, err := tracer.Routes(mux); err == nil {
			t.Errorf("%q was taken", route)
		}
	}
	if _, err := (&Tracer{rates: Rates{"GET /": 1}}).Routes(http.NotFoundHandler()); err == nil {
		t.Error("a route of a handler without routes was taken")
	}
}

func TestParseRates(t *testing.T) {
	for _, text := range []string{"", "x", "-0.1", "1.1", "NaN", "+Inf"} {
		if r, err := ParseRates(map[string]string{"GET /": text}); err == nil {
			t.Errorf("%q became %v", text, r)
		}
	}
	if r, err := ParseRates(map[string]string{"GET /": "0.5", Others: "1"}); err != nil || r["GET /"] != 0.5 || r[Others] != 1 {
		t.Error(r, err)
	}
}

func TestEndpoint(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:4318": "http://127.0.0.1:4318/v1/traces", "https://c/": "https://c/v1/traces", "http://c/x": "http://c/x",
		"127.0.0.1:4318": "", "ftp://c": "", "http://": "", "http://u:p@c": "", "": "", "http://c?x": "", "http://c:0": "", "http://c:99999": "",
	} {
		if got, err := endpointOf(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// Possible secrets are not repeated.
func TestEndpointKeepsSecrets(t *testing.T) {
	for _, text := range []string{"http://user:secret@c:4318", "user:secret@c:4318", "http://c?key=secret", "http://user:secret%@c", "http://user:secret@c:port"} {
		if _, err := endpointOf(text); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_HEADERS") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// silent accepts connections and never answers.
func silent(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return "http://" + l.Addr().String()
}

// An unreachable or hanging collector blocks neither the goroutines that create spans nor Close;
// lost spans are counted.
func TestCollectorAway(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	for name, url := range map[string]string{"refuses connections": gone.URL, "refuses requests": refusing.URL, "hangs": silent(t)} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			tracer := start(t, url, Rates{Others: 1}, &log)
			const spans = maxQueue + 3*maxBatch // more than may wait
			for range spans {
				_, span := tracer.Tracer.Start(t.Context(), "work")
				span.End()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := tracer.Close(ctx); err == nil || !strings.Contains(err.Error(), "did not reach") {
				t.Errorf("closing: %v", err)
			}
			if n := tracer.Counts(); n.Ended != spans || n.Exported != 0 || n.Failed == 0 {
				t.Errorf("%+v", n)
			}
			if strings.Count(log.String(), "not exported") != 1 {
				t.Errorf("logged %s", log.String())
			}
		})
	}
}

// Close without time left drops the waiting spans, and does not wait.
func TestCloseWithoutTime(t *testing.T) {
	tracer := start(t, silent(t), Rates{Others: 1}, io.Discard)
	_, span := tracer.Tracer.Start(t.Context(), "work")
	span.End()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tracer.Close(ctx); err == nil || !strings.Contains(err.Error(), "1 of 1 spans") {
		t.Errorf("closing: %v", err)
	}
	if err := tracer.Close(ctx); err == nil { // again: it neither hangs nor panics
		t.Error("closing again hides what was lost")
	}
}

func TestLog(t *testing.T) {
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}))
	var out bytes.Buffer
	log := slog.New(Log(slog.NewJSONHandler(&out, nil))).With("a", 1)
	grouped := log.WithGroup("").WithGroup("g").With("b", 2).WithGroup("h")
	grouped.With("never", 1) // does not affect other loggers
	for _, c := range []struct {
		log  func()
		want string
	}{
		{func() { log.InfoContext(ctx, "m", "k", 1) }, `{"a":1,"k":1,"trace_id":"01000000000000000000000000000000"}`},
		{func() { log.Info("m", "k", 1) }, `{"a":1,"k":1}`},
		{func() { grouped.InfoContext(ctx, "m", "k", 1) }, `{"a":1,"g":{"b":2,"h":{"k":1}},"trace_id":"01000000000000000000000000000000"}`},
		{func() { grouped.Info("m", "k", 1) }, `{"a":1,"g":{"b":2,"h":{"k":1}}}`},
	} {
		out.Reset()
		c.log()
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		for _, own := range []string{slog.TimeKey, slog.LevelKey, slog.MessageKey} {
			delete(line, own)
		}
		if got, _ := json.Marshal(line); string(got) != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
