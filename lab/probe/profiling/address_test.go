package profiling

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"strings"
	"testing"

	"dyno/agent"
)

func TestEndpoint(t *testing.T) {
	for _, tt := range []struct{ debug, heap, info string }{
		{"h:1", "http://h:1/debug/pprof/heap?gc=1", "http://h:1/debug/dyno/info"},
		{"https://h/", "https://h/debug/pprof/heap?gc=1", "https://h/debug/dyno/info"},
		{"http://h/ops/a%2Fb/", "http://h/ops/a%2Fb/debug/pprof/heap?gc=1", "http://h/ops/a%2Fb/debug/dyno/info"},
		{"http://me:pw@h/ops", "http://me:pw@h/ops/debug/pprof/heap?gc=1", "http://me:pw@h/ops/debug/dyno/info"},
		{"me:pw@h/ops", "http://me:pw@h/ops/debug/pprof/heap?gc=1", "http://me:pw@h/ops/debug/dyno/info"},
		{"h/x?key=a://b#part", "http://h/x/debug/pprof/heap?key=a://b&gc=1", "http://h/x/debug/dyno/info?key=a://b"},
		// Addresses copied from a browser.
		{"http://h/debug/pprof/", "http://h/debug/pprof/heap?gc=1", "http://h/debug/dyno/info"},
		{"http://h/debug/pprof", "http://h/debug/pprof/heap?gc=1", "http://h/debug/dyno/info"},
		{"http://h/ops/debug/pprof/profile?seconds=9&key=k", "http://h/ops/debug/pprof/heap?key=k&gc=1", "http://h/ops/debug/dyno/info?key=k"},
		{"http://h/debug/pprof/goroutine?debug=2", "http://h/debug/pprof/heap?gc=1", "http://h/debug/dyno/info"},
		{"http://h/debug", "http://h/debug/pprof/heap?gc=1", "http://h/debug/dyno/info"},
		{"http://h/ops/debug/dyno/info", "http://h/ops/debug/pprof/heap?gc=1", "http://h/ops/debug/dyno/info"},
		// Routers that serve the profiles elsewhere.
		{"http://h/dev/pprof", "http://h/dev/pprof/heap?gc=1", "http://h/dev/debug/dyno/info"},
	} {
		at := Address{URL: tt.debug}
		for path, want := range map[string]string{PathPprof + "heap?gc=1": tt.heap, agent.PathInfo: tt.info} {
			if got, err := at.endpoint(path); err != nil || got.String() != want {
				t.Errorf("%s %s: %v, %v, want %s", tt.debug, path, got, err, want)
			}
		}
	}
}

// The address of one page is used as it is: some servers answer only with the slash at its end.
func TestPageOfItsOwn(t *testing.T) {
	for debug, want := range map[string]string{
		"h:1/metrics/":                     "http://h:1/metrics/",
		"http://h/debug/pprof/metrics#top": "http://h/debug/pprof/metrics",
		"http://h/probe?debug=1&a=b":       "http://h/probe?debug=1&a=b",
		"http://h/a%2Fb":                   "http://h/a%2Fb",
	} {
		if got, err := (Address{URL: debug}).endpoint(""); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v, want %s", debug, got, err, want)
		}
	}
}

func TestEndpointFails(t *testing.T) {
	for _, tt := range []struct {
		at   Address
		want string
	}{
		{Address{URL: "http://me:s3cret@h/%zz"}, "not a debug address"},
		{Address{URL: "me:s3cret@:1"}, "not a debug address"},
		{Address{URL: "ftp://me:s3cret@h"}, "not a debug address"},
		{Address{URL: "http://me:s3cret@h", Token: "s3cret"}, "one of the two"},
	} {
		if _, err := tt.at.endpoint(PathPprof); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v: %v", tt.at, err)
		}
	}
}

func FuzzEndpoint(f *testing.F) {
	for _, s := range []string{"h:1", "http://me:pw@h/a/debug/pprof?x=1", "//h", "http://[::1]:1/%2f/pprof/", "http://h/?a://b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, debug string) {
		u, err := Address{URL: debug}.endpoint(PathPprof + "heap?gc=1")
		if err != nil {
			return
		}
		if !strings.HasSuffix(u.Path, "/pprof/heap") || !strings.HasSuffix(u.RawQuery, "gc=1") {
			t.Errorf("%q became %s", debug, u)
		}
	})
}

