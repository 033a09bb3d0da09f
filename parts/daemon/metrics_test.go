package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dyno/agent"
	"dyno/parts/debugpage"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func TestMetrics(t *testing.T) {
	env := &Env{Metrics: prometheus.NewRegistry(), Agent: agent.New(agent.Config{})}
	defer env.Agent.Close()
	depth := Metric{Name: "depth", Help: "notices that wait", Read: func() float64 { return 3 }}
	err := env.Expose("toyd_", func(set Set) {
		set("sent_total", 5, "a")
		set("sent_total", 7, "b")
	}, depth, Metric{Name: "sent_total", Help: "notices sent", Labels: []string{"to"}}, Metric{Name: "lag", Help: "never set"})
	if err != nil {
		t.Fatal(err)
	}
	env.Sample("", depth)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(env.Metrics, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	want := `# HELP toyd_depth notices that wait
# TYPE toyd_depth gauge
toyd_depth 3
# HELP toyd_sent_total notices sent
# TYPE toyd_sent_total counter
toyd_sent_total{to="a"} 5
toyd_sent_total{to="b"} 7
`
	if w.Body.String() != want {
		t.Errorf("%s", w.Body)
	}
	info := httptest.NewRecorder()
	env.Agent.ServeHTTP(info, httptest.NewRequest("GET", "/debug/dyno/info", nil))
	if !strings.Contains(info.Body.String(), `"gauges":["depth"]`) {
		t.Errorf("the agent has %s", info.Body)
	}
	if err := env.Expose("toyd_", nil, depth); err == nil {
		t.Error("a name is taken twice")
	}
}

// A metric that panics is an error of the scrape; the others are there.
func TestMetricThatPanics(t *testing.T) {
	env := &Env{Metrics: prometheus.NewRegistry()}
	err := env.Expose("toyd_", func(Set) { panic("closed") },
		Metric{Name: "stored", Read: func() float64 { panic("closed") }}, Metric{Name: "depth", Read: func() float64 { return 3 }})
	if err != nil {
		t.Fatal(err)
	}
	families, err := env.Metrics.Gather()
	if len(families) != 1 || families[0].GetName() != "toyd_depth" || err == nil || !strings.Contains(err.Error(), "reading stored: panic: closed") {
		t.Errorf("%v, %v", families, err)
	}
}

// The names of the metrics of the Go runtime are taken at start, and errors of scrapes are counted.
func TestMetricsOfTheRuntime(t *testing.T) {
	a, metrics := agent.New(agent.Config{}), prometheus.NewRegistry()
	defer a.Close()
	h := debugHandler(http.NewServeMux(), a, "", metrics, &phase{})
	if err := metrics.Register(prometheus.NewGauge(prometheus.GaugeOpts{Name: "go_goroutines", Help: "of the service"})); err == nil {
		t.Error("a name of the runtime's is free")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, name := range []string{"\ngo_goroutines ", "\nprocess_start_time_seconds ", "\ngo_build_info{", "\npromhttp_metric_handler_errors_total{"} {
		if strings.Count(w.Body.String(), name) == 0 {
			t.Errorf("%q is not in the metrics", name)
		}
	}
	if families, err := metrics.Gather(); err != nil || len(families) != 1 {
		t.Errorf("%d families beside the runtime's, %v", len(families), err)
	}
}

// A figure that waits for what the service never releases holds up neither the drain nor the end.
func TestStuckFigure(t *testing.T) {
	held := make(chan struct{})
	defer close(held)
	drained := false
	s := Service{Name: "toyd", Start: func(_ context.Context, env *Env) (Running, error) {
		reading := make(chan struct{})
		err := env.Expose("toyd_", nil, Metric{Name: "stored", Read: func() float64 { close(reading); <-held; return 0 }})
		env.Recent("/debug/toyd/recent", []debugpage.Figure{{Kind: debugpage.Now, Metric: "toyd_stored"}})
		<-reading
		env.Fail(errors.New("the disk is gone"))
		return Running{Drain: func(context.Context) error { drained = true; return nil }}, err
	}}
	var stderr bytes.Buffer
	code := Run(t.Context(), s, []string{"serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--lame-duck=0s"}, noEnv, io.Discard, &stderr)
	if code != exitFailed || !drained || !strings.Contains(stderr.String(), "the disk is gone") {
		t.Errorf("%d, drained: %v, %s", code, drained, &stderr)
	}
}
