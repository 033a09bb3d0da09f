package experiment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/lab/load/agents"
	"dyno/lab/load/agents/natsbus"
	"dyno/lab/record"
	"dyno/lab/scenario"
)

const (
	joinsAt     = "EXPERIMENT_AGENT_JOINS" // the environment variable that makes this program an agent; see TestMain
	agentsToken = "0123456789abcdef0123456789abcdef"
)

func serveAsAgent(url string) error {
	bus, err := natsbus.Connect(url, agentsToken, "")
	if err != nil {
		return err
	}
	return (&agents.Agent{Network: bus, Version: "v1"}).Serve(context.Background())
}

// If an agent is killed in the middle of a slice, that slice is invalid and its error names the
// agent. The rates are not affected: the next slices are sent by as many agents as before, once
// another has replaced the lost one.
func TestAgentKilledInASlice(t *testing.T) {
	t.Parallel()
	bus, err := natsbus.Listen("127.0.0.1:0", agentsToken, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	started := make(chan *exec.Cmd, 2)
	start := func() {
		c := exec.Command(os.Args[0])
		c.Env, c.Stderr = append(os.Environ(), joinsAt+"="+bus.URL()), os.Stderr
		if err := c.Start(); err != nil {
			t.Error(err)
		}
		started <- c
		t.Cleanup(func() {
			c.Process.Kill()
			c.Wait()
		})
	}
	start()
	start()
	group, err := agents.Gather(t.Context(), bus, agents.Options{Expect: 2, Version: "v1", Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()

	var mu sync.Mutex
	armed, once := false, sync.Once{}
	victim := <-started
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if armed { // a slice is being sent
			once.Do(func() {
				victim.Process.Kill()
				start()
			})
		}
	}))
	defer target.Close()
	sc := &scenario.Scenario{Name: "t", Mode: record.KindCapacity, Target: scenario.Target{URL: target.URL}, SLO: record.SLO{Latency: map[string]float64{"p99": 10_000}}}
	sc.Load.URL, sc.Load.Connections = target.URL+"/", 4
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var lost, after []record.Slice
	exp, err := Execute(ctx, Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), Budget: ample, NoPMQoS: true, Agents: group, Progress: afterSlice{call: func(s record.Slice) {
		mu.Lock()
		defer mu.Unlock()
		armed = true
		switch {
		case strings.Contains(s.Invalid, "agent"):
			lost = append(lost, s)
		case len(lost) > 0:
			if after = append(after, s); len(after) == 1 {
				cancel()
			}
		}
	}}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v; lost %+v, after it %+v", err, lost, after)
	}
	if name := fmt.Sprintf("/%d)", victim.Process.Pid); !strings.Contains(lost[0].Invalid, name) || !strings.Contains(lost[0].Invalid, "the load generator failed") {
		t.Errorf("the slice is %q, of the agent %s", lost[0].Invalid, name)
	}
	for _, s := range exp.Slices {
		if s.Invalid != "" && (s.Served > 0 || s.Start == 0) {
			t.Errorf("a slice that was cut short counts: %+v", s)
		}
	}
	if len(group.PIDs()) != 2 {
		t.Errorf("%d agents at the end", len(group.PIDs()))
	}
}