// within returns a server of net/http/pprof and the agent below a path, which requires a user and a
// key.
func within(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	mux.Handle("/ops/debug/pprof/", http.StripPrefix("/ops", http.HandlerFunc(pprof.Index)))
	mux.HandleFunc("/ops"+agent.PathInfo, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"pid":7}`) })
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case user != "me" || password != "s3cret":
			http.Error(w, "sign in", http.StatusUnauthorized)
		case r.FormValue("key") != "k3y":
			http.Error(w, "no key", http.StatusForbidden)
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	srv.Config.ErrorLog = quiet
	t.Cleanup(srv.Close)
	return srv
}

func TestEveryPartIsUsed(t *testing.T) {
	srv := within(t)
	srv.StartTLS()
	authorities := srv.Client().Transport.(*http.Transport).TLSClientConfig
	host := strings.TrimPrefix(srv.URL, "https://")
	for _, tt := range []struct{ url, want string }{
		{"https://me:s3cret@" + host + "/ops?key=k3y", ""},
		{"https://me:s3cret@" + host + "/ops?key=other", "403 Forbidden"},
		{"https://me:s3cret@" + host + "?key=k3y", "404 Not Found"},
		{"https://" + host + "/ops?key=k3y", "401 Unauthorized"},
	} {
		at := Address{URL: tt.url, TLS: authorities}
		err := Pprof(t.Context(), at)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.url, err, tt.want)
		}
		c := New(at)
		_, agentless := c.Info(t.Context())
		c.Close()
		if (agentless == nil) != (tt.want == "") || Refused(agentless) != (tt.want != "" && tt.want != "404 Not Found") {
			t.Errorf("%s: agent: %v", tt.url, agentless)
		}
		for _, err := range []error{err, agentless} {
			if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "k3y")) {
				t.Errorf("%v shows a secret", err)
			}
		}
	}
}

func TestPprof(t *testing.T) {
	locked := serve(t, guarded(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "goroutine heap") }))
	unlisted := http.NewServeMux()
	unlisted.Handle(PathPprof+"goroutine", pprof.Handler("goroutine"))
	tests := []struct {
		name string
		at   Address
		want string // of the error; empty: none
	}{
		{"pprof", Address{URL: serve(t, pprof.Index)}, ""},
		{"guarded", Address{URL: locked, Token: secret}, ""},
		{"without a list", Address{URL: serve(t, unlisted.ServeHTTP)}, ""},
		{"no token", Address{URL: locked}, "401 Unauthorized: a token is needed"},
		{"nothing there", Address{URL: serve(t, http.NotFound)}, "404 Not Found"},
		{"broken", Address{URL: serve(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "broken", 500) })}, "500 Internal Server Error: broken"},
		{"a page", Address{URL: serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") })}, "200 OK (an HTML page)"},
		{"elsewhere", Address{URL: serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://login.example/in?back=s3cret", http.StatusFound)
		})}, "302 Found (an HTML page), a redirect to https://login.example/in: name"},
	}
	for _, tt := range tests {
		err := Pprof(t.Context(), tt.at)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestUnanswered(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	t.Cleanup(secure.Close)
	host := strings.TrimPrefix(secure.URL, "https://")
	foreign := serve(t, func(w http.ResponseWriter, r *http.Request) { // as a TLS server that is not written in Go answers
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(c, "\x15\x03\x01\x00\x02\x02\x46")
		c.Close()
	})
	for _, tt := range []struct {
		name string
		at   Address
		want string
	}{
		{"refused", Address{URL: "http://" + free.Addr().String() + "?key=s3cret"}, "nothing listens at http://" + free.Addr().String() + ": connection refused"},
		{"plain to TLS", Address{URL: "http://" + host}, "write https://"},
		{"plain to other TLS", Address{URL: foreign}, "write https://"},
		{"TLS to plain", Address{URL: strings.Replace(serve(t, http.NotFound), "http", "https", 1)}, "write http://"},
		{"unknown authority", Address{URL: secure.URL}, "insecure (-k)"},
		{"any authority", Address{URL: secure.URL, TLS: &tls.Config{InsecureSkipVerify: true}}, "404"},
	} {
		if err := Pprof(t.Context(), tt.at); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
