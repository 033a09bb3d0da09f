package daemon

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
	"reflect"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"dyno/parts/tracing"
)

// collect is a collector; spans are in the channel when the process has ended.
func collect(t *testing.T) (url string, spans <-chan *tracepb.Span) {
	got := make(chan *tracepb.Span, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var request collector.ExportTraceServiceRequest
		zip, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		body, err := io.ReadAll(zip)
		if err != nil || proto.Unmarshal(body, &request) != nil {
			t.Error("no request", err)
			return
		}
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					got <- s
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

// served runs the toy service, asks it for one page and stops it.
func served(t *testing.T, h http.HandlerFunc, args ...string) (code int, metrics, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	var logs bytes.Buffer
	var wait sync.WaitGroup
	wait.Go(func() {
		s := Service{Name: "toyd", Start: func(_ context.Context, env *Env) (Running, error) {
			mux := http.NewServeMux()
			mux.HandleFunc("GET /page/{id}", func(w http.ResponseWriter, r *http.Request) {
				env.Log.InfoContext(r.Context(), "asked")
				h(w, r)
			})
			if (env.Tracer == nil) != (len(args) == 0) {
				t.Errorf("with %q the tracer is %v", args, env.Tracer)
			}
			return Running{Handler: mux}, nil
		}}
		code = Run(ctx, s, append([]string{"serve", "--listen=127.0.0.1:0"}, args...), noEnv, in, &logs)
		in.Close()
	})
	var line struct{ Listen, Debug string }
	if err := json.NewDecoder(out).Decode(&line); err != nil {
		t.Fatal(err)
	}
	request(t, "GET", "http://"+line.Listen+"/page/7")
	_, metrics = request(t, "GET", "http://"+line.Debug+"/metrics")
	cancel()
	wait.Wait()
	return code, metrics, logs.String()
}

func nothing(http.ResponseWriter, *http.Request) {}

func TestTracesAreExportedBeforeTheEnd(t *testing.T) {
	noLeaks(t)
	url, spans := collect(t)
	code, metrics, stderr := served(t, nothing, "--otlp="+url, "--otlp-sample=0", "--otlp-sample=GET /page/{id}=1")
	if code != 0 || len(spans) != 1 {
		t.Fatalf("exit %d, %d spans, stderr %s", code, len(spans), stderr)
	}
	span := <-spans
	if span.Name != "GET /page/{id}" {
		t.Errorf("the span is called %s", span.Name)
	}
	id := strings.Split(stderr, `"trace_id":"`)
	if len(id) != 2 || len(id[1]) < 32 || !strings.Contains(metrics, "otlp_spans_ended_total ") {
		t.Fatalf("logged %s, metrics %s", stderr, metrics)
	}
	for i, b := range span.TraceId {
		if hex := "0123456789abcdef"; id[1][2*i] != hex[b>>4] || id[1][2*i+1] != hex[b&15] {
			t.Fatalf("logged %s, the trace is %x", id[1], span.TraceId)
		}
	}
}

// Without --otlp nothing stands between the server and the service's handler.
func TestNoTracesNoWrapper(t *testing.T) {
	noLeaks(t)
	mux := http.NewServeMux()
	h, err := (&process{}).traced(mux)
	if err != nil || reflect.ValueOf(h).Pointer() != reflect.ValueOf(mux).Pointer() {
		t.Errorf("%v instead of %v, %v", h, mux, err)
	}
	direct := true
	_, metrics, stderr := served(t, func(w http.ResponseWriter, _ *http.Request) {
		direct = reflect.TypeOf(w).String() == "*http.response"
	})
	if !direct || strings.Contains(metrics, "otlp") || strings.Contains(stderr, "trace_id") {
		t.Errorf("direct %v, stderr %s", direct, stderr)
	}
}

// A collector that hangs holds up neither requests nor, for long, the end.
func TestCollectorThatHangs(t *testing.T) {
	noLeaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, by way of the backlog, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	code, _, stderr := served(t, nothing, "--otlp=http://"+l.Addr().String(), "--otlp-sample=1", "--drain-timeout=100ms")
	if code != 0 || !strings.Contains(stderr, "traces are incomplete") {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
}

// A drain that took all its time leaves the spans theirs.
func TestFlushAfterADrainThatTookAllTime(t *testing.T) {
	noLeaks(t)
	url, spans := collect(t)
	p := &process{service: Service{Name: "toyd"}, options: options{otlp: url, rates: tracing.Rates{tracing.Others: 1}}, log: slog.New(slog.DiscardHandler)}
	if err := p.startTracer(); err != nil {
		t.Fatal(err)
	}
	_, span := p.tracer.Start(t.Context(), "work")
	span.End()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if p.flush(over); len(spans) != 1 {
		t.Errorf("%d spans were exported", len(spans))
	}
}

// A job's spans are exported before it ends, too.
func TestTracesOfAJob(t *testing.T) {
	noLeaks(t)
	url, spans := collect(t)
	s := toy()
	s.Data = nil
	s.Jobs = []Job{{Name: "import", Run: func(ctx context.Context, env *Env, _ []string) error {
		_, span := env.Tracer.Start(ctx, "import all")
		span.End()
		return nil
	}}}
	var stderr bytes.Buffer
	if code := Run(t.Context(), s, []string{"import", "--otlp=" + url, "--otlp-sample=1"}, noEnv, io.Discard, &stderr); code != 0 || len(spans) != 1 {
		t.Fatalf("exit %d, %d spans, stderr %s", code, len(spans), &stderr)
	}
	if span := <-spans; span.Name != "import all" {
		t.Errorf("the span is called %s", span.Name)
	}
}
