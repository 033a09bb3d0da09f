package profiles

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dyno/agent"
	"dyno/agent/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", url, answer.StatusCode, err)
	}
	return string(body)
}

func TestTraceMarksTheSample(t *testing.T) {
	a := agent.New(agent.Config{})
	mux := http.NewServeMux()
	mux.Handle("/debug/dyno/", a)
	Mount(mux, a)
	srv := httptest.NewServer(mux)
	defer srv.Close()
	defer a.Close()
	if index := get(t, srv.URL+"/debug/pprof/"); !strings.Contains(index, "goroutine") {
		t.Errorf("the index lists no goroutine profile: %q", index)
	}

	stream, err := http.Get(srv.URL + agent.PathSamples)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if trace := get(t, srv.URL+"/debug/pprof/trace?seconds=0.01"); !strings.HasPrefix(trace, "go 1.") {
		t.Errorf("no trace: %.20q", trace)
	}
	// The mark is in one of the next samples; which one depends on how long the trace took.
	lines := bufio.NewScanner(stream.Body)
	for range 100 {
		if !lines.Scan() {
			break
		}
		var s agent.Sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		if s.Profiling {
			return
		}
	}
	t.Error("no sample says that a trace was running")
}

func TestProfilesAreGuarded(t *testing.T) {
	a := agent.New(agent.Config{Token: "s3cret"})
	defer a.Close()
	mux := http.NewServeMux()
	Mount(mux, a)
	for _, path := range []string{"", "cmdline", "symbol", "profile?seconds=1", "trace?seconds=0.01", "heap"} {
		r := httptest.NewRequest("GET", "/debug/pprof/"+path, nil)
		r.RemoteAddr = "192.0.2.1:4000"
		w := httptest.NewRecorder()
		if mux.ServeHTTP(w, r); w.Code != http.StatusForbidden {
			t.Errorf("%q: %d", path, w.Code)
		}
	}
	r := httptest.NewRequest("GET", "/debug/pprof/cmdline", nil)
	r.RemoteAddr = "192.0.2.1:4000"
	r.Header.Set("Authorization", "Bearer s3cret")
	w := httptest.NewRecorder()
	if mux.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Errorf("with the token: %d", w.Code)
	}
}
