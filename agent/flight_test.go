package agent

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"runtime/trace"
	"strings"
	"testing"
	"time"
)

// get asks as a process on this machine would.
func get(a *Agent, target string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", target, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:40000", "127.0.0.1:6060"
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// isTrace reports whether an answer is an execution trace: its header is "go 1.NN trace" and zeros.
func isTrace(w *httptest.ResponseRecorder) bool {
	return w.Code == http.StatusOK && strings.HasPrefix(w.Body.String(), "go 1.") && w.Body.Len() > 100
}

func TestFlightRecorder(t *testing.T) {
	a := New(Config{})
	defer a.Close()
	if w := get(a, PathFlight); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "flight_recorder") {
		t.Errorf("off: %d %s", w.Code, w.Body)
	}
	on := post(a, `{"flight_recorder":{"min_age_s":2,"max_bytes":1048576}}`)
	var before Control
	if err := json.Unmarshal(on.Body.Bytes(), &before); err != nil || on.Code != http.StatusOK || *before.FlightRecorder != (FlightRecorder{}) {
		t.Fatalf("switching on: %d %s", on.Code, on.Body)
	}
	for range 3 {
		if w := get(a, PathFlight); !isTrace(w) {
			t.Fatalf("on: %d with %d bytes", w.Code, w.Body.Len())
		}
	}
	if w := get(a, PathTrace+"?seconds=0.01"); !isTrace(w) {
		t.Errorf("a trace beside it: %d %.200s", w.Code, w.Body)
	}
	for range 2 { // not only once
		if !a.sawProfile() {
			t.Error("samples would not be marked while it is on")
		}
	}
	again := post(a, `{"flight_recorder":{"min_age_s":1}}`)
	if want := `{"flight_recorder":{"min_age_s":2,"max_bytes":1048576}}`; strings.TrimSpace(again.Body.String()) != want {
		t.Errorf("another setting: %d %s, want %s", again.Code, again.Body, want)
	}
	if off := post(a, on.Body.String()); off.Code != http.StatusOK || !strings.Contains(off.Body.String(), `"min_age_s":1,"max_bytes":10485760`) {
		t.Errorf("restoring: %d %s", off.Code, off.Body)
	}
	if w := get(a, PathFlight); w.Code != http.StatusConflict {
		t.Errorf("off again: %d", w.Code)
	}
	if !a.sawProfile() || a.sawProfile() {
		t.Error("just the sample in which it was switched off must be marked")
	}
}

// freely fails the test when something is written while the recorder is locked.
type freely struct {
	*httptest.ResponseRecorder
	t      *testing.T
	flight *flight
}

func (f freely) Write(b []byte) (int, error) {
	if !f.flight.mu.TryLock() {
		f.t.Error("a request that switches the recorder waits for its reader")
		return len(b), nil
	}
	f.flight.mu.Unlock()
	return f.ResponseRecorder.Write(b)
}

func TestSlowReaderHoldsNobodyUp(t *testing.T) {
	a := New(Config{})
	defer a.Close()
	if _, err := a.Control(Control{FlightRecorder: &FlightRecorder{MinAge: 1}}); err != nil {
		t.Fatal(err)
	}
	w := freely{httptest.NewRecorder(), t, &a.flight}
	a.serveFlight(w, httptest.NewRequest("GET", PathFlight, nil))
	if !isTrace(w.ResponseRecorder) {
		t.Errorf("%d with %d bytes", w.Code, w.Body.Len())
	}
	head := httptest.NewRecorder()
	if a.serveFlight(head, httptest.NewRequest("HEAD", PathFlight, nil)); head.Code != http.StatusOK || head.Body.Len() > 0 {
		t.Errorf("HEAD: %d with %d bytes", head.Code, head.Body.Len())
	}
}

func TestCloseSwitchesTheFlightRecorderOff(t *testing.T) {
	a := New(Config{})
	if _, err := a.Control(Control{FlightRecorder: &FlightRecorder{MinAge: 1}}); err != nil {
		t.Fatal(err)
	}
	a.Close()
	own := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := own.Start(); err != nil {
		t.Error(err)
	}
	own.Stop()
}

func TestServicesOwnFlightRecorderIsLeftAlone(t *testing.T) {
	a := New(Config{})
	defer a.Close()
	own := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	defer own.Stop()
	gogc := debug.SetGCPercent(100)
	defer debug.SetGCPercent(gogc)
	w := post(a, `{"gogc":77,"flight_recorder":{"min_age_s":1}}`)
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "flight recorder") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("GOGC became %d by a request that failed", got)
	}
	if a.sawProfile() {
		t.Error("samples are marked though nothing was started")
	}
	if w := get(a, PathFlight); w.Code != http.StatusConflict {
		t.Errorf("the window of the service's own recorder: %d", w.Code)
	}
}

