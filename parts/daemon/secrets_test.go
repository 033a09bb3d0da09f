package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/agent"
)

const planted = "nats://ops:s3cret@127.0.0.1:4222"

// What a process shows of itself has none of the secrets that it was started with.
func TestDebugPagesHideSecrets(t *testing.T) {
	args := os.Args
	defer func() { os.Args = args }()
	os.Args = []string{"toyd", "serve", "--set", "jetstream_url=" + planted, "--debug-token", "s3cret", "--dsn", "host=h password='s3 cret' user=toy"}
	a := agent.New(agent.Config{})
	defer a.Close()
	pages := debugHandler(http.NewServeMux(), a, "", prometheus.NewRegistry(), new(phase))
	for path, want := range map[string]string{
		"/debug/vars":          `"jetstream_url=nats://ops:***@127.0.0.1:4222"`,
		"/debug/pprof/cmdline": "\x00--debug-token\x00***\x00",
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "http://localhost"+path, nil)
		r.RemoteAddr = "127.0.0.1:1"
		pages.ServeHTTP(w, r)
		if body := w.Body.String(); w.Code != 200 || strings.Contains(body, "s3") || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, w.Code, body)
		}
	}
}

func TestLogAndErrorsHideSecrets(t *testing.T) {
	_, refused := url.Parse(strings.Join([]string{planted, "port"}, ":"))
	var out bytes.Buffer
	log := newLog(&out, slog.LevelInfo)
	log.Info("dialing "+planted, "server", planted, "error", fmt.Errorf("starting: %w", refused), slog.Group("g", "token", "s3cret"), "args", []string{"--password", "s3cret"})
	log.With("url", planted).Warn("again")
	ExitCode("toyd", errors.Join(refused, errors.New("second")), &out)
	if text := out.String(); strings.Contains(text, "s3cret") || strings.Count(text, "ops:***@") != 5 {
		t.Error(text)
	}
}
