package agent

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// post sends a control request as a process on this machine would.
func post(a *Agent, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", PathControl, strings.NewReader(body))
	r.RemoteAddr, r.Host = "127.0.0.1:40000", "127.0.0.1:6060"
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

func TestControlAnswersWithWhatRestores(t *testing.T) {
	a := New(Config{})
	gogc := debug.SetGCPercent(100)
	defer debug.SetGCPercent(gogc)
	limit := debug.SetMemoryLimit(-1)
	procs := runtime.GOMAXPROCS(0)
	fraction := runtime.SetMutexProfileFraction(-1)

	w := post(a, `{"gogc":400,"memory_limit":8589934592,"gomaxprocs":3,"mutex_fraction":5,"block_rate":1000}`)
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if got := debug.SetMemoryLimit(-1); got != 8<<30 {
		t.Errorf("memory limit %d", got)
	}
	if got := runtime.GOMAXPROCS(0); got != 3 {
		t.Errorf("GOMAXPROCS %d", got)
	}
	if got := runtime.SetMutexProfileFraction(-1); got != 5 {
		t.Errorf("mutex fraction %d", got)
	}
	var before Control
	if err := json.Unmarshal(w.Body.Bytes(), &before); err != nil {
		t.Fatal(err)
	}
	want := Control{MutexFraction: &fraction, BlockRate: new(0), GOGC: new(100), MemoryLimit: &limit, Procs: &procs}
	if !reflect.DeepEqual(before, want) {
		t.Errorf("answered %s", w.Body)
	}

	back := post(a, w.Body.String())
	if back.Code != http.StatusOK {
		t.Fatalf("restoring: %d %s", back.Code, back.Body)
	}
	var changed Control
	if err := json.Unmarshal(back.Body.Bytes(), &changed); err != nil {
		t.Fatal(err)
	}
	if *changed.GOGC != 400 || *changed.BlockRate != 1000 {
		t.Errorf("the change was not in force: %s", back.Body)
	}
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("GOGC %d after restoring", got)
	}
	if got := runtime.GOMAXPROCS(0); got != procs {
		t.Errorf("GOMAXPROCS %d after restoring", got)
	}
}

func TestControlRefusesWholeRequests(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	for _, c := range []struct {
		name, body, says string
		status           int
	}{
		{"nothing", ``, "not a control request", 400},
		{"no JSON", `gogc=400`, "not a control request", 400},
		{"another type", `[1]`, "not a control request", 400},
		{"unknown field", `{"gomaxprocs":7,"gogcc":400}`, "gogcc", 400},
		{"trailing data", `{"gomaxprocs":7} {}`, "after the control request", 400},
		{"one of two out of bounds", `{"gomaxprocs":7,"gogc":-2}`, "gogc is -2", 400},
		{"limit in MiB", `{"gomaxprocs":7,"memory_limit":512}`, "counts bytes", 400},
		{"no processors", `{"gomaxprocs":0}`, "gomaxprocs is 0", 400},
		{"negative fraction", `{"gomaxprocs":7,"mutex_fraction":-1}`, "mutex_fraction", 400},
		{"negative rate", `{"gomaxprocs":7,"block_rate":-1}`, "block_rate", 400},
		{"too many processors", `{"gomaxprocs":100000}`, "1 to 1024", 400},
		{"flight recorder for hours", `{"gomaxprocs":7,"flight_recorder":{"min_age_s":3600}}`, "0 (off) to 60 s", 400},
		{"flight recorder from the future", `{"gomaxprocs":7,"flight_recorder":{"min_age_s":-1}}`, "0 (off) to 60 s", 400},
		{"flight recorder in all memory", `{"gomaxprocs":7,"flight_recorder":{"min_age_s":1,"max_bytes":9999999999}}`, "max_bytes", 400},
		{"too large", `{"gomaxprocs":7` + strings.Repeat(" ", controlBytes) + `}`, "at most", 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := post(New(Config{}), c.body)
			var answer struct{ Error string }
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
				t.Fatalf("%q: %v", w.Body, err)
			}
			if w.Code != c.status || !strings.Contains(answer.Error, c.says) {
				t.Errorf("%d %q, want %d with %q", w.Code, answer.Error, c.status, c.says)
			}
			if got := runtime.GOMAXPROCS(0); got != procs {
				t.Errorf("GOMAXPROCS became %d", got)
			}
		})
	}
}

