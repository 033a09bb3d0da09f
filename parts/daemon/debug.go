package daemon

import (
	"expvar"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"dyno/agent"
	"dyno/agent/profiles"
)

// Phases of a process's life, as /readyz tells them.
const (
	starting = "starting"
	ready    = "ready"
	draining = "draining"
)

// phase holds one of them.
type phase struct{ atomic.Value }

func (p *phase) get() string { return p.Load().(string) }

// debugHandler returns what the debug address serves. Health and metrics are for everybody who can reach
// it; the rest (profiles, variables, the agent, the service's own pages in mux) is for loopback peers and
// holders of the token.
func debugHandler(mux *http.ServeMux, a *agent.Agent, token string, metrics *prometheus.Registry, p *phase) http.Handler {
	mux.Handle("/debug/dyno/", a)
	mux.Handle("/debug/vars", expvar.Handler())
	profiles.Mount(mux, a)

	open := http.NewServeMux()
	open.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	open.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		now := p.get()
		if now != ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		io.WriteString(w, now+"\n")
	})
	open.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{Registry: metrics}))
	open.Handle("/", agent.NewGuard(token).Wrap(mux))
	return open
}

// newMetrics returns a registry with what the Go runtime and the operating system tell of the process.
func newMetrics() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return r
}

func newLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}
