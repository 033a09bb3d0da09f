// Package agent is what a Go service imports so that the lab can look inside while it is under load:
//
//	mux.Handle("/debug/dyno/", agent.New(agent.Config{Service: "orders"}))
//
// It answers with what the process is (info), a stream of samples at 10 Hz on the clock that the load
// generator uses (samples), and it switches what costs something (control). It imports the standard
// library only and costs nothing while nobody listens.
//
// It is not a metrics library: it keeps no history, and a figure that the Go runtime already has is read
// from there. Profiles come from net/http/pprof; mount them with agent/profiles, so that the samples say
// while which of them a profile was running.
//
// An Agent starts its goroutines (one sampler, and one per gauge while that gauge is being read) when the
// first reader of the stream arrives and ends them when the last one leaves; Close ends and waits for all.
package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config of an Agent. The zero value works: it names no service and lets only loopback peers change things.
type Config struct {
	Service  string
	Version  string          // "": the version of the main module, with its commit
	Assembly json.RawMessage // what was chosen for each seam and setting, shown by info
	Token    string          // lets peers beyond loopback change things; "": they may not
}

// Agent is an http.Handler for /debug/dyno/. Its methods may be called at the same time.
type Agent struct {
	config Config
	guard  *Guard
	stream stream

	profiles atomic.Int32 // how many CPU profiles and traces are running
	profiled atomic.Bool  // one ran since the sample before

	mu     sync.Mutex
	gauges []*gauge

	control   sync.Mutex // one change at a time, so that the previous values answered are true
	blockRate int        // ns; the runtime does not tell it, so this is what was last set here
}

// New returns an Agent. No goroutine runs until somebody reads the stream.
func New(config Config) *Agent {
	if config.Version == "" {
		config.Version = buildVersion()
	}
	a := &Agent{config: config, guard: NewGuard(config.Token)}
	a.stream.sample = a.run
	return a
}

// Gauge adds a figure of the service's own to every sample. read is called ten times a second while
// somebody listens, from a goroutine of its own and never twice at the same time. A reading that panics,
// is not finite or takes longer than 5 ms is left out of its sample. A name used before is replaced.
func (a *Agent) Gauge(name string, read func() float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	// The slice is replaced, never changed in place: the sampler may be walking the old one.
	gauges := slices.DeleteFunc(slices.Clone(a.gauges), func(g *gauge) bool { return g.name == name })
	a.gauges = append(gauges, newGauge(name, read))
}

func (a *Agent) allGauges() []*gauge {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gauges
}

// Marking wraps a handler that takes a CPU profile or an execution trace, so that samples say while it
// runs (Sample.Profiling): latency from such windows is never reported.
func (a *Agent) Marking(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.profiles.Add(1)
		defer func() {
			a.profiled.Store(true)
			a.profiles.Add(-1)
		}()
		a.profiled.Store(true)
		h.ServeHTTP(w, r)
	})
}

// sawProfile reports whether a profile has been running at any time since it was asked last.
func (a *Agent) sawProfile() bool { return a.profiled.Swap(false) || a.profiles.Load() > 0 }

// Close ends every stream and waits for the goroutines behind them; for gauges that do not return, one
// second in all. Streams asked for later are refused.
func (a *Agent) Close() {
	a.stream.close()
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	for _, g := range a.allGauges() {
		g.wait(patience)
	}
}

// ServeHTTP answers PathInfo, PathSamples and PathControl.
func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch r.URL.Path {
	case PathInfo:
		if allowed(w, r, http.MethodGet) {
			writeJSON(w, http.StatusOK, a.info())
		}
	case PathSamples:
		if allowed(w, r, http.MethodGet) {
			a.stream.serve(w, r)
		}
	case PathControl:
		if allowed(w, r, http.MethodPost) {
			a.serveControl(w, r)
		}
	default:
		writeError(w, http.StatusNotFound, fmt.Errorf("no %s here; there are GET %s, GET %s and POST %s",
			r.URL.Path, PathInfo, PathSamples, PathControl))
	}
}

func (a *Agent) info() Info {
	info := Info{
		Service:  a.config.Service,
		PID:      os.Getpid(),
		Go:       runtime.Version(),
		Version:  a.config.Version,
		Procs:    runtime.GOMAXPROCS(0),
		Assembly: a.config.Assembly,
	}
	for _, g := range a.allGauges() {
		info.Gauges = append(info.Gauges, g.name)
	}
	return info
}

// buildVersion returns the main module's version, with the commit when the toolchain stamped only that.
func buildVersion() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	version, dirty := build.Main.Version, ""
	for _, s := range build.Settings {
		switch {
		case s.Key == "vcs.revision" && (version == "" || version == "(devel)"):
			version = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if version == build.Main.Version { // a version made by the toolchain says +dirty itself
		return version
	}
	return version + dirty
}

func allowed(w http.ResponseWriter, r *http.Request, method string) bool {
	if r.Method == method || method == http.MethodGet && r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", method)
	writeError(w, http.StatusMethodNotAllowed, fmt.Errorf("%s takes %s, not %s", r.URL.Path, method, r.Method))
	return false
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // an error means that the peer has gone
}

func writeError(w http.ResponseWriter, status int, err error) {
	writeJSON(w, status, struct {
		Error string `json:"error"`
	}{err.Error()})
}
