// Package profiles mounts net/http/pprof so that the agent's samples report when a profile was
// running.
//
// It is separate from package agent because importing net/http/pprof registers its handlers on
// http.DefaultServeMux, which matters to a service that serves that mux in public. It is not for
// reading profiles (lab/probe). It starts no goroutines.
package profiles

import (
	"net/http"
	"net/http/pprof"

	"dyno/agent"
)

// Mount serves the profiles under /debug/pprof/, for the same peers as the agent's guarded paths.
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
