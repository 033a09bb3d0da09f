package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiverAt is a receiver whose stats are those of a function.
func receiverAt(t *testing.T, stats func() string) *receiver {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, stats()) }))
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return &receiver{stats: s.URL}
}

func TestWatch(t *testing.T) {
	var n atomic.Int64
	r := receiverAt(t, func() string { return fmt.Sprintf(`{"notices":%d}`, 10*n.Add(1)) })
	used := 0.0
	cpu := func() (float64, error) { used++; return used, nil }
	got, err := r.watch(t.Context(), 0, 50*time.Millisecond, cpu)
	if err != nil || !(got.rate > 0) || !(got.cpu > 0) || used != 2 {
		t.Errorf("%+v, %v, CPU time was read %v times", got, err, used)
	}
	if got := r.received.Load(); got != 10*n.Load() {
		t.Errorf("%d are known to be received, want %d", got, 10*n.Load())
	}
	still := receiverAt(t, func() string { return `{"notices":5}` })
	if _, err := still.watch(t.Context(), 0, 50*time.Millisecond, cpu); err == nil {
		t.Error("a receiver that received nothing has a rate")
	}
}

func TestSound(t *testing.T) {
	for stats, fine := range map[string]bool{`{"notices":7}`: true, `{"malformed":1}`: false, `{"bad_signature":2}`: false, `no`: false} {
		if err := receiverAt(t, func() string { return stats }).sound(t.Context()); (err == nil) != fine {
			t.Errorf("%s: %v", stats, err)
		}
	}
}

// The feeder keeps what is on its way within bounds, and every body is as many notices as it counts.
func TestFeederKeepsAhead(t *testing.T) {
	var to receiver
	var posted atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the feeder was stopped while it sent this
		}
		if got := int64(bytes.Count(body, []byte("\n"))); got != lines {
			t.Errorf("%d lines, want %d", got, lines)
		}
		if waiting := posted.Add(lines) - to.received.Load(); waiting > ahead+feeders*lines {
			t.Errorf("%d notices wait", waiting)
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer api.Close()
	f := newFeeder(api.URL, 160, &to)
	for line := range bytes.Lines(f.bodies[0]) {
		var n struct{ Key, Type, Payload string }
		if err := json.Unmarshal(line, &n); err != nil || n.Key == "" || n.Type == "" || len(n.Payload) != 160 {
			t.Fatalf("line %s: %v", line, err)
		}
	}
	stop := f.start(t.Context())
	for received := int64(0); received < 3*ahead; received = posted.Load() { // all of it is delivered at once
		to.received.Store(received)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestFeederSaysWhatWentWrong(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "disk full", http.StatusInsufficientStorage)
	}))
	defer api.Close()
	f := newFeeder(api.URL, 1, &receiver{})
	defer f.client.CloseIdleConnections()
	if err := f.feed(t.Context()); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error %v", err)
	}
}

func TestOptions(t *testing.T) {
	good := options{pairs: 6, length: time.Second, inFlight: 1, batch: 1, payload: 1}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*options){
		"pairs": func(o *options) { o.pairs = 3 }, "length": func(o *options) { o.length = 0 }, "warmup": func(o *options) { o.warmup = -1 },
		"in-flight": func(o *options) { o.inFlight = 0 }, "batch": func(o *options) { o.batch = 1001 }, "payload": func(o *options) { o.payload = 0 },
	} {
		o := good
		spoil(&o)
		if o.check() == nil {
			t.Errorf("a bad %s was accepted", name)
		}
	}
}
