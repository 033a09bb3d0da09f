package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"dyno/lab/observe"
	"dyno/lab/probe/profiling"
	"dyno/lab/record"
)

// An interrupt prints what is known until then, and says that it is not all.
func TestObserveInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var statistics atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.Path == "/debug/pprof/profile" && statistics.Load() == 2 {
			cancel()
			<-r.Context().Done()
			return
		}
		mux.ServeHTTP(w, r)
		if r.URL.Path == "/debug/pprof/heap" {
			statistics.Add(1)
		}
	}))
	defer srv.Close()
	file, err := os.CreateTemp(t.TempDir(), "stdout")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stdout, token := os.Stdout, t.TempDir()+"/token"
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	os.Stdout = file
	code, said := messageWith(t, ctx, []string{"observe", "--debug", strings.TrimPrefix(srv.URL, "http://"), "--token-file", token, "--for", "13s", "--json"})
	os.Stdout = stdout
	if code != exitFailed || !strings.Contains(said, "ended after 1 of 2 looks; the figures above are from those: it was interrupted") || strings.Contains(said, "s3cret") {
		t.Errorf("%d: %s", code, said)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	var r observe.Report
	if err := json.NewDecoder(file).Decode(&r); err != nil || r.Schema != "dyno.observation/1" || r.Looks != 1 || r.Planned != 2 || len(r.Resources) == 0 || r.Resources[0].Busy == nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// If the process ends meanwhile, what was seen is printed, and the exit code says that it is not all.
func TestObserveEnded(t *testing.T) {
	facts := observe.Facts{Planned: 10, Looks: make([]observe.Look, 3)}
	var out bytes.Buffer
	err := printFacts(&out, facts, io.ErrUnexpectedEOF, true)
	if e := (*exit)(nil); !errors.As(err, &e) || e.code != exitFailed || !strings.HasPrefix(err.Error(), "ended after 3 of 10 looks; ") || !errors.Is(err, io.ErrUnexpectedEOF) || !json.Valid(out.Bytes()) {
		t.Errorf("%v\n%s", err, out.Bytes())
	}
	if err := printFacts(&out, facts, nil, false); err != nil {
		t.Error(err)
	}
}

// The page of metrics gets the credentials of the debug address only where it is at the same host
// and port.
func TestCredentialsOfMetrics(t *testing.T) {
	for _, tt := range []struct{ debug, metrics, token, url string }{
		{"http://h:6060", "h:6060/metrics", "t", "http://h:6060/metrics"},
		{"http://h:6060", "http://h:9090/metrics", "", "http://h:9090/metrics"},
		{"https://h:6060", "http://h:6060/metrics", "", "http://h:6060/metrics"},
		{"http://u:p@h:6060", "http://h:6060/m", "t", "http://u:p@h:6060/m"},
		{"http://u:p@h:6060", "http://other:6060/m", "", "http://other:6060/m"},
	} {
		got, err := besides(profiling.Address{URL: tt.debug, Token: "t"}, tt.metrics)
		if err != nil || got.Token != tt.token || got.URL != tt.url {
			t.Errorf("%+v: %+v, %v", tt, got, err)
		}
	}
}

// The text has the busiest first, and says what is not known instead of a figure.
func TestObservationText(t *testing.T) {
	lock := record.Wait{Reason: "sync", Seconds: 2, Any: 0.5, Count: 100, Goroutines: 10, Stack: []record.Frame{
		{Function: "sync.(*Mutex).Lock"}, {Function: "main.(*store).Put", File: "/src/store.go", Line: 31}, {Function: "net/http.HandlerFunc.ServeHTTP"}}}
	lock.WokenBy = append([]record.Frame{{Function: "sync.(*Mutex).Unlock"}}, lock.Stack[1:]...)
	r := observe.Of(observe.Facts{Planned: 1, Looks: []observe.Look{{Trace: &record.Trace{Seconds: 1, Procs: 2, Waits: []record.Wait{lock}}}}})
	text := observationText(r, 100)
	for _, want := range []string{
		"how busy its resources are is not known; perhaps busy: one or several locks in main.(*store).Put",
		"     ?  0% to 82%         one or several locks in main.(*store).Put (store.go:31): 2",
		"     ?                    CPU; use not known",
		"requests   rate not known", "memory     not known", "what that cost the process is not known", "not seen\n  - ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 101 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

// Figures are plain numbers.
func TestPlainNumbers(t *testing.T) {
	r := &observe.Report{Resources: []observe.Resource{{Kind: observe.KindPool, Name: "main.take", Waiting: 300, Waits: 12345, InUse: 2.5e6}},
		Ready: new(123456.0), Rate: &observe.Rate{PerS: 54321, CPUMicros: new(0.00001)}, Cost: observe.Cost{Cores: new(0.5), Range: &[2]float64{-1e-6, 1e4}}}
	text := observationText(r, 0)
	for _, want := range []string{"300 goroutines wait, 12300 waits/s; at least 2500000 in use", "123000 goroutines wait for a processor", "54300/s", "0.00001 us of CPU", "at most 10000 cores"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if regexp.MustCompile(`\de[+-]\d`).MatchString(text) {
		t.Error(text)
	}
}
