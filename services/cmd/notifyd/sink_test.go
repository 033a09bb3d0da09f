package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"dyno/parts/command"
	"dyno/parts/guard"
	"dyno/parts/guard/guardtest"
	"dyno/services/notify"
	"dyno/services/notify/sink"

	"github.com/spf13/cobra"
)

const webhook = `{"type":"t","timestamp":"2026-01-02T03:04:05.678Z","data":{"id":"run-0000000000000001","key":"k","payload":{}}}`

func newSink(t *testing.T) *sink.Sink {
	s, err := sink.New(sink.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// post sends the webhook to a handler, with a traceparent.
func post(h http.Handler, traceparent string) int {
	req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(webhook))
	req.Header.Set("Traceparent", traceparent)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w.Code
}

// The sink prints the addresses, serves, and ends with its context while a stream is open.
func TestSink(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	g, err := guard.New(guard.Options{Listen: []string{"127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- runSink(ctx, sink.Config{}, g.Private(), nil, "127.0.0.1:0", "127.0.0.1:0", in) }()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready struct {
		Ready         bool
		Listen, Debug string
	}
	if err := json.Unmarshal(line, &ready); err != nil || !ready.Ready {
		t.Fatalf("%s: %v", line, err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	stream, err := client.Get("http://" + ready.Debug + "/receipts?run=run")
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Post("http://"+ready.Listen+"/any/path", "application/json", strings.NewReader(webhook))
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Fatalf("%v, %v", resp, err)
	}
	resp.Body.Close()
	guardtest.Refuses(t, client, "PUT", "http://"+ready.Listen+"/any/path", "")
	guardtest.Refuses(t, client, "GET", "http://"+ready.Debug+"/stats", "")
	resp, err = client.Get("http://" + ready.Debug + "/stats")
	if err != nil {
		t.Fatal(err)
	}
	var stats sink.Stats
	err = json.NewDecoder(resp.Body).Decode(&stats)
	resp.Body.Close()
	if err != nil || stats.Notices != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
	cancel()
	if text, err := io.ReadAll(stream.Body); err != nil || !strings.HasPrefix(string(text), "run-0000000000000001 ") {
		t.Errorf("stream %q, %v", text, err)
	}
	stream.Body.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()
}

// A mistake on the command line exits with 2, as it does with every other command.
func TestSinkUsage(t *testing.T) {
	for says, args := range map[string][]string{
		"stray":   {"sink", "stray"},
		"delai":   {"sink", "--delai", "5ms"},
		"secret":  {"sink", "--secret", "whsec_?"},
		"nowhere": {"sink", "--otlp", "nowhere"},
	} {
		var stderr strings.Builder
		none := func(string) (string, bool) { return "", false }
		code := command.Run(t.Context(), notify.Service(), []*cobra.Command{sinkCommand()}, args, none, io.Discard, &stderr)
		if code != 2 || !strings.Contains(stderr.String(), says) || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%v: exit %d, %q", args, code, stderr.String())
		}
	}
}

// A sink joins the traces that are recorded and begins none; without --otlp nothing stands before
// it.
func TestSpans(t *testing.T) {
	var exports atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { exports.Add(1) }))
	defer collector.Close()
	tracer, err := startTracer(collector.URL, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	s := newSink(t)
	h := traced(s, tracer)
	for _, parent := range []string{
		"", "nonsense",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	} {
		if code := post(h, parent); code != http.StatusNoContent {
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
	post(traced(newSink(t), tracer), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if stopTracer(tracer, &log); !strings.Contains(log.String(), "1 of 1 spans did not reach the collector") {
		t.Errorf("logged %s", log.String())
	}
}
