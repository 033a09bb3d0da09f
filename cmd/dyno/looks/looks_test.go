package looks

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dyno/cmd/dyno/usage"
	"dyno/lab/probe/profiling"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves a debug address; ask answers a request if it returns true.
func serve(t *testing.T, ask func(w http.ResponseWriter, r *http.Request) bool) profiling.Address {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		if ask == nil || !ask(w, r) {
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return profiling.Address{URL: srv.URL}
}

func silent(string) {}

// brief leaves no time between looks.
const brief = time.Millisecond

func TestTake(t *testing.T) {
	pages := atomic.Int64{}
	debug := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/metrics" {
			if strings.Contains(r.URL.RawQuery, "gc=") {
				t.Errorf("it runs a GC cycle: %s", r.URL)
			}
			return false
		}
		pages.Add(1)
		w.Write([]byte("process_cpu_seconds_total 1\n"))
		return true
	})
	said := ""
	f, err := Take(t.Context(), Plan{Debug: debug, Metrics: profiling.Address{URL: debug.URL}, For: brief, Say: func(s string) { said += s + "\n" }})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Looks) != 1 || f.Planned != 1 || f.Looks[0].CPU == nil || f.Looks[0].Trace == nil || f.Looks[0].Moments != nil || len(f.Missing) > 0 || f.Fetched == 0 {
		t.Errorf("%+v", f)
	}
	looking, before := 0, -1.0
	for _, r := range f.Readings {
		if r.Looking {
			looking++
		}
		if r.Page == nil || r.Page.At <= before {
			t.Errorf("%+v after %v", r, before)
		}
		before = r.Page.At
	}
	if looking != 1 || f.Readings[0].Memory == nil || int64(len(f.Readings))+1 != pages.Load() || !strings.Contains(said, "look 1 of 1; ") || !strings.Contains(said, " left") {
		t.Errorf("%d looks, %d readings, %d pages, %q", looking, len(f.Readings), pages.Load(), said)
	}
}

// Where another client profiles the process, the looks wait for it, and say so.
func TestInUse(t *testing.T) {
	refused := map[string]*atomic.Int64{"/debug/pprof/profile": {}, "/debug/pprof/trace": {}}
	debug := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		n := refused[r.URL.Path]
		if n == nil || n.Add(1) > 2 {
			return false
		}
		text := "Could not enable CPU profiling: cpu profiling already in use"
		if strings.HasSuffix(r.URL.Path, "trace") {
			text = "Could not enable tracing: tracing is already enabled"
		}
		http.Error(w, text, http.StatusInternalServerError)
		return true
	})
	said := ""
	w := watching(debug, time.Hour)
	defer w.debug.Close()
	w.Say = func(s string) { said += s + "\n" }
	err := w.look(t.Context(), 1)
	if f := w.facts; err != nil || f.InUse != 4 || len(f.Looks) != 1 || f.Looks[0].CPU == nil || f.Looks[0].Trace == nil || strings.Count(said, "another client") != 1 {
		t.Errorf("%+v, %v, %q", f, err, said)
	}
}

// watching is a watch of a process that began now.
func watching(at profiling.Address, length time.Duration) *watch {
	return &watch{Plan: Plan{Debug: at, For: length, Say: silent}, debug: profiling.NewSingle(at), profiling: true, tracing: true, statistics: true, began: time.Now()}
}

