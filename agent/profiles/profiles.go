// Package profiles mounts net/http/pprof so that the agent's samples say while a profile was running.
//
// It is apart from package agent because importing net/http/pprof registers its handlers on
// http.DefaultServeMux: a service that serves that mux in public should know. It starts no goroutines.
package profiles

import (
	"net/http"
	"net/http/pprof"

	"dyno/agent"
)

// Mount puts the profiles under /debug/pprof/.
func Mount(mux *http.ServeMux, a *agent.Agent) {
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.Handle("/debug/pprof/profile", a.Marking(http.HandlerFunc(pprof.Profile)))
	mux.Handle("/debug/pprof/trace", a.Marking(http.HandlerFunc(pprof.Trace)))
}
