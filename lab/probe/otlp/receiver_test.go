package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	rpc "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"dyno/agent/monotonic"
	"dyno/lab/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T) *Receiver {
	t.Helper()
	r, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// process returns the tracer of an SDK that is set up as in a service, and a function that stops
// it.
func process(t *testing.T, r *Receiver, o ...otlptracehttp.Option) (oteltrace.Tracer, func()) {
	t.Helper()
	transport := &http.Transport{}
	o = append(o, otlptracehttp.WithEndpointURL(r.URL()+Path), otlptracehttp.WithHTTPClient(&http.Client{Transport: transport}))
	exporter, err := otlptracehttp.New(t.Context(), o...)
	if err != nil {
		t.Fatal(err)
	}
	p := sdk.NewTracerProvider(sdk.WithBatcher(exporter))
	return p.Tracer("test"), func() {
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	}
}

// inMs is a stage in ms, without quantiles.
type inMs struct {
	transaction, name string
	depth             int
	count             int64
	mean, self        float64
	errors            int64
}

func brief(stages []record.Stage) []inMs {
	var out []inMs
	for _, s := range stages {
		out = append(out, inMs{s.Transaction, s.Name, s.Depth, s.Count, math.Round(s.Latency.Mean), math.Round(s.Self), s.Errors})
	}
	return out
}

func wants(t *testing.T, got []record.Stage, want ...inMs) {
	t.Helper()
	if got := brief(got); !reflect.DeepEqual(got, want) {
		t.Errorf("stages are\n%+v, want\n%+v", got, want)
	}
}

// Two processes send spans of one trace, the child spans first, in each encoding that the SDK has.
func TestStagesOfTheRealSDK(t *testing.T) {
	for name, option := range map[string]otlptracehttp.Option{
		"protobuf": otlptracehttp.WithCompression(otlptracehttp.NoCompression),
		"gzip":     otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		"json":     otlptracehttp.WithEncoding(otlptracehttp.EncodingJSON),
	} {
		t.Run(name, func(t *testing.T) {
			r := listen(t)
			service, stopService := process(t, r, option)
			sink, stopSink := process(t, r, option)
			start := time.Now()
			after := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
			const requests = 10
			for range requests {
				ctx, root := service.Start(t.Context(), "POST /v1/notices", oteltrace.WithTimestamp(start))
				_, queue := service.Start(ctx, "queue", oteltrace.WithTimestamp(after(10)))
				queue.End(oteltrace.WithTimestamp(after(60)))
				ctx, deliver := service.Start(ctx, "deliver", oteltrace.WithTimestamp(after(60)))
				header := propagation.HeaderCarrier{}
				propagation.TraceContext{}.Inject(ctx, header)
				remote := propagation.TraceContext{}.Extract(context.Background(), header)
				_, receive := sink.Start(remote, "receive", oteltrace.WithTimestamp(after(65)))
				receive.SetStatus(codes.Error, "full")
				receive.End(oteltrace.WithTimestamp(after(75)))
				deliver.End(oteltrace.WithTimestamp(after(80)))
				root.End(oteltrace.WithTimestamp(after(20)))
			}
			stopSink() // the spans of the sink arrive before their parents
			stopService()

			at := monotonic.Now() + time.Until(start).Nanoseconds()
			wants(t, r.Stages(at, at+1e9),
				inMs{"POST /v1/notices", "POST /v1/notices", 0, requests, 20, 10, 0},
				inMs{"POST /v1/notices", "queue", 1, requests, 50, 50, 0},
				inMs{"POST /v1/notices", "deliver", 1, requests, 20, 10, 0},
				inMs{"POST /v1/notices", "receive", 2, requests, 10, 10, requests},
			)
			wants(t, r.Stages(at, at+70e6),
				inMs{"POST /v1/notices", "POST /v1/notices", 0, requests, 20, 10, 0},
				inMs{"POST /v1/notices", "queue", 1, requests, 50, 50, 0},
			)
			if l := r.Losses(); l != (Losses{}) {
				t.Errorf("lost %+v", l)
			}
			const allow = 0.001 // the histogram has three significant digits
			if q := r.Stages(at, at+1e9)[1].Latency; math.Abs(q.P99/50-1) > allow || math.Abs(q.Max/50-1) > allow {
				t.Errorf("quantiles of a step that always took 50 ms: %+v", q)
			}
		})
	}
}

