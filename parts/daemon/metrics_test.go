package daemon

import (
	"net/http/httptest"
	"strings"
	"testing"

	"dyno/agent"

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
