package guard

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func newGuard(t testing.TB, o Options) *Guard {
	t.Helper()
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestHosts(t *testing.T) {
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	g := newGuard(t, Options{Hosts: []string{"notify.example.com, Other.Example.", "10.0.0.1"}, Listen: []string{"inside:8080", "127.0.0.1:0", ":9"}})
	for host, known := range map[string]bool{
		"": true, "localhost": true, "LocalHost:8080": true, "localhost.": true, "notifyd": true, "a-service:8080": true, machine: true, machine + ":80": true,
		"127.0.0.1:8080": true, "10.1.2.3": true, "[::1]:8080": true, "[::1]": true, "[fe80::1%25eth0]": true, "0.0.0.0": true,
		"notify.example.com": true, "NOTIFY.example.com:443": true, "notify.example.com.": true, "other.example": true, "inside": true,

		"evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "evil.localhost": false, ".localhost": false, "evil.internal": false,
		"notify.example.com.evil.example": false, "xnotify.example.com": false, "127.0.0.1.evil.example": false, "127.1": false,
		"::1": false, "[localhost]": true, "[::1": false, "[::1]x": false, "[::1]:x": false, "[evil.example]": false, "localhost:80x": false,
		":8080": false, "user@localhost": false, "localhost, evil.example": false, "localhost/": false, "*": false, ".": false,
	} {
		if no := g.Check(Request{Method: "GET", Host: host}); (no == nil) != known {
			t.Errorf("%q: %+v, known %v", host, no, known)
		} else if no != nil && (no.Status != http.StatusMisdirectedRequest || !strings.Contains(no.Text, "--allow-host")) {
			t.Errorf("%q: %+v", host, no)
		}
	}
	if no := newGuard(t, Options{Hosts: []string{"*"}}).Check(Request{Method: "GET", Host: "any.example"}); no != nil {
		t.Errorf("with * a host is refused: %+v", no)
	}
}

func TestOrigins(t *testing.T) {
	g := newGuard(t, Options{Origins: []string{"https://Shop.example:443,http://localhost:3000"}, Hosts: []string{"api.example"}})
	for _, c := range []struct {
		r      Request
		passes bool
	}{
		{Request{}, true}, // curl
		{Request{Method: "POST"}, true},
		{Request{Method: "POST", Origin: "http://api.example"}, true},
		{Request{Method: "POST", Origin: "https://api.example"}, true},
		{Request{Method: "POST", Origin: "https://proxy.example", Site: "same-origin"}, true},
		{Request{Method: "POST", Site: "same-origin"}, true},
		{Request{Method: "POST", Site: "none"}, true},
		{Request{Method: "GET", Site: "cross-site", Dest: "document"}, true},
		{Request{Method: "POST", Origin: "https://shop.example", Site: "cross-site"}, true},
		{Request{Method: "OPTIONS", Origin: "https://shop.example"}, true},
		{Request{Method: "GET", Origin: "http://localhost:3000", Site: "same-site"}, true},

		{Request{Method: "POST", Origin: "https://evil.example"}, false},
		{Request{Method: "GET", Origin: "https://evil.example"}, false},
		{Request{Method: "OPTIONS", Origin: "https://evil.example"}, false},
		{Request{Method: "POST", Origin: "https://evil.example", Site: "cross-site"}, false},
		{Request{Method: "POST", Origin: "https://evil.example", Site: "none"}, false},
		{Request{Method: "POST", Origin: "http://api.example", Site: "same-site"}, false}, // another scheme
		{Request{Method: "POST", Origin: "http://api.example:81"}, false},
		{Request{Method: "POST", Origin: "api.example"}, false},
		{Request{Method: "POST", Origin: "://api.example"}, false},
		{Request{Method: "POST", Origin: "http://shop.example"}, false},
		{Request{Method: "POST", Origin: "https://shop.example, https://shop.example"}, false},
		{Request{Method: "POST", Origin: "null"}, false},
		{Request{Method: "GET", Origin: "null"}, false},
		{Request{Method: "GET", Origin: "null", Site: "same-origin"}, false},
		{Request{Method: "POST", Site: "cross-site"}, false},
		{Request{Method: "POST", Site: "cross-site", Dest: "document"}, false},
		{Request{Method: "POST", Site: "same-origin, cross-site"}, false},
		{Request{Method: "GET", Site: "cross-site", Dest: "image"}, false},
		{Request{Method: "GET", Site: "same-site", Dest: "iframe"}, false},
		{Request{Method: "GET", Site: "cross-site", Dest: "empty"}, false},
	} {
		c.r.Host = "api.example"
		no := g.Check(c.r)
		if (no == nil) != c.passes {
			t.Errorf("%+v: %+v, passes %v", c.r, no, c.passes)
		} else if no != nil && (no.Status != http.StatusForbidden || !strings.Contains(no.Text, "--allow-origin")) {
			t.Errorf("%+v: %+v", c.r, no)
		}
	}
	no := g.Private().Check(Request{Method: "POST", Host: "api.example", Origin: "https://shop.example"})
	if no == nil || strings.Contains(no.Text, "--allow") {
		t.Errorf("a private address answers a listed origin, or names a setting that does not hold for it: %+v", no)
	}
}

func TestMistakes(t *testing.T) {
	for _, o := range []Options{
		{Origins: []string{"*"}}, {Origins: []string{"null"}}, {Origins: []string{"shop.example"}}, {Origins: []string{"https://"}},
		{Origins: []string{"https://a.example/page"}}, {Origins: []string{"https://u@a.example"}}, {Origins: []string{"https://*.example"}},
		{Origins: []string{"https://a.example?x"}}, {Origins: []string{"https://a.example:port"}}, {Origins: []string{"https://a.example:99999"}},
		{Hosts: []string{"https://a.example"}}, {Hosts: []string{"a.example:80"}}, {Hosts: []string{"*.example"}}, {Hosts: []string{"a b"}},
		{Origins: []string{"https://:80"}}, {Origins: []string{"file:"}}, {Origins: []string{"localhost:3000"}}, {Origins: []string{"app://:1"}},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "--allow-") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// guard refuses every request that net/http's own protection refuses.
func TestAsStrictAsNetHTTP(t *testing.T) {
	const listed = "https://shop.example"
	g := newGuard(t, Options{Origins: []string{listed}, Hosts: []string{"*"}})
	var theirs http.CrossOriginProtection
	if err := theirs.AddTrustedOrigin(listed); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		origins := rapid.OneOf(rapid.SampledFrom([]string{"", "null", listed, "http://a.example", "https://a.example:1", "https://evil.example", "://a.example", "x://a.example", "http://A.example"}), rapid.String())
		seen := Request{
			Method: rapid.SampledFrom([]string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}).Draw(t, "method"),
			Host:   rapid.SampledFrom([]string{"a.example", "a.example:1", "127.0.0.1"}).Draw(t, "host"),
			Origin: origins.Draw(t, "origin"),
			Site:   rapid.SampledFrom([]string{"", "none", "same-origin", "same-site", "cross-site", "x"}).Draw(t, "site"),
			Dest:   rapid.SampledFrom([]string{"", "document", "empty", "image"}).Draw(t, "dest"),
		}
		r := &http.Request{Method: seen.Method, Host: seen.Host, Header: http.Header{"Origin": {seen.Origin}, "Sec-Fetch-Site": {seen.Site}}}
		if err := theirs.Check(r); err != nil && g.Check(seen) == nil {
			t.Errorf("%+v passes, and net/http says: %v", seen, err)
		}
	})
}

