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

// Mount puts the profiles under /debug/pprof/, for those whom the agent's guarded paths are for.
func Mount(mux *http.ServeMux, a *agent.Agent) {
	for path, h := range map[string]http.Handler{
		"":        http.HandlerFunc(pprof.Index),
		"cmdline": http.HandlerFunc(pprof.Cmdline),
		"symbol":  http.HandlerFunc(pprof.Symbol),
		"profile": a.Marking(http.HandlerFunc(pprof.Profile)),
		"trace":   a.Marking(http.HandlerFunc(pprof.Trace)),
	} {
		mux.Handle("/debug/pprof/"+path, a.Guarded(h))
	}
}
