// Package agent lets the lab observe a Go service under load from the inside. The service imports
// it, and agent/profiles for the profiles of net/http/pprof, and mounts both:
//
//	a := agent.New(agent.Config{Service: "orders"})
//	mux.Handle("/debug/dyno/", a)
//	profiles.Mount(mux, a)
//
// Without the profiles, samples show how busy the process is, but not which code it is. The package
// imports only the standard library and costs nothing while no client uses it.
//
// # Paths
//
// Mount them on an address that only this machine can reach. Info and samples may be opened
// further, as metrics are; paths that change the process, slow it down or expose its secrets admit
// loopback peers and, if Config.Token is set, peers that send the token (Guard).
//
//   - GET /debug/dyno/info describes the process.
//   - GET /debug/dyno/samples is a stream of samples at 10 Hz, one JSON object per line, on the
//     clock of the load generator: CPU, heap, garbage collection, scheduler, and the service's own
//     gauges. All readers share one sampler.
//   - POST /debug/dyno/control changes settings that have a cost, and answers with the previous
//     values: the rates of the mutex and block profiles, GOGC, GOMEMLIMIT, GOMAXPROCS and the
//     flight recorder. Guarded.
//   - GET /debug/dyno/trace?seconds=0.5 is an execution trace of up to 5 s; 409 while another one
//     is being taken. Guarded.
//   - GET /debug/dyno/flight is the content of the flight recorder: an execution trace of the
//     moments before, for use just after an unexpected event; 409 while it is off. Guarded.
//   - GET /debug/dyno/kept is the content that the service itself has kept at such an event
//     (KeepFlight); 404 if there was none. Guarded.
//
// # Costs
//
// A sample has a budget of 100 us, so that ten a second take 0.1% of a core; BenchmarkSample and,
// for a process of many threads, BenchmarkDelay of internal/rundelay print the real cost. Reading
// allocates nothing, writing a sample as JSON a handful of objects. On Linux the delay of the
// threads takes an open file each while a client reads the stream, for at most 256 threads and an
// eighth of the open-file limit; 32 threads are read per sample, and take turns if there are more.
//
// A gauge costs the start of a goroutine and its reading; DBStats adds gauges of a connection pool.
// StartTime, which splits the latency of requests, is the only part that costs something per
// request: mostly two clock readings (BenchmarkStartTime). Block profiles at a rate of 1 can cost
// more than the service itself. The flight recorder is an execution trace that is always on: the Go
// project states 1 to 2% of CPU time, and it holds its bytes in memory. Since latency suffers,
// every sample is marked (Sample.Profiling) while it is on, as during a trace or a CPU profile:
// latency from such a time must not be reported.
//
// # What it is not
//
// It is not a metrics library: it keeps no history, and reads every figure that the Go runtime has
// from there. Profiles come from net/http/pprof; agent/profiles mounts them so that the samples
// report when a profile was running. If the toolchain was built with the experiment
// goroutineleakprofile, the profile of leaked goroutines is among them.
//
// An Agent starts its goroutines (one sampler, and one per gauge while that gauge is being read)
// when the first reader of the stream arrives and ends them when the last one leaves; Close ends
// all of them and waits.
package agent

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config configures an Agent. The zero value works: it names no service and lets only loopback
// peers change settings.
type Config struct {
	Service  string
	Version  string          // "": the version of the main module, with its commit
	Assembly json.RawMessage // the choice for each seam and setting, shown by info
	Token    string          // bearer token that lets peers beyond loopback change settings; "": they may not
}

// Agent is an http.Handler for /debug/dyno/. Its methods are safe for concurrent use.
type Agent struct {
	config Config
	guard  *Guard
	stream stream

	profiles atomic.Int32 // number of CPU profiles, traces and flight recorders that are running
	profiled atomic.Bool  // one ran since the previous sample

	mu     sync.Mutex
	gauges []*gauge

	watchRequests      sync.Once
	queueing, handling durations

	control   sync.Mutex // one change at a time, so that the returned previous values are correct
	blockRate int        // ns; the runtime has no getter, so this is the value last set here
	flight    flight
}

// New returns an Agent. No goroutine runs until a client reads the stream.
func New(config Config) *Agent {
	if config.Version == "" {
		config.Version = buildVersion()
	}
	a := &Agent{config: config, guard: NewGuard(config.Token)}
	a.stream.sample = a.run
	return a
}

// Gauge adds a figure of the service to every sample. While a client reads the stream, the
// sampler calls read ten times a second, in a goroutine of its own and never twice concurrently.
// A reading that panics, is not finite or takes longer than 5 ms is left out of its sample. A
// gauge replaces an earlier one of the same name.
func (a *Agent) Gauge(name string, read func() float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	// The slice is replaced, never changed in place: the sampler may be iterating over the old
	// one.
	gauges := slices.DeleteFunc(slices.Clone(a.gauges), func(g *gauge) bool { return g.name == name })
	a.gauges = append(gauges, newGauge(name, read))
}

func (a *Agent) allGauges() []*gauge {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gauges
}

// Marking wraps a handler that takes a CPU profile or an execution trace, so that samples report
// it while it runs (Sample.Profiling): latency from such windows must not be reported.
func (a *Agent) Marking(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.beginProfile()
		defer a.endProfile()
		h.ServeHTTP(w, r)
	})
}

// Guarded wraps a handler that exposes the process's secrets or slows the process, such as a
// profile: it answers the same peers as the agent's guarded paths.
func (a *Agent) Guarded(h http.Handler) http.Handler { return a.guard.Wrap(h) }

func (a *Agent) beginProfile() { a.profiles.Add(1) }

func (a *Agent) endProfile() {
	a.profiled.Store(true) // first, or a sample between the two would miss it
	a.profiles.Add(-1)
}

// sawProfile reports whether a profile was running at any time since the previous call.
func (a *Agent) sawProfile() bool { return a.profiled.Swap(false) || a.profiles.Load() > 0 }

// Close ends every stream and waits for its goroutines; it waits at most one second in total for
// gauges that do not return. Later streams are refused. Close also switches the flight recorder
// off.
func (a *Agent) Close() {
	a.stream.close()
	_, _ = a.setFlight(FlightRecorder{}) // switching off does not fail
	timeout := time.NewTimer(time.Second)
	defer timeout.Stop()
	for _, g := range a.allGauges() {
		g.wait(timeout)
	}
}

// ServeHTTP serves the paths under /debug/dyno/.
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
	case PathKept:
		guarded, serve = true, a.serveKept
	default:
		writeError(w, http.StatusNotFound, fmt.Errorf("there is no %s; the paths are GET %s, GET %s, POST %s, GET %s, GET %s and GET %s",
			r.URL.Path, PathInfo, PathSamples, PathControl, PathTrace, PathFlight, PathKept))
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

		MemoryLimit: new(int64),
	}
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 { // -1 changes nothing
		*info.MemoryLimit = limit
	}
	for _, g := range a.allGauges() {
		info.Gauges = append(info.Gauges, g.name)
	}
	return info
}

// buildVersion returns the main module's version, with the commit when the toolchain stamped only
// that.
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
	if version == build.Main.Version { // a version stamped by the toolchain contains +dirty itself
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
	json.NewEncoder(w).Encode(v) // an error means that the client has gone
}

func writeError(w http.ResponseWriter, status int, err error) {
	writeJSON(w, status, struct {
		Error string `json:"error"`
	}{err.Error()})
}