func TestTrace(t *testing.T) {
	a := New(Config{})
	defer a.Close()
	if w := get(a, PathTrace+"?seconds=0.01"); !isTrace(w) {
		t.Errorf("%d %.200s", w.Code, w.Body)
	}
	if !a.sawProfile() {
		t.Error("the sample after a trace is not marked")
	}
	for _, bad := range []string{"0", "-1", "5.01", "NaN", "Inf", "much", "1s"} {
		if w := get(a, PathTrace+"?seconds="+bad); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "at most 5 s") {
			t.Errorf("seconds=%s: %d %s", bad, w.Code, w.Body)
		}
	}
	if length, err := traceLength(""); err != nil || length != defaultTrace {
		t.Errorf("without seconds: %v, %v", length, err)
	}
	a.sawProfile()
	if err := trace.Start(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer trace.Stop()
	w := get(a, PathTrace+"?seconds=0.01")
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "already") || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("while another runs: %d %s", w.Code, w.Body)
	}
	if a.sawProfile() {
		t.Error("samples are marked though no trace was taken")
	}
}

func TestTraceEndsWithItsReader(t *testing.T) {
	a := New(Config{})
	defer a.Close()
	gone, leave := context.WithCancel(t.Context())
	leave()
	begin := time.Now()
	get(a, PathTrace+"?seconds=5", func(r *http.Request) { *r = *r.WithContext(gone) })
	if took := time.Since(begin); took >= maxTrace { // its whole length, although the client had gone
		t.Errorf("traced for %v", took)
	}
}

func TestWhatLooksInsideIsGuarded(t *testing.T) {
	a := New(Config{})
	defer a.Close()
	elsewhere := func(r *http.Request) { r.RemoteAddr = "192.0.2.1:4000" }
	embedded := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	for _, path := range []string{PathFlight, PathTrace} {
		for _, change := range []func(*http.Request){elsewhere, embedded} {
			if w := get(a, path, change); w.Code != http.StatusForbidden {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		if w := get(a, path, func(r *http.Request) { r.Method = "POST" }); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", path, w.Code)
		}
	}
	if a.sawProfile() {
		t.Error("a request that was refused left a mark")
	}
}

// The first window that is kept stays, whatever happens later, until the recorder is set again.
func TestKeepFlight(t *testing.T) {
	a := New(Config{})
	defer a.Close()
	if kept, err := a.KeepFlight(); kept || err == nil || !strings.Contains(err.Error(), "flight_recorder") {
		t.Errorf("off: %v, %v", kept, err)
	}
	if w := get(a, PathKept); w.Code != http.StatusNotFound {
		t.Errorf("nothing kept: %d", w.Code)
	}
	if _, err := a.Control(Control{FlightRecorder: &FlightRecorder{MinAge: 1, MaxBytes: 1 << 20}}); err != nil {
		t.Fatal(err)
	}
	if kept, err := a.KeepFlight(); !kept || err != nil {
		t.Fatalf("the first: %v, %v", kept, err)
	}
	first := get(a, PathKept)
	if !isTrace(first) || first.Body.Len() > 4<<20 {
		t.Fatalf("%d with %d bytes", first.Code, first.Body.Len())
	}
	if kept, err := a.KeepFlight(); kept || err != nil {
		t.Errorf("the second: %v, %v", kept, err)
	}
	if again := get(a, PathKept); again.Body.String() != first.Body.String() {
		t.Error("another window replaced the first")
	}
	if w := get(a, PathKept, func(r *http.Request) { r.Method = "HEAD" }); w.Code != http.StatusOK || w.Body.Len() > 0 {
		t.Errorf("HEAD: %d with %d bytes", w.Code, w.Body.Len())
	}
	if w := get(a, PathKept, func(r *http.Request) { r.RemoteAddr = "192.0.2.1:1" }); w.Code != http.StatusForbidden && w.Code != http.StatusUnauthorized {
		t.Errorf("a stranger: %d", w.Code)
	}
	if _, err := a.Control(Control{FlightRecorder: &FlightRecorder{MinAge: 1}}); err != nil {
		t.Fatal(err)
	}
	if w := get(a, PathKept); w.Code != http.StatusNotFound {
		t.Errorf("set again: %d", w.Code)
	}
	if kept, err := a.KeepFlight(); !kept || err != nil {
		t.Errorf("set again: %v, %v", kept, err)
	}
}
