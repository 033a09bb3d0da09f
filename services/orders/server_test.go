package orders

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace/noop"

	"dyno/parts/assembly"
	"dyno/parts/daemon"
	"dyno/parts/lameduck"
	"dyno/parts/servicetest"
	"dyno/services/orders/auth"
	"dyno/services/orders/gateway"
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
	c.Replica, c.LastKnown, c.Tracer = "postgres://x", 10, noop.Tracer{}
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