// A profiler in the process that never ends is waited for once, and never beyond the planned time.
func TestAlwaysInUse(t *testing.T) {
	asked := map[string]int{}
	w := watching(serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		asked[r.URL.Path]++
		text, ours := map[string]string{"/debug/pprof/profile": "cpu profiling already in use", "/debug/pprof/trace": "tracing is already enabled"}[r.URL.Path]
		if ours {
			http.Error(w, text, http.StatusInternalServerError)
		}
		return ours
	}), brief)
	defer w.debug.Close()
	w.began = w.began.Add(-Least)
	for range 2 {
		if err := w.look(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if f := w.facts; asked["/debug/pprof/profile"] != 1 || asked["/debug/pprof/trace"] != 1 || len(f.Looks) != 2 || f.Looks[1].Moments == nil || len(f.Missing) != 2 || !strings.Contains(f.Missing[0], "not asked for again") {
		t.Errorf("%v, %+v", asked, f)
	}
}

// The looks end with the planned time, if some take longer than planned.
func TestPlannedTime(t *testing.T) {
	w := watching(serve(t, nil), time.Hour)
	defer w.debug.Close()
	w.began = w.began.Add(-time.Hour)
	w.looks(t.Context(), 3)
	if f := w.facts; len(f.Looks) != 1 || f.Planned != 3 || len(f.Missing) != 1 || !strings.HasPrefix(f.Missing[0], "2 of 3 looks: ") {
		t.Errorf("%+v", f)
	}
}

// Without traces, profiles of the goroutines take their place.
func TestWithoutTraces(t *testing.T) {
	debug := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/debug/pprof/trace" {
			http.NotFound(w, r)
			return true
		}
		return false
	})
	f, err := Take(t.Context(), Plan{Debug: debug, For: brief, Say: silent})
	if err != nil || len(f.Looks) != 1 || f.Looks[0].Trace != nil || f.Looks[0].Moments == nil || f.Looks[0].Moments.Samples != dumps || len(f.Missing) != 1 || !strings.Contains(f.Missing[0], "the execution trace: ") {
		t.Errorf("%+v, %v", f, err)
	}
}

// The first request decides: its error says what, where, and how to fix it.
func TestFirstRequest(t *testing.T) {
	status := func(code int) profiling.Address {
		return serve(t, func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(code); return true })
	}
	ended := httptest.NewServer(http.NotFoundHandler())
	ended.Close()
	_, host, _ := strings.Cut(ended.URL, "://")
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	plain := strings.Replace(secure.URL, "https", "http", 1)
	for name, tt := range map[string]struct {
		at   profiling.Address
		want []string
	}{
		"401":            {status(401), []string{"401", "/debug/pprof/", "--token-file"}},
		"403":            {status(403), []string{"403", "--token-file"}},
		"404":            {status(404), []string{"404", "/debug/pprof/", `import _ "net/http/pprof"`}},
		"no scheme":      {profiling.Address{URL: host}, []string{"nothing listens at http://" + host}},
		"no certificate": {profiling.Address{URL: secure.URL}, []string{secure.URL, "certificate"}},
		"http for https": {profiling.Address{URL: plain}, []string{"https"}},
	} {
		began := time.Now()
		_, err := Take(t.Context(), Plan{Debug: tt.at, For: time.Hour, Say: silent})
		if err == nil {
			t.Errorf("%s: no error after %v", name, time.Since(began))
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", name, err, want)
			}
		}
	}
	for name, text := range map[string]string{"no metrics": "<html>", "401": ""} {
		metrics := serve(t, func(w http.ResponseWriter, _ *http.Request) bool {
			if text == "" {
				w.WriteHeader(401)
			}
			w.Write([]byte(text))
			return true
		})
		if _, err := Take(t.Context(), Plan{Debug: serve(t, nil), Metrics: metrics, For: time.Hour, Say: silent}); err == nil || !strings.Contains(err.Error(), "--metrics: ") || !strings.Contains(err.Error(), metrics.URL) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A process that listens on loopback may forward to another one, whose CPU time is not its own.
func TestTunnel(t *testing.T) {
	other := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/debug/pprof/cmdline" {
			w.Write([]byte("./elsewhere\x00--port\x006060"))
			return true
		}
		return false
	})
	for _, tt := range []struct {
		at      profiling.Address
		guessed bool
		want    int
	}{{serve(t, nil), true, os.Getpid()}, {serve(t, nil), false, os.Getpid()}, {other, true, 0}} {
		w := &watch{Plan: Plan{Debug: tt.at, PID: os.Getpid(), Guessed: tt.guessed}, debug: profiling.NewSingle(tt.at)}
		if err := w.checkPID(t.Context()); err != nil || w.PID != tt.want {
			t.Errorf("%+v: %d, %v", tt, w.PID, err)
		}
		w.debug.Close()
	}
	w := &watch{Plan: Plan{Debug: other, PID: os.Getpid()}, debug: profiling.NewSingle(other)}
	defer w.debug.Close()
	if err := w.checkPID(t.Context()); err == nil || !strings.Contains(err.Error(), "./elsewhere --port 6060") || !strings.Contains(err.Error(), other.URL) {
		t.Error(err)
	}
}

