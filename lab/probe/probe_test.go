package probe

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"dyno/agent"
	"dyno/agent/monotonic"
	"dyno/lab/probe/profiling"
	"dyno/lab/probe/usage"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

const secret = "open sesame"

// guarded passes requests with the token to h.
func guarded(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret {
			http.Error(w, "a token is needed", http.StatusUnauthorized)
			return
		}
		h(w, r)
	}
}

// patience is the time limit for events that take a few windows, on a machine that may be busy.
const patience = 2 * time.Minute

// streamFrom serves an agent whose samples have the time of clock, and count one allocation per ns.
// The stream ends once when broken is set.
func streamFrom(clock func() int64, broken *atomic.Bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case agent.PathInfo:
			json.NewEncoder(w).Encode(agent.Info{Service: "fake", PID: 7})
		case agent.PathSamples:
			tick := time.NewTicker(20 * time.Millisecond) // more often than needed: the probe keeps one sample per boundary
			defer tick.Stop()
			for {
				now := clock()
				json.NewEncoder(w).Encode(agent.Sample{At: now, CPU: float64(now) / 1e9, Allocs: uint64(now)})
				w.(http.Flusher).Flush()
				if broken != nil && broken.CompareAndSwap(true, false) {
					return
				}
				select {
				case <-r.Context().Done():
					return
				case <-tick.C:
				}
			}
		default:
			http.NotFound(w, r)
		}
	}
}

// nowhere is a machine without a /proc.
func nowhere(t *testing.T) usage.Source {
	return usage.Source{Root: t.TempDir(), Clock: func(int) (float64, bool) { return 0, false }}
}

// fakeProcess is a /proc with process 10, whose CPU clock runs at half a core.
func fakeProcess(t *testing.T) usage.Source {
	from := nowhere(t)
	for path, text := range map[string]string{"10/statm": "1 1", "stat": "cpu 100 0 0 0 0 0 0 0\n", "10/task/10/schedstat": "5 0 7\n"} {
		path = filepath.Join(from.Root, "proc", path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	from.Clock = func(pid int) (float64, bool) { return float64(monotonic.Now()) / 2e9, pid == 10 }
	return from
}

// await waits for one window after the other until one is as wanted.
func await(t *testing.T, w *Watcher, what string, wanted func(k int64) bool) {
	t.Helper()
	deadline := monotonic.Now() + int64(patience)
	for k := boundary(monotonic.Now()); !wanted(k); k++ {
		if monotonic.Now() > deadline {
			t.Fatalf("never saw %s", what)
		}
	}
}

func TestWatch(t *testing.T) {
	url := serve(t, streamFrom(monotonic.Now, nil))
	w, err := watch(t.Context(), Options{Processes: usage.Processes{PID: 10}, Debug: profiling.Address{URL: url}}, fakeProcess(t))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if w.Info() == nil || w.Info().Service != "fake" {
		t.Errorf("Info() = %+v", w.Info())
	}
	begin := monotonic.Now()
	await(t, w, "a window with both halves", func(k int64) bool {
		s := w.Server(k*window, time.Second)
		if s == nil || !s.AgentSeen {
			return false
		}
		// the CPU time from /proc is preferred to the agent's, which grows at 1 core
		return s.CPU > 0.4 && s.CPU < 0.6 && s.Allocs > 0.9e9 && s.Allocs < 1.1e9
	})
	around := w.System(begin, monotonic.Now())
	totals := w.Totals(begin, monotonic.Now(), 1)
	w.Close()
	if !around.Seen || around.TargetCPU <= 0 {
		t.Errorf("surroundings %+v", around)
	}
	if totals == nil || totals.AllocsPerRequest <= 0 || totals.PeakRSS <= 0 {
		t.Errorf("totals %+v", totals)
	}
}

// Without the token, the probe reads neither the description nor the stream of a guarded agent.
func TestWatchAGuardedAgent(t *testing.T) {
	url, from := serve(t, guarded(streamFrom(monotonic.Now, nil))), nowhere(t)
	w, err := watch(t.Context(), Options{Debug: profiling.Address{URL: url, Token: secret}}, from)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if w.Info() == nil || w.Info().Service != "fake" {
		t.Errorf("Info() = %+v", w.Info())
	}
	await(t, w, "the agent", func(k int64) bool { s := w.Server(k*window, time.Second); return s != nil && s.AgentSeen })
	if without, err := watch(t.Context(), Options{Debug: profiling.Address{URL: url}}, from); err != nil {
		t.Error(err)
	} else if without.Close(); without.Info() != nil {
		t.Errorf("without the token: %+v", without.Info())
	}
}

// The probe opens a stream again that broke off.
func TestStreamComesBack(t *testing.T) {
	var broken atomic.Bool
	w, err := watch(t.Context(), Options{Debug: profiling.Address{URL: serve(t, streamFrom(monotonic.Now, &broken))}}, nowhere(t))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	seen := func(k int64) bool { s := w.Server(k*window, time.Second); return s != nil && s.AgentSeen }
	await(t, w, "the agent", seen)
	broken.Store(true)
	await(t, w, "the stream break off", func(int64) bool {
		w.Server(boundary(monotonic.Now())*window, 10*time.Millisecond)
		return !broken.Load()
	})
	await(t, w, "the agent again", func(int64) bool { return seen(boundary(monotonic.Now())) })
}

// An agent on another machine has another clock: its samples count as taken when they arrive.
func TestForeignClock(t *testing.T) {
	elsewhere := func() int64 { return monotonic.Now() + int64(1000*time.Hour) }
	w, err := watch(t.Context(), Options{Debug: profiling.Address{URL: serve(t, streamFrom(elsewhere, nil))}}, nowhere(t))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	await(t, w, "the agent", func(k int64) bool {
		s := w.Server(k*window, time.Second)
		return s != nil && s.AgentSeen && s.CPU > 0.9 && s.CPU < 1.1
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.remote {
		t.Error("taken for this machine's")
	}
}

func TestClockOffset(t *testing.T) {
	const s = int64(time.Second)
	for _, tt := range []struct{ at, now, want int64 }{{100 * s, 101 * s, 0}, {101 * s, 100 * s, 0}, {100 * s, 200 * s, 100 * s}, {200 * s, 100 * s, -100 * s}} {
		if got := clockOffset(tt.at, tt.now); got != tt.want {
			t.Errorf("clockOffset(%d, %d) = %d, want %d", tt.at, tt.now, got, tt.want)
		}
	}
}

func TestWatchWithoutAnAgent(t *testing.T) {
	w, err := watch(t.Context(), Options{Processes: usage.Processes{PID: 10}, Debug: profiling.Address{URL: serve(t, http.NotFound)}}, fakeProcess(t))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if w.Info() != nil {
		t.Errorf("Info() = %+v", w.Info())
	}
	await(t, w, "the process", func(k int64) bool {
		s := w.Server(k*window, time.Second)
		return s != nil && !s.AgentSeen && s.CPU > 0
	})
}

func TestWatchFails(t *testing.T) {
	if w, err := Watch(t.Context(), Options{Debug: profiling.Address{URL: "127.0.0.1:1"}}); err == nil {
		w.Close()
		t.Error("a debug address without a listener was accepted")
	}
}

func TestUntilBoundary(t *testing.T) {
	for now, want := range map[int64]int64{0: window, 1: window - 1, window - 1: 1, 7*window + 5: window - 5} {
		if got := untilBoundary(now); int64(got) != want {
			t.Errorf("untilBoundary(%d) = %d, want %d", now, got, want)
		}
	}
}