func FuzzDecodeControl(f *testing.F) {
	f.Add([]byte(`{"gogc":400}`))
	f.Add([]byte(`{"mutex_fraction":1,"block_rate":1,"memory_limit":9223372036854775807,"gomaxprocs":2}`))
	f.Add([]byte(`{"gogc":1e9}`))
	f.Add([]byte(`{"flight_recorder":{"min_age_s":5,"max_bytes":1000}}`))
	f.Add([]byte(`{}{}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := decodeControl(body)
		if err != nil {
			return
		}
		if flight := c.FlightRecorder; flight != nil && (flight.MinAge > maxFlightAge || flight.MaxBytes > maxFlightBytes) {
			t.Fatalf("accepted %s", body)
		}
		if c.Procs != nil && (*c.Procs < 1 || *c.Procs > maxProcs) || c.GOGC != nil && *c.GOGC < -1 ||
			c.MemoryLimit != nil && *c.MemoryLimit < minMemoryLimit {
			t.Fatalf("accepted %s", body)
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeControl(text)
		if err != nil || !reflect.DeepEqual(c, again) {
			t.Fatalf("%s reads back as %+v, %v", text, again, err)
		}
	})
}

func TestMemoryLimitOffCanBeRestored(t *testing.T) {
	text, err := json.Marshal(Control{MemoryLimit: new(int64(math.MaxInt64))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeControl(text); err != nil {
		t.Error(err)
	}
}

func TestGuard(t *testing.T) {
	header := func(key, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(key, value) }
	}
	from := func(addr string) func(*http.Request) { return func(r *http.Request) { r.RemoteAddr = addr } }
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	bearer := header("Authorization", "Bearer s3cret")
	type changes = []func(*http.Request)
	for _, c := range []struct {
		name   string
		token  string
		change changes
		says   string // "": allowed
	}{
		{"loopback", "", nil, ""},
		{"loopback of IPv6", "", changes{from("[::1]:4000"), host("[::1]:6060")}, ""},
		{"loopback of IPv4 in IPv6", "", changes{from("[::ffff:127.0.0.1]:4000")}, ""},
		{"localhost without port", "", changes{host("LOCALHOST")}, ""},
		{"loopback through a proxy", "", changes{header("X-Forwarded-For", "192.0.2.1")}, "started without one"},
		{"a name that leads here", "", changes{host("attacker.example:6060")}, "localhost or by IP address"},
		{"elsewhere", "", changes{from("192.0.2.1:4000")}, "started without one"},
		{"elsewhere with any token", "", changes{from("192.0.2.1:4000"), bearer}, "started without one"},
		{"elsewhere with an empty token", "", changes{from("192.0.2.1:4000"), header("Authorization", "Bearer ")}, "started without one"},
		{"elsewhere, token forgotten", "s3cret", changes{from("192.0.2.1:4000")}, "Authorization: Bearer"},
		{"elsewhere, wrong token", "s3cret", changes{from("192.0.2.1:4000"), header("Authorization", "Bearer s3cre")}, "not the token"},
		{"elsewhere with the token", "s3cret", changes{from("192.0.2.1:4000"), host("orders.example"), bearer}, ""},
		{"an address that is none", "", changes{from("@")}, "started without one"},
		{"page of another site", "", changes{header("Sec-Fetch-Site", "cross-site")}, "another site"},
		{"page of another site with the token", "s3cret", changes{header("Origin", "http://attacker.example"), bearer}, "another site"},
		{"page of another port", "", changes{header("Origin", "http://127.0.0.1:9999")}, "another site"},
		{"own page", "", changes{header("Origin", "http://127.0.0.1:6060"), header("Sec-Fetch-Site", "same-origin")}, ""},
		{"image in another site's page", "", changes{func(r *http.Request) { r.Method = "GET" },
			header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "no-cors")}, "another site"},
		{"link on another site", "", changes{func(r *http.Request) { r.Method = "GET" },
			header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate"), header("Sec-Fetch-Dest", "document")}, ""},
		{"frame in another site's page", "", changes{func(r *http.Request) { r.Method = "GET" },
			header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate"), header("Sec-Fetch-Dest", "iframe")}, "another site"},
		{"image in the page of another port", "", changes{func(r *http.Request) { r.Method = "GET" },
			header("Sec-Fetch-Site", "same-site"), header("Sec-Fetch-Dest", "image")}, "another site"},
		{"image in an own page", "", changes{func(r *http.Request) { r.Method = "GET" },
			header("Sec-Fetch-Site", "same-origin"), header("Sec-Fetch-Dest", "image")}, ""},
		{"typed by the user", "", changes{func(r *http.Request) { r.Method = "GET" },
			header("Sec-Fetch-Site", "none"), header("Sec-Fetch-Dest", "document")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := New(Config{Token: c.token})
			r := httptest.NewRequest("POST", PathControl, nil)
			r.RemoteAddr, r.Host = "127.0.0.1:40000", "127.0.0.1:6060"
			for _, change := range c.change {
				change(r)
			}
			w := httptest.NewRecorder()
			a.guard.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
			if c.says == "" && w.Code != http.StatusOK {
				t.Errorf("refused: %s", w.Body)
			}
			if c.says != "" && (w.Code != http.StatusForbidden || !bytes.Contains(w.Body.Bytes(), []byte(c.says))) {
				t.Errorf("%d %s, want a refusal that says %q", w.Code, w.Body, c.says)
			}
		})
	}
}

func TestControlIsGuarded(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	w := post(New(Config{}), `{"gogc":50}`, func(r *http.Request) { r.RemoteAddr = "192.0.2.1:4000" })
	if w.Code != http.StatusForbidden {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("GOGC became %d", got)
	}
}

func TestInfoAndWrongRequests(t *testing.T) {
	a := New(Config{Service: "orders", Assembly: json.RawMessage(`{"name":"tuned"}`)})
	a.Gauge("async_queue_depth", func() float64 { return 0 })
	mux := http.NewServeMux()
	mux.Handle("/debug/dyno/", a)
	for _, c := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"GET", PathInfo, 200, `"service":"orders"`},
		{"GET", PathInfo, 200, `"assembly":{"name":"tuned"}`},
		{"GET", PathInfo, 200, `"gauges":["async_queue_depth"]`},
		{"GET", PathInfo, 200, runtime.Version()},
		{"GET", PathInfo, 200, `"memory_limit":`}, // also 0
		{"POST", PathInfo, 405, "takes GET"},
		{"POST", PathSamples, 405, "takes GET"},
		{"GET", PathControl, 405, "takes POST"},
		{"GET", "/debug/dyno/", 404, PathSamples},
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: %d %s, want %d with %q", c.method, c.path, w.Code, w.Body, c.status, c.says)
		}
	}
}