// An interrupt ends the looks, and what was seen until then is returned.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f, err := Take(ctx, Plan{Debug: serve(t, nil), For: 2 * every, Say: func(text string) {
		if strings.HasPrefix(text, "look 1 ") {
			cancel()
		}
	}})
	if err != nil || len(f.Looks) != 1 || f.Planned != 2 || len(f.Missing) > 0 {
		t.Errorf("%+v, %v", f, err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	debug := serve(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/debug/pprof/profile" {
			cancel()
			<-r.Context().Done()
		}
		return false
	})
	if f, err := Take(ctx, Plan{Debug: debug, For: brief, Say: silent}); err == nil || !strings.Contains(err.Error(), "before the first look was complete") || len(f.Looks) != 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

// A process that ends meanwhile ends the looks, and not only after the planned time.
func TestProcessThatEnds(t *testing.T) {
	var ended atomic.Bool
	debug := serve(t, func(http.ResponseWriter, *http.Request) bool {
		if ended.Load() {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	w := watching(debug, time.Hour)
	defer w.debug.Close()
	if err := w.look(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	ended.Store(true)
	err := w.look(t.Context(), 1)
	if err == nil || err != w.lost || len(w.facts.Looks) != 1 || !strings.Contains(err.Error(), "does not answer any more") || !strings.Contains(err.Error(), debug.URL) {
		t.Errorf("%v, %+v", err, w.facts)
	}
}

// A counter that the page does not have is an error of the command line, which names a similar one.
func TestCounter(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		w.Write([]byte("http_requests_total{code=\"200\"} 1\n"))
		return r.URL.Path == "/metrics"
	})
	for counter, want := range map[string]string{"": "", "http_requests_total": "", `http_requests_total{code="200"}`: "",
		"http_request_total": `did you mean "http_requests_total"?`, "jobs": "as the page writes it"} {
		w := &watch{Plan: Plan{Metrics: at, Counter: counter}, metrics: profiling.NewSingle(at), began: time.Now()}
		err := w.checkMetrics(t.Context())
		if mistyped := (*usage.Error)(nil); (err != nil) != (want != "") || err != nil && (!errors.As(err, &mistyped) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), at.URL)) {
			t.Errorf("%q: %v", counter, err)
		}
		w.metrics.Close()
	}
}

// Pages of which only the beginning would be read are refused, and not asked for again.
func TestLargePages(t *testing.T) {
	asked := 0
	at := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		asked++
		w.Write(bytes.Repeat([]byte("# TotalAlloc = 1\n"), 1<<20))
		return true
	})
	w := watching(at, time.Hour)
	defer w.debug.Close()
	w.read(t.Context(), true)
	w.read(t.Context(), true)
	if f := w.facts; asked != 1 || f.Readings[0].Memory != nil || len(f.Missing) != 1 || !strings.Contains(f.Missing[0], "more than 16 MB") || !strings.Contains(f.Missing[0], at.URL) {
		t.Errorf("%d, %+v", asked, f)
	}
}

// Traces end at their most bytes, and the other looks go on.
func TestTracesAreBounded(t *testing.T) {
	asked := 0
	at := serve(t, func(_ http.ResponseWriter, r *http.Request) bool { asked++; return false })
	w := watching(at, time.Hour)
	w.perSecond, w.traced = 100<<20, traceBytes-1<<20
	defer w.debug.Close()
	if err := w.look(t.Context(), 2); err != nil || w.tracing || asked != 1 || len(w.facts.Looks) != 1 || w.facts.Looks[0].Trace != nil || len(w.facts.Missing) != 1 || !strings.Contains(w.facts.Missing[0], "99 MB of 100 MB") {
		t.Errorf("%d requests, %v, %+v", asked, err, w.facts)
	}
}
