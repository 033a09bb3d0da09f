package runs

import (
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"strings"
	"testing"

	"dyno/lab/experiment/environment"
	"dyno/lab/experiment/generator"
	"dyno/lab/scenario"
)

// A debug address that does not serve what it should is reported before anything is measured.
func TestDoubts(t *testing.T) {
	serve := func(path string, h http.HandlerFunc) string {
		mux := http.NewServeMux()
		mux.HandleFunc(path, h)
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		return server.URL
	}
	service := serve("/{$}", func(http.ResponseWriter, *http.Request) {})
	profiles := serve("/debug/pprof/", pprof.Index)
	locked := serve("/", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "sign in", http.StatusUnauthorized) })
	for name, tt := range map[string]struct{ load, debug, doubt, err string }{
		"none":            {load: service},
		"profiles":        {load: service, debug: profiles},
		"the load's own":  {load: service, debug: service, doubt: "404 Not Found: 404 page not found; that is the address of the load: name the one"},
		"without scheme":  {load: service, debug: strings.TrimPrefix(service, "http://"), doubt: "that is the address of the load"},
		"another path":    {load: service, debug: profiles + "/ops", doubt: "/ops/debug/pprof/ answered 404 Not Found: 404 page not found; name the address and path"},
		"locked":          {load: service, debug: locked, doubt: "answered 401 Unauthorized: sign in; the debug address may carry a user"},
		"a loaded one":    {load: profiles, debug: profiles, doubt: "the load goes to the debug address"},
		"nothing listens": {load: service, debug: "127.0.0.1:1", err: "nothing listens at http://127.0.0.1:1: connection refused; start the service with its debug address, or leave --debug out"},
	} {
		sc := &scenario.Scenario{Target: scenario.Target{Debug: tt.debug}, Load: scenario.Load{URL: tt.load}}
		sc.Target.URL = tt.load
		b := &Runner{Generator: generator.New(&environment.Programs{Scenario: sc, Variants: []scenario.Variant{{Name: "it"}}})}
		got, err := b.Doubts(t.Context())
		if said := strings.Join(got, "\n"); !strings.Contains(said, tt.doubt) || (said == "") != (tt.doubt == "") {
			t.Errorf("%s: %q, want %q", name, said, tt.doubt)
		}
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		}
	}
}
