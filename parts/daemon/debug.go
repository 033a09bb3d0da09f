package daemon

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"dyno/agent"
	"dyno/agent/profiles"
	"dyno/parts/debugpage"
	"dyno/parts/redact"
)

// Phases of a process, as /readyz reports them.
const (
	starting = "starting"
	ready    = "ready"
	draining = "draining"
)

// readyTimeout bounds a check of /readyz: less than the seconds after which its clients time out.
const readyTimeout = time.Second

// phase holds one of them, and what else the service needs to be ready.
type phase struct {
	atomic.Value
	needs atomic.Pointer[func(context.Context) error]
}

func (p *phase) get() string { return p.Load().(string) }

// readyz answers whether the service can be used now, and if not why.
func (p *phase) readyz(w http.ResponseWriter, r *http.Request) {
	now := p.get()
	if needs := p.needs.Load(); now == ready && needs != nil && *needs != nil {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := (*needs)(ctx); err != nil {
			now = "not ready: " + oneLine(err)
		}
	}
	if now != ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	io.WriteString(w, now+"\n")
}

// Board shows a page of figures at a path of the debug address, which ends in a slash.
func (e *Env) Board(path string, b debugpage.Board) {
	e.Debug.Handle("GET "+path+"{$}", b.Handler())
	e.Recent(path+"recent", b.Figures)
}

// Recent answers at a path of the debug address what figures of the service's metrics have been in
// the last five minutes. The process reads them until
// Drain is called.
func (e *Env) Recent(path string, figures []debugpage.Figure) {
	r := debugpage.NewRecent(figures, e.Metrics)
	e.Debug.Handle("GET "+path, r)
	if e.keep != nil {
		e.keep(r)
	}
}

// debugHandler returns the handler of the debug address. Health and metrics are open to every peer
// that can reach it; the rest (profiles, variables, the agent, the service's own pages in mux) is
// for loopback peers and holders of the token.
func debugHandler(mux *http.ServeMux, a *agent.Agent, token string, metrics *prometheus.Registry, p *phase) http.Handler {
	mux.Handle("/debug/dyno/", a)
	profiles.Mount(mux, a)

	all := runtimeMetrics()
	metrics.MustRegister(taken{all})
	open := http.NewServeMux()
	open.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	open.HandleFunc("GET /readyz", p.readyz)
	open.Handle("GET /metrics", promhttp.HandlerFor(prometheus.Gatherers{all, metrics}, promhttp.HandlerOpts{Registry: metrics}))
	guard := agent.NewGuard(token)
	open.Handle("/debug/vars", guard.Wrap(http.HandlerFunc(debugpage.Variables)))
	open.Handle("/debug/pprof/cmdline", guard.Wrap(http.HandlerFunc(debugpage.Cmdline)))
	open.Handle("/", guard.Wrap(mux))
	return open
}

// runtimeMetrics returns a registry with the metrics of the Go runtime and of the process. They are
// apart from the service's own, since a reading of them costs more.
func runtimeMetrics() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return r
}

// taken has the names of metrics that are read elsewhere: a registry with it refuses others of the
// same names.
type taken struct{ prometheus.Collector }

// Collect returns none of them.
func (taken) Collect(chan<- prometheus.Metric) {}

func newLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: redact.Attr}))
}