func TestOnlyLoopback(t *testing.T) {
	if r, err := Listen("0.0.0.0:0"); err == nil {
		r.Close()
		t.Error("it listens for everybody")
	}
	if _, err := Listen("nowhere"); err == nil {
		t.Error("it listens nowhere")
	}
}

func zip(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

func send(t *testing.T, r *Receiver, kind, encoding, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, r.URL()+Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Content-Encoding", encoding)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := resp.Header.Get("Content-Type"); kind == kindProtobuf && want != kind {
		t.Errorf("answered %s to %s", want, kind)
	}
	return resp.StatusCode, string(text)
}

func TestRefusals(t *testing.T) {
	r := listen(t)
	big := strings.Repeat(" ", maxBody+1)
	for i, c := range []struct {
		kind, encoding, body string
		code                 int
		says                 string
	}{
		{"text/plain", "", "x", 415, "application/x-protobuf"},
		{kindJSON, "br", "{}", 415, "gzip"},
		{kindJSON, "gzip", "{}", 400, "not gzip"},
		{kindJSON, "gzip", zip("{}")[:10], 400, "reading the body"},
		{kindJSON, "", "{", 400, "ExportTraceServiceRequest"},
		{kindProtobuf, "", "\x0a\x7f", 400, "ExportTraceServiceRequest"},
		{kindJSON, "", big, 413, "fewer spans"},
		{kindProtobuf, "gzip", zip(big), 413, "fewer spans"}, // a small body that decompresses to a large one
	} {
		code, text := send(t, r, c.kind, c.encoding, c.body)
		var s rpc.Status
		err := protojson.Unmarshal([]byte(text), &s)
		if c.kind == kindProtobuf {
			err = proto.Unmarshal([]byte(text), &s)
		}
		if code != c.code || err != nil || !strings.Contains(s.Message, c.says) {
			t.Errorf("%s %s %.20q: %d %q %v", c.kind, c.encoding, c.body, code, text, err)
		}
		if got := r.Losses().Refused; got != int64(i+1) {
			t.Errorf("%d were refused, it says %d", i+1, got)
		}
	}
}

const oneGood = `{"resourceSpans":[{"scopeSpans":[{"spans":[
	{"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"eee19b7ec3c1b174","name":"good","startTimeUnixNano":"1","endTimeUnixNano":"2"},
	{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1","name":"bad","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}`

func TestPartialSuccess(t *testing.T) {
	r := listen(t)
	code, text := send(t, r, kindJSON, "", oneGood)
	var answer collector.ExportTraceServiceResponse
	if err := protojson.Unmarshal([]byte(text), &answer); err != nil || code != 200 || answer.GetPartialSuccess().GetRejectedSpans() != 1 {
		t.Errorf("%d %q %v", code, text, err)
	}
	var wire collector.ExportTraceServiceResponse
	code, text = send(t, r, kindProtobuf, "", "\x0a\x04\x12\x02\x12\x00") // a span without content
	if err := proto.Unmarshal([]byte(text), &wire); err != nil || code != 200 ||
		wire.GetPartialSuccess().GetRejectedSpans() != 1 || wire.GetPartialSuccess().GetErrorMessage() == "" {
		t.Errorf("%d %q %v", code, text, err)
	}
	if code, text := send(t, r, kindProtobuf, "", ""); code != 200 || text != "" {
		t.Errorf("nothing at all: %d %q", code, text)
	}
	if code, text := send(t, r, kindJSON, "", `{"new":1}`); code != 200 || strings.TrimSpace(text) != "{}" {
		t.Errorf("no span: %d %q", code, text)
	}
	if got := r.Losses(); got != (Losses{Malformed: 2}) {
		t.Errorf("lost %+v", got)
	}
}

// A sender that stops in the middle of a body does not delay Close.
func TestCloseWithABodyHalfRead(t *testing.T) {
	r, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", r.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
	if _, err := conn.Read(make([]byte, 100)); err != nil { // 100 Continue: the handler is reading the body
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", r.listener.Addr().String()); err == nil {
		t.Error("it still listens")
	}
}