func TestAllocatesNothing(t *testing.T) {
	g := newGuard(t, Options{Origins: []string{"https://shop.example"}, Hosts: []string{"api.example"}})
	for _, r := range []Request{
		{Method: "GET", Host: "127.0.0.1:8080"},
		{Method: "GET", Host: "api.example:443", Origin: "https://shop.example", Site: "cross-site"},
		{Method: "POST", Host: "[::1]:8080", Origin: "http://[::1]:8080"},
		{Method: "POST", Host: "some-quite-long-name-of-a-service:8080", Origin: "http://some-quite-long-name-of-a-service:8080"},
	} {
		if n := testing.AllocsPerRun(100, func() {
			if g.Check(r) != nil {
				t.Fatal("refused")
			}
		}); n != 0 {
			t.Errorf("%+v: %g allocations", r, n)
		}
	}
}

// plainWriter accepts a response without allocating.
type plainWriter struct{ http.ResponseWriter }

func TestWrapAllocatesNothing(t *testing.T) {
	h := newGuard(t, Options{}).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), nil)
	r := httptest.NewRequest("POST", "http://127.0.0.1/v1/x", nil)
	r.Header.Set("Origin", "http://127.0.0.1")
	if n := testing.AllocsPerRun(100, func() { h.ServeHTTP(plainWriter{}, r) }); n != 0 {
		t.Errorf("%g allocations for a request", n)
	}
}

