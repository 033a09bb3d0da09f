package probe

import (
	"os"
	"testing"
	"time"

	"dyno/agent"
	"dyno/agent/monotonic"
	"dyno/lab/probe/profiling"
	"dyno/lab/probe/usage"
)

// The probe understands the real agent, which runs in this process.
func TestWithTheAgent(t *testing.T) {
	a := agent.New(agent.Config{Service: "probed"})
	defer a.Close()
	a.Gauge("depth", func() float64 { return 42 })
	url := serve(t, a.ServeHTTP)
	w, err := Watch(t.Context(), Options{Processes: usage.Processes{PID: os.Getpid()}, Debug: profiling.Address{URL: url}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if w.Info() == nil || w.Info().Service != "probed" || w.Info().PID != os.Getpid() {
		t.Errorf("Info() = %+v", w.Info())
	}
	begin := monotonic.Now()
	await(t, w, "the agent's gauge", func(k int64) bool {
		s := w.Server(k*window, time.Second)
		return s != nil && s.AgentSeen && s.Gauges["depth"] == 42 && s.Goroutines > 0
	})
	if totals := w.Totals(begin, monotonic.Now(), 10); totals == nil || totals.AllocsPerRequest <= 0 || totals.Gauges["depth"] != 42 {
		t.Errorf("totals %+v", totals)
	}
	before, err := profiling.Control(t.Context(), profiling.Address{URL: url}, agent.Control{GOGC: new(300)})
	if err != nil || before.GOGC == nil {
		t.Fatalf("%+v, %v", before, err)
	}
	now, err := profiling.Control(t.Context(), profiling.Address{URL: url}, before)
	if err != nil || now.GOGC == nil || *now.GOGC != 300 {
		t.Errorf("restoring said it was %+v, %v", now, err)
	}
	w.Close() // before the agent, whose Close waits for its readers
}
