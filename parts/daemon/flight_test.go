package daemon

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/agent"
)

// kept asks an agent for the trace that it has kept, as a process on this machine would.
func kept(a *agent.Agent) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", agent.PathKept, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:40000", "127.0.0.1:6060"
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// A service that tips over keeps the trace of the time before, and says so once.
func TestInflectionKeepsTheTrace(t *testing.T) {
	a := agent.New(agent.Config{})
	defer a.Close()
	var log bytes.Buffer
	var paused atomic.Int64
	p := &process{agent: a, log: newLog(&log, slog.LevelWarn), options: options{flight: time.Second}}
	if err := p.startFlight(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		took := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "toy_seconds", Buckets: []float64{0.001, 0.01, 0.1, 1}})
		env := &Env{Metrics: prometheus.NewRegistry()}
		env.Metrics.MustRegister(took)
		reading, end := context.WithCancel(t.Context())
		env.watch = p.watch(reading, env, func() time.Duration { return time.Duration(paused.Load()) })
		env.Requests("toy_seconds")
		time.Sleep(time.Second / 7) // requests come between two readings, never in the same instant as one
		for range 90 {
			for range 100 {
				took.Observe(0.005)
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if w := kept(a); w.Code != 404 || log.Len() > 0 {
			t.Errorf("while all is well: %d, log %s", w.Code, log.String())
		}
		for range 60 {
			for range 40 {
				took.Observe(0.5)
			}
			paused.Add(int64(5 * time.Millisecond))
			time.Sleep(time.Second)
		}
		end()
		p.readings.Wait()
	})
	if n := strings.Count(log.String(), "tips over"); n != 1 || !strings.Contains(log.String(), "100 requests/s fell to ") || !strings.Contains(log.String(), agent.PathKept) {
		t.Errorf("%d times in the log: %s", n, log.String())
	}
	if w := kept(a); w.Code != 200 || !strings.HasPrefix(w.Body.String(), "go 1.") || w.Body.Len() > 20<<20 {
		t.Errorf("%d with %d bytes", w.Code, w.Body.Len())
	}
}

// Without --flight-recorder nothing is watched, and nothing is recorded.
func TestFlightRecorderIsOff(t *testing.T) {
	p := &process{agent: agent.New(agent.Config{})}
	defer p.agent.Close()
	if err := p.startFlight(); err != nil {
		t.Fatal(err)
	}
	env := &Env{watch: p.watch(t.Context(), nil, pausedFor)}
	env.Requests("toy_seconds")
	p.readings.Wait()
	if _, err := p.agent.KeepFlight(); err == nil {
		t.Error("the flight recorder is on")
	}
}