func TestWrap(t *testing.T) {
	reached := 0
	h := newGuard(t, Options{Origins: []string{"https://shop.example"}}).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }), nil)
	ask := func(method string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://127.0.0.1/v1/x", nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Add(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	w := ask("OPTIONS", "Origin", "https://shop.example", "Access-Control-Request-Method", "POST")
	if w.Code != 204 || reached != 0 || w.Header().Get("Access-Control-Allow-Origin") != "https://shop.example" || w.Header().Get("Vary") != "Origin" ||
		!strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "Last-Event-ID") || !strings.HasSuffix(w.Header().Get("Access-Control-Allow-Headers"), ", *") || !strings.Contains(w.Header().Get("Access-Control-Allow-Methods"), "PATCH") {
		t.Errorf("preflight: %d %v, reached %d", w.Code, w.Header(), reached)
	}
	if w := ask("GET", "Origin", "https://shop.example"); reached != 1 || w.Header().Get("Access-Control-Allow-Origin") != "https://shop.example" {
		t.Errorf("listed: %v", w.Header())
	}
	if w := ask("GET"); reached != 2 || w.Header().Get("Access-Control-Allow-Origin") != "" || w.Header().Get("Vary") != "Origin" {
		t.Errorf("without an origin: %v", w.Header())
	}
	for _, foreign := range []string{"https://evil.example", "null"} {
		w := ask("POST", "Origin", foreign)
		if w.Code != 403 || reached != 2 || w.Header().Get("Access-Control-Allow-Origin") != "" || !strings.HasPrefix(w.Body.String(), `{"error":"`) {
			t.Errorf("%s: %d %v %s", foreign, w.Code, w.Header(), w.Body)
		}
	}
	if w := ask("POST", "Origin", "https://shop.example", "Origin", "https://shop.example"); w.Code != 403 {
		t.Errorf("two origins: %d", w.Code)
	}
}

// Extensions of all browsers pass where Extensions is set, beside the listed origins and beside
// those of this machine; no other origin does by it.
func TestExtensions(t *testing.T) {
	guards := map[string]*Guard{
		"listed":   newGuard(t, Options{Extensions: true, Origins: []string{"https://shop.example", "app://notes.example", "file://", "capacitor://localhost"}}),
		"loopback": newGuard(t, Options{Extensions: true, Loopback: true}),
		"without":  newGuard(t, Options{Loopback: true}),
	}
	const all, beside, listed, none = "listed loopback", "loopback without", "listed", ""
	for origin, pass := range map[string]string{
		"chrome-extension://abcdefghijklmnopabcdefghijklmnop":         all,
		"moz-extension://9d1b7a50-61b9-4c0e-8a3e-2f6d1b3c4a5f":        all,
		"safari-web-extension://9D1B7A50-61B9-4C0E-8A3E-2F6D1B3C4A5F": all,
		"webkit-extension://9d1b7a50-61b9-4c0e-8a3e-2f6d1b3c4a5f":     all,
		"https://shop.example":  listed,
		"app://notes.example":   listed,
		"file://":               listed,
		"capacitor://localhost": listed,
		"http://localhost:4000": beside,

		"null": none, "https://evil.example": none, "app://wallet": none, "app://": none, "tauri://localhost": none,
		"chrome-extension://": none, "chrome-extension:": none, "chrome-extension": none, "chrome://settings": none, "chrome-untrusted://x": none,
		"http://chrome-extension.evil.example": none, "https://chrome-extension": none, "chrome-extension://a.evil.example": none,
		"chrome-extension://abc/page": none, "chrome-extension://abc, https://evil.example": none, "chrome-extension://abc:80": none,
		"https://evil.example, chrome-extension://abc": none, "moz-extension://a@b": none, "moz-extension://\r\nSet-Cookie:a": none, "x-moz-extension://abc": none,
	} {
		for name, g := range guards {
			passes := strings.Contains(pass, name)
			for _, site := range []string{"", "none", "cross-site"} {
				for _, method := range []string{"POST", "GET", "OPTIONS"} {
					r := Request{Method: method, Host: "127.0.0.1:8545", Origin: origin, Site: site}
					if no := g.Check(r); (no == nil) != passes {
						t.Errorf("%s: %+v: %+v, passes %v", name, r, no, passes)
					}
					if asks := method == "OPTIONS" && passes; g.Preflight(r, "POST") != asks {
						t.Errorf("%s: %+v: its preflight is answered: %v", name, r, !asks)
					}
				}
			}
			shared := map[string]string{}
			g.Share(origin, func(name, value string) { shared[name] = value })
			if (shared["Access-Control-Allow-Origin"] == origin) != passes || shared["Vary"] != "Origin" {
				t.Errorf("%s: %q gets %v", name, origin, shared)
			}
		}
		if no := guards["listed"].Private().Check(Request{Host: "127.0.0.1:8545", Origin: origin}); no == nil {
			t.Errorf("%q passes at the private address", origin)
		}
	}
}

