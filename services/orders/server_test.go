package orders

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dyno/parts/assembly"
	"dyno/parts/daemon"
	"dyno/parts/lameduck"
	"dyno/parts/servicetest"
	"dyno/parts/tracing"
	"dyno/services/orders/auth"
	"dyno/services/orders/database"
	"dyno/services/orders/gateway"
	"dyno/services/orders/order"
	"dyno/services/orders/pgtest"
	"dyno/services/orders/release"
	"dyno/services/orders/web"
)

// Event loops serve with TLS and without; where there are none it is fasthttp, and the log says so.
func TestServerOfLoops(t *testing.T) {
	under, err := lameduck.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer under.Close()
	var log strings.Builder
	open := func(over *tls.Config) (server, error) {
		r := &running{env: &daemon.Env{Connections: under, TLS: over, Log: slog.New(slog.NewTextHandler(&log, nil))}, gateway: &gateway.Gateway{}, release: &release.Release{}}
		c := assembly.Defaults[gateway.Config]()
		c.Web = "loop"
		return r.newServer(c)
	}
	for _, over := range []*tls.Config{nil, {}} {
		log.Reset()
		s, err := open(over)
		if _, loop := s.(*web.Loop); err != nil || loop != (runtime.GOOS == "linux") || loop == strings.Contains(log.String(), "fasthttp serves this address") {
			t.Errorf("TLS %t: %T, %v, log %q", over != nil, s, err, log.String())
		}
	}
}

// Order queries are begun where the chain does nothing that beginning one does not.
func TestBeginner(t *testing.T) {
	tuned, err := Assembly().Resolve(assembly.Tuned, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := FromChoice(tuned)
	if !c.Begins() {
		t.Error("tuned begins no queries")
	}
	c.Replica, c.LastKnown, c.Tracer = "postgres://x", 10, &tracing.Tracer{}
	if !c.Begins() {
		t.Error("tuned with a replica, answers that are kept, and spans begins no queries")
	}
	for name, change := range map[string]func(*gateway.Config){
		"lookup": func(c *gateway.Config) { c.Lookup = "single" },
		"around": func(c *gateway.Config) { c.Around = func(h web.Handler) web.Handler { return h } },
	} {
		other := c
		if change(&other); other.Begins() {
			t.Errorf("%s: queries are begun past it", name)
		}
	}
}

// Without further settings it is event loops that serve.
func TestLoopsByDefault(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there are no event loops on this system")
	}
	keys := filepath.Join(t.TempDir(), auth.KeysFile)
	if err := auth.Create(keys); err != nil {
		t.Fatal(err)
	}
	p := launch(t, []string{"serve", "--lame-duck=0s", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "error",
		"--dsn", pgtest.Database(t), "--jwt-keys", keys})
	defer p.Stop()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(url string) string {
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	get(p.URL + "/api/v1/order?uid=1")
	if metrics := get(p.Debug + "/metrics"); !strings.Contains(metrics, "\norders_loop_requests_total 1\n") {
		t.Error("no loop has read the request")
	}
	servicetest.Board(t, p.Debug, "/debug/orders/")
}

// With a replica, answers that are kept and spans, order queries are still begun by the loops; and
// the metrics say so.
func TestLoopsBeginEverything(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there are no event loops on this system")
	}
	keys := filepath.Join(t.TempDir(), auth.KeysFile)
	if err := auth.Create(keys); err != nil {
		t.Fatal(err)
	}
	dsn := pgtest.Database(t)
	if err := errors.Join(database.Migrate(t.Context(), dsn, 0, 1), database.Seed(t.Context(), dsn, 10, 1, nil)); err != nil {
		t.Fatal(err)
	}
	var exports atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { exports.Add(1) }))
	defer collector.Close()
	p := launch(t, []string{"serve", "--lame-duck=0s", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "error",
		"--dsn", dsn, "--replica", dsn, "--set", "last_known=10", "--otlp", collector.URL, "--otlp-sample", "GET /api/v1/order=1", "--jwt-keys", keys})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(url, token string, fields ...string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		for i := 0; i < len(fields); i += 2 {
			r.Header.Set(fields[i], fields[i+1])
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	token, err := auth.Issue(keys, "", auth.Claims{Account: order.SeedAccount(1, 1), Expiry: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	const unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	for _, c := range []struct {
		query, token string
		fields       []string
		status       int
	}{
		{"uid=1", token, nil, 200},
		{"uid=1&min_version=1", token, nil, 200},
		{"uid=1&min_version=9", token, nil, 409},
		{"uid=11&min_version=1", token, nil, 404},
		{"uid=1", "x", nil, 401},
		{"uid=1", token, []string{"Traceparent", unsampled}, 200},
		{"uid=1", token, []string{"X-Trace-Sampling", "0", "Cache-Control", "max-stale"}, 200},
	} {
		if status, body := get(p.URL+"/api/v1/order?"+c.query, c.token, c.fields...); status != c.status {
			t.Errorf("%s: %d %s, want %d", c.query, status, body, c.status)
		}
	}
	_, metrics := get(p.Debug+"/metrics", "")
	for _, want := range []string{"orders_loop_requests_total 7", `orders_handed_over_total{reason="path"} 0`, "otlp_spans_ended_total 5"} {
		if !strings.Contains(metrics, "\n"+want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Count(metrics, "\norders_handed_over_total{") != 1 {
		t.Error("a loop gave a request a goroutine")
	}
	p.Stop()
	if exports.Load() == 0 {
		t.Error("no span was exported")
	}
}
