// Package agent is what a Go service imports so that the lab can look inside while it is under load:
//
//	mux.Handle("/debug/dyno/", agent.New(agent.Config{Service: "orders"}))
//
// That one line is enough. It imports the standard library only and costs nothing while nobody asks.
//
// # Paths
//
// Mount them on an address that only this machine can reach. Info and samples may be opened further, as
// metrics are; whatever changes the process, slows it down or tells its secrets is let through for loopback
// peers and, when Config.Token is set, for those who send it (Guard).
//
//   - GET /debug/dyno/info says what the process is.
//   - GET /debug/dyno/samples is a stream of samples at 10 Hz, a JSON object a line, on the clock that the
//     load generator uses: CPU, heap, garbage collection, scheduler, and the service's own gauges. All
//     readers share one sampler.
//   - POST /debug/dyno/control switches what costs something, and answers with what restores it: the rates
//     of the mutex and block profiles, GOGC, GOMEMLIMIT, GOMAXPROCS and the flight recorder. Guarded.
//   - GET /debug/dyno/trace?seconds=0.5 is an execution trace of up to 5 s; 409 while another one is being
//     taken. Guarded.
//   - GET /debug/dyno/flight is what the flight recorder holds: an execution trace of the moments before,
//     for when something odd has just happened; 409 while it is off. Guarded.
//
// # Costs
//
// A sample has a budget of 100 us, so that ten a second are 0.1% of a core; BenchmarkSample and, for a process
// of many threads, BenchmarkDelay print what it takes. Reading allocates nothing, writing a sample as JSON a handful of objects. On Linux the delay
// of the threads takes an open file each while somebody listens, for at most 256 threads and an eighth of
// what the process may open; 32 threads are read per sample, and take turns when there are more.
//
// A gauge costs a goroutine's start and what it reads; DBStats adds those of a connection pool. StartTime,
// which splits the latency of requests, is the one thing here that costs something per request.
// BenchmarkStartTime prints it: two clock readings for the most part. Block profiles at a rate of 1 can cost more than the
// service itself. The flight recorder is an execution trace that is always on: the Go project puts that at
// 1 to 2% of CPU time, and it holds its bytes in memory. Since latency suffers, every sample is marked
// (Sample.Profiling) while it is on, as while a trace or a CPU profile is being taken: latency from such a
// time must not be reported.
//
// # What it is not
//
// It is not a metrics library: it keeps no history, and a figure that the Go runtime already has is read
// from there. Profiles come from net/http/pprof; mount them with agent/profiles, so that the samples say
// while which of them a profile was running. Where the toolchain was built with the experiment
// goroutineleakprofile, the profile of leaked goroutines is among them.
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

	profiles atomic.Int32 // how many CPU profiles, traces and flight recorders are running
	profiled atomic.Bool  // one ran since the sample before

	mu     sync.Mutex
	gauges []*gauge

	watchRequests      sync.Once
	queueing, handling durations

	control   sync.Mutex // one change at a time, so that the previous values answered are true
	blockRate int        // ns; the runtime does not tell it, so this is what was last set here
	flight    flight
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
		a.beginProfile()
		defer a.endProfile()
		h.ServeHTTP(w, r)
	})
}

// Guarded wraps a handler that tells the process's secrets or slows it down, such as a profile: it is for
// whom the agent's guarded paths are for.
func (a *Agent) Guarded(h http.Handler) http.Handler { return a.guard.Wrap(h) }

func (a *Agent) beginProfile() { a.profiles.Add(1) }

func (a *Agent) endProfile() {
	a.profiled.Store(true) // first, or a sample between the two would miss it
	a.profiles.Add(-1)
}

// sawProfile reports whether a profile has been running at any time since it was asked last.
func (a *Agent) sawProfile() bool { return a.profiled.Swap(false) || a.profiles.Load() > 0 }

// Close ends every stream and waits for the goroutines behind them; for gauges that do not return, one
// second in all. Streams asked for later are refused. It also switches the flight recorder off.
func (a *Agent) Close() {
	a.stream.close()
	_, _ = a.setFlight(FlightRecorder{}) // switching off does not fail
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	for _, g := range a.allGauges() {
		g.wait(patience)
	}
}

// ServeHTTP answers the paths under /debug/dyno/.
func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	method, guarded, serve := http.MethodGet, false, http.HandlerFunc(nil)
	switch r.URL.Path {
	case PathInfo:
		serve = func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, a.info()) }
	case PathSamples:
		serve = a.stream.serve
	case PathControl:
		method, guarded, serve = http.MethodPost, true, a.serveControl
	case PathTrace:
		guarded, serve = true, a.serveTrace
	case PathFlight:
		guarded, serve = true, a.serveFlight
	default:
		writeError(w, http.StatusNotFound, fmt.Errorf("no %s here; there are GET %s, GET %s, POST %s, GET %s and GET %s",
			r.URL.Path, PathInfo, PathSamples, PathControl, PathTrace, PathFlight))
		return
	}
	if !allowed(w, r, method) {
		return
	}
	if guarded {
		serve = a.guard.Wrap(serve).ServeHTTP
	}
	serve(w, r)
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