func FuzzCheck(f *testing.F) {
	g := newGuard(f, Options{Origins: []string{"https://shop.example"}})
	f.Add("POST", "[::1%eth0]:80", "https://evil.example", "cross-site", "document")
	f.Add("GET", "localhost.:8", "null", "", "")
	f.Fuzz(func(t *testing.T, method, host, origin, site, dest string) {
		no := g.Check(Request{method, host, origin, site, dest})
		if no == nil && origin == "null" {
			t.Error("null passes")
		}
		if no == nil {
			return
		}
		if len(no.Text) > 2000 || strings.ContainsFunc(no.Text, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("the text is not short ASCII: %q", no.Text)
		}
	})
}

func FuzzNew(f *testing.F) {
	f.Add("https://shop.example:443, http://[::1]:3000", "a.example., *")
	f.Fuzz(func(t *testing.T, origins, hosts string) {
		g, err := New(Options{Origins: []string{origins}, Hosts: []string{hosts}})
		if err != nil {
			return
		}
		for _, o := range g.origins {
			if no := g.Check(Request{Method: "POST", Host: "localhost", Origin: o}); no != nil {
				t.Errorf("%q was taken and is refused: %+v", o, no)
			}
		}
	})
}

// Pages of this machine pass where Loopback is set, all where "*" is permitted; refusals name the
// flags that a service gave to the settings.
func TestWiderOrigins(t *testing.T) {
	o := Options{AnyOrigin: true, OriginFlag: "--http-corsdomain", HostFlag: "--http-vhosts"}
	loopback := o
	loopback.Loopback = true
	every := o
	every.Origins = []string{"https://shop.example,*"}
	for origin, passes := range map[string][2]bool{
		"http://localhost": {true, true}, "https://localhost:3000": {true, true}, "http://127.0.0.1:1": {true, true}, "http://[::1]:80": {true, true},
		"https://evil.example": {false, true}, "http://localhost.evil.example": {false, true}, "http://127.0.0.1.evil.example": {false, true},
		"null": {false, true}, "localhost": {false, true}, "http://evil.example@localhost": {false, true}, "http://": {false, true},
	} {
		for i, g := range []*Guard{newGuard(t, loopback), newGuard(t, every)} {
			no := g.Check(Request{Method: "POST", Host: "127.0.0.1:8545", Origin: origin, Site: "cross-site"})
			shared := map[string]string{}
			g.Share(origin, func(name, value string) { shared[name] = value })
			if (no == nil) != passes[i] || (shared["Access-Control-Allow-Origin"] == origin) != passes[i] || shared["Vary"] == "" {
				t.Errorf("%q, %d: %+v, %v", origin, i, no, shared)
			}
			if no != nil && !strings.Contains(no.Text, "--http-corsdomain ORIGIN") {
				t.Errorf("%q: %s", origin, no.Text)
			}
		}
	}
	g := newGuard(t, o)
	if no := g.Check(Request{Host: "evil.example"}); no == nil || !strings.Contains(no.Text, "--http-vhosts NAME") {
		t.Errorf("%+v", no)
	}
	if g.Check(Request{Host: "localhost", Origin: "http://localhost:3000"}) == nil {
		t.Error("without Loopback a page of another port passes")
	}
	if newGuard(t, every).Private().Check(Request{Host: "localhost", Origin: "https://evil.example"}) == nil {
		t.Error("* opens the private address")
	}
	for _, wrong := range []Options{
		{Origins: []string{"*"}, OriginFlag: "--ws-origins"}, {Origins: []string{"shop"}, OriginFlag: "--ws-origins"}, {Hosts: []string{"http://a"}, HostFlag: "--ws-origins"},
	} {
		if _, err := New(wrong); err == nil || !strings.HasPrefix(err.Error(), "--ws-origins ") {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}
