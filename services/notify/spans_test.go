package notify

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"dyno/parts/assembly"
	"dyno/parts/wal"
	"dyno/parts/wal/memory"
	"dyno/services/notify/api"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/notice"
)

// inNoFile keeps a log in memory.
func inNoFile(dispatch.StoreOptions, string) (wal.Backend, error) { return memory.New(), nil }

// startTraced starts a dispatcher that makes spans, with a receiver; both end with the test.
func startTraced(t *testing.T, c Config, batch int, receiver http.HandlerFunc) (*Dispatcher, *tracetest.SpanRecorder) {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	c.Tracer = sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)).Tracer("test")
	c.AllowPrivate, c.Backoff, c.testing.openBackend = true, time.Millisecond, inNoFile
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(receiver)
	t.Cleanup(web.Close)
	subscribe(t, d, web.URL, batch)
	return d, spans
}

func subscribe(t *testing.T, d *Dispatcher, url string, batch int) (id string) {
	t.Helper()
	def, _, err := d.table.Subscribe(dispatch.SubscriptionRequest{URL: &url, Batch: &batch})
	if err != nil {
		t.Fatal(err)
	}
	return def.ID
}

// closed closes a dispatcher when all is delivered.
func closed(t *testing.T, d *Dispatcher) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); d.deliverer.Pending.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if left, err := d.Close(t.Context()); left != 0 || err != nil {
		t.Fatalf("%d left, %v", left, err)
	}
}

// within a span called request, post these notices.
func post(t *testing.T, d *Dispatcher, notices int) trace.SpanContext {
	t.Helper()
	ctx, span := d.config.Tracer.Start(t.Context(), "request")
	var body strings.Builder
	for i := range notices {
		fmt.Fprintf(&body, `{"id":"%d","key":"k%d","type":"t","payload":1}`+"\n", i, i)
	}
	r := httptest.NewRequestWithContext(ctx, "POST", "/v1/notices", strings.NewReader(body.String()))
	r.Header.Set("Content-Type", "application/x-ndjson")
	w := httptest.NewRecorder()
	d.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusAccepted {
		t.Fatal(w.Code, w.Body)
	}
	span.End()
	return span.SpanContext()
}

func TestSpansOfANotice(t *testing.T) {
	for label, c := range assemblies(t) {
		t.Run(label, func(t *testing.T) {
			var tries atomic.Int64
			parents := make(chan string, 2)
			d, recorder := startTraced(t, c, 1, func(w http.ResponseWriter, r *http.Request) {
				parents <- r.Header.Get("Traceparent")
				if tries.Add(1) == 1 {
					w.WriteHeader(http.StatusBadGateway)
				}
			})
			root := post(t, d, 1)
			closed(t, d)
			var got []string
			var waited time.Time
			for _, s := range recorder.Ended() {
				if s.Name() == "request" {
					continue
				}
				got = append(got, s.Name()+" "+s.Status().Code.String())
				if s.Parent().SpanID() != root.SpanID() || s.SpanContext().TraceID() != root.TraceID() {
					t.Errorf("%s hangs under %v", s.Name(), s.Parent())
				}
				if s.EndTime().Before(s.StartTime()) {
					t.Errorf("%s is from %v to %v", s.Name(), s.StartTime(), s.EndTime())
				}
				if s.Name() == dispatch.SpanDeliver {
					if !s.StartTime().Equal(waited) {
						t.Errorf("an attempt began at %v, the wait for it ended at %v", s.StartTime(), waited)
					}
					want := fmt.Sprintf("00-%s-%s-01", root.TraceID(), s.SpanContext().SpanID())
					if parent := <-parents; parent != want {
						t.Errorf("the webhook says %s, want %s", parent, want)
					}
				}
				waited = s.EndTime()
			}
			if want := []string{"queue Unset", "deliver Error", "retry Unset", "deliver Unset"}; !slices.Equal(got, want) {
				t.Errorf("spans are %q, want %q", got, want)
			}
		})
	}
}

// Notices that share a webhook each have their spans, and a large request has a bounded number.
func TestSpansOfABatch(t *testing.T) {
	const traced = 8 // notices of one request that have spans
	d, recorder := startTraced(t, assemblies(t)["batch"], 100, func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Traceparent") == "" {
			t.Error("a webhook without traceparent")
		}
	})
	post(t, d, 3*traced)
	closed(t, d)
	counts := map[string]int{}
	for _, s := range recorder.Ended() {
		counts[s.Name()]++
	}
	if counts[dispatch.SpanQueue] != traced || counts[dispatch.SpanDeliver] != traced {
		t.Errorf("%v", counts)
	}
}

// A trace that is not recorded is forwarded all the same, and so is its state.
func TestUnsampledTraceIsForwarded(t *testing.T) {
	headers := make(chan http.Header, 1)
	d, recorder := startTraced(t, assemblies(t)[assembly.Baseline], 1, func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header })
	state, err := trace.ParseTraceState("a=b")
	if err != nil {
		t.Fatal(err)
	}
	at := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceState: state})
	n := &notice.Notice{ID: "1", Key: "k", Type: "t", Payload: []byte("1")}
	r := httptest.NewRequestWithContext(trace.ContextWithSpanContext(t.Context(), at), "POST", "/", nil)
	api.MarkTraces(r, []*notice.Notice{n})
	if _, _, err := d.acceptor.Accept(t.Context(), []*notice.Notice{n}); err != nil {
		t.Fatal(err)
	}
	h := <-headers
	if h.Get("Traceparent") != "00-01000000000000000000000000000000-0200000000000000-00" || h.Get("Tracestate") != "a=b" {
		t.Errorf("forwarded %v", h)
	}
	closed(t, d)
	if n := len(recorder.Ended()); n != 0 {
		t.Errorf("%d spans", n)
	}
}

// Without --otlp an accepted notice allocates no more than it did when this was written.
func TestNoTracesNoCost(t *testing.T) {
	for label, want := range map[string]float64{assembly.Baseline: 60, "batch": 60} {
		c := assemblies(t)[label]
		arrived, release := make(chan struct{}, 1), make(chan struct{})
		receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			select {
			case arrived <- struct{}{}:
			default:
			}
			<-release
		}))
		c.Workers, c.AllowPrivate, c.testing.openBackend = 1, true, inNoFile
		d, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		sub := subscribe(t, d, receiver.URL, 1)
		h := d.Handler()
		once := func() {
			r := httptest.NewRequest("POST", "/v1/notices", strings.NewReader(`{"key":"k","type":"t","payload":{"a":1}}`))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != http.StatusAccepted {
				t.Fatal(w.Code, w.Body)
			}
		}
		once()
		<-arrived // the only worker is held from here on
		if got := testing.AllocsPerRun(1000, once); got > want+raceAllocs {
			t.Errorf("%s: %v allocations for a notice, more than %v", label, got, want)
		}
		if err := d.table.Unsubscribe(sub); err != nil {
			t.Fatal(err)
		}
		close(release)
		closed(t, d)
		receiver.Close()
	}
}
