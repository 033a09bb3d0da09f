package agents_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/load"
	"dyno/lab/load/agents"
	"dyno/lab/load/agents/natsbus"
	"dyno/lab/load/corpus"
	"dyno/lab/record"
	"dyno/lab/workload"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
)

const token = "0123456789abcdef0123456789abcdef"

// joins is the environment variable that makes the test's binary run as an agent.
const joins = "AGENT_JOINS"

func TestMain(m *testing.M) {
	if url := os.Getenv(joins); url != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		bus, err := natsbus.Await(ctx, url, token, "", func() {})
		if err == nil {
			err = (&agents.Agent{Network: bus, Version: "v1"}).Serve(ctx)
			bus.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// counter is a target that counts how often each sequence number arrives.
type counter struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[uint64]int
}

// newCounter starts a counter, which calls on with the number of distinct requests so far.
func newCounter(t *testing.T, on ...func(n int)) *counter {
	c := &counter{seen: map[uint64]int{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seq, ok := corpus.ParseID(body)
		if !ok {
			t.Errorf("a request has the body %q", body)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen[seq]++
		for _, f := range on {
			f(len(c.seen))
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// take returns an error unless n distinct numbers, beginning with first, arrived once each. It
// then forgets them.
func (c *counter) take(n int64, first uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer clear(c.seen)
	for seq, times := range c.seen {
		if times != 1 || seq < first {
			return fmt.Errorf("number %d arrived %d times; the first was %d", seq, times, first)
		}
	}
	if int64(len(c.seen)) != n {
		return fmt.Errorf("%d different numbers arrived, not %d", len(c.seen), n)
	}
	return nil
}

func (c *counter) work() *corpus.Spec {
	return &corpus.Spec{Load: workload.Load{URL: c.URL, Requests: []workload.Request{{Body: workload.Body{Text: "${id}"}}}}}
}

// windows sums the windows that a recording writes.
type windows struct {
	client  record.Client
	answers int64
	last    int64
}

func (w *windows) Window(win record.Window, hists map[string]*hdrhistogram.Histogram) error {
	if win.Start%int64(record.WindowLength) != 0 || win.Start <= w.last {
		return fmt.Errorf("a window begins at %d after %d", win.Start, w.last)
	}
	w.last = win.Start
	w.client.Offered += win.Client.Offered
	w.client.Ended += win.Client.Ended
	for tag, h := range hists {
		if record.MatchTag(tag, record.HistResponse) || record.MatchTag(tag, "warmup") {
			w.answers += h.TotalCount()
		}
	}
	return nil
}

// listen starts a bus with a server.
func listen(t *testing.T) *natsbus.Bus {
	t.Helper()
	bus, err := natsbus.Listen("127.0.0.1:0", token, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bus.Close)
	return bus
}

// start starts n agents, each in its own process.
func start(t *testing.T, bus *natsbus.Bus, n int) (processes []*exec.Cmd) {
	t.Helper()
	for range n {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), joins+"="+bus.URL())
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			c.Process.Kill()
			c.Wait()
		})
		processes = append(processes, c)
	}
	return processes
}

func gather(t *testing.T, bus *natsbus.Bus, n int) *agents.Group {
	t.Helper()
	g, err := agents.Gather(t.Context(), bus, agents.Options{Expect: n, Version: "v1", Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func driverOf(t *testing.T, g *agents.Group, s *corpus.Spec) load.Driver {
	t.Helper()
	d, err := g.Driver(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// plan has long timeouts, so that no request fails on a busy machine.
func plan(spec load.ScheduleSpec) load.Plan {
	p := load.Plan{Connections: 12, Length: spec.Length, Drain: time.Minute, Timeout: time.Minute}
	p.Follow(spec)
	return p
}

func arrivalsOf(s load.ScheduleSpec) (n int64) {
	next := s.Open()
	for _, ok := next(); ok; _, ok = next() {
		n++
	}
	return n
}

// Three processes together send each request of one schedule once, and their windows form one
// recording.
func TestThreeProcesses(t *testing.T) {
	bus, target := listen(t), newCounter(t)
	start(t, bus, 3)
	g := gather(t, bus, 3)
	if pids := g.PIDs(); len(pids) != 3 {
		t.Fatalf("%d agents are on this machine", len(pids))
	}
	d := driverOf(t, g, target.work())
	spec := load.ScheduleSpec{Kind: workload.Poisson, PerSecond: 500, Length: 900 * time.Millisecond, Seed: 7}
	p := plan(spec)
	p.Warmup, p.Length = 300*time.Millisecond, 600*time.Millisecond
	sink := &windows{}
	totals, done, err := load.Run(t.Context(), p, d, sink)
	if err != nil {
		t.Fatal(err)
	}
	want := arrivalsOf(spec)
	if err := target.take(want, 0); err != nil {
		t.Error(err)
	}
	if sink.client.Offered != want || sink.client.Ended != want || sink.answers != want {
		t.Errorf("the windows have %d requests and %d answers, %d in histograms, of %d", sink.client.Offered, sink.client.Ended, sink.answers, want)
	}
	measured := int64(0)
	for _, a := range totals.Generator.Agents {
		measured += a.Offered
		if a.Offered == 0 || a.Completed != a.Offered || a.ClockError <= 0 || a.CPUSeconds <= 0 {
			t.Errorf("an agent: %+v", a)
		}
	}
	if len(totals.Generator.Agents) != 3 || totals.Offered != measured || totals.Completed != measured || totals.Failed != 0 || totals.Status["200"] != measured {
		t.Errorf("%d agents offered %d in all; the totals are %+v", len(totals.Generator.Agents), measured, totals)
	}
	if done.NextSeq < uint64(want) || done.Last < done.Start || totals.Generator.CPUSeconds <= 0 {
		t.Errorf("the plan as carried out is %+v", done)
	}

	// A work slice: a given number of requests in the closed model, whose numbers follow those
	// before.
	first := done.NextSeq
	totals, done, err = load.Run(t.Context(), load.Plan{Connections: 4, Count: 50, FirstSeq: first, Length: time.Minute, Drain: time.Minute, Timeout: time.Minute}, d, &windows{})
	if err != nil || totals.Completed != 50 || done.NextSeq < first+50 {
		t.Errorf("%d of 50 requests completed, %v; the next number is %d after %d", totals.Completed, err, done.NextSeq, first)
	}
	if err := target.take(50, first); err != nil {
		t.Error(err)
	}

	// Answers that do not count as a success.
	w := target.work()
	w.Load.Check.Status = []int{http.StatusNoContent}
	totals, _, err = load.Run(t.Context(), plan(spec), driverOf(t, g, w), &windows{})
	failed := int64(0)
	for _, a := range totals.Generator.Agents {
		failed += a.Errors["status"]
	}
	if err != nil || totals.Failed != want || totals.Errors["status"] != want || failed != want {
		t.Errorf("%v: %d of %d failed, %d by the agents", err, totals.Failed, want, failed)
	}
}

// If an agent is killed, the load ends with an error that names it. The other agents stop, and
// carry out the next load together with an agent that replaces the lost one.
func TestKilledAgent(t *testing.T) {
	bus := listen(t)
	processes := start(t, bus, 3)
	g := gather(t, bus, 3)
	target := newCounter(t, func(n int) {
		if n == 30 {
			processes[1].Process.Signal(syscall.SIGKILL)
		}
	})
	d := driverOf(t, g, target.work())
	_, _, err := load.Run(t.Context(), plan(load.ScheduleSpec{Kind: workload.Constant, PerSecond: 100, Length: time.Hour}), d, &windows{})
	failed := (*load.GeneratorError)(nil)
	if killed := fmt.Sprintf("/%d)", processes[1].Process.Pid); !errors.As(err, &failed) || !strings.Contains(err.Error(), killed) {
		t.Fatalf("%v, want an error about the agent %s", err, killed)
	}
	target.mu.Lock()
	clear(target.seen)
	target.mu.Unlock()
	start(t, bus, 1)
	spec := load.ScheduleSpec{Kind: workload.Constant, PerSecond: 100, Length: 300 * time.Millisecond}
	if totals, _, err := load.Run(t.Context(), plan(spec), d, &windows{}); err != nil || totals.Completed != arrivalsOf(spec) {
		t.Fatalf("the next load completed %d, %v", totals.Completed, err)
	}
	if err := target.take(arrivalsOf(spec), 0); err != nil {
		t.Error(err)
	}
}

// An interrupted load ends in order: the requests sent until then count.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	bus, target := listen(t), newCounter(t, func(n int) {
		if n == 20 {
			cancel()
		}
	})
	serve(t, bus, &agents.Agent{Version: "v1"})
	g := gather(t, bus, 1)
	totals, _, err := load.Run(ctx, plan(load.ScheduleSpec{Kind: workload.Constant, PerSecond: 200, Length: time.Hour}), driverOf(t, g, target.work()), &windows{})
	if !errors.Is(err, context.Canceled) || totals.Completed < 19 || len(totals.Generator.Agents) != 1 {
		t.Errorf("%v; %d completed, %d agents", err, totals.Completed, len(totals.Generator.Agents))
	}
}

// serve runs an agent in this process until the test ends.
func serve(t *testing.T, bus *natsbus.Bus, a *agents.Agent) {
	t.Helper()
	own, err := natsbus.Connect(bus.URL(), token, "")
	if err != nil {
		t.Fatal(err)
	}
	a.Network = own
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := a.Serve(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		serving.Wait()
		own.Close()
	})
}

// If an agent's clock is ahead by hours and not by whole windows, only the recorded offset shows
// it.
func TestForeignClock(t *testing.T) {
	const ahead = int64(3*time.Hour + 12345678)
	bus, target := listen(t), newCounter(t)
	serve(t, bus, &agents.Agent{Version: "v1", Clock: func() int64 { return monotonic.Now() + ahead }})
	serve(t, bus, &agents.Agent{Version: "v1"})
	g := gather(t, bus, 2)
	spec := load.ScheduleSpec{Kind: workload.Constant, PerSecond: 200, Length: 400 * time.Millisecond}
	sink := &windows{}
	totals, done, err := load.Run(t.Context(), plan(spec), driverOf(t, g, target.work()), sink)
	if err != nil || totals.Completed != arrivalsOf(spec) || totals.Offered != arrivalsOf(spec) || sink.client.Offered != arrivalsOf(spec) {
		t.Fatalf("%v: %d of %d completed", err, totals.Completed, totals.Offered)
	}
	if done.Last < done.Start || done.Last > monotonic.Now() {
		t.Errorf("the last answer came at %d, the start was %d", done.Last, done.Start)
	}
	var offsets []bool
	for _, a := range totals.Generator.Agents {
		switch off := a.ClockOffset - ahead; {
		case max(off, -off) <= a.ClockError:
			offsets = append(offsets, true)
		case max(a.ClockOffset, -a.ClockOffset) > a.ClockError:
			t.Errorf("an offset of %d +- %d ns", a.ClockOffset, a.ClockError)
		}
	}
	if len(offsets) != 1 {
		t.Errorf("%d agents are ahead", len(offsets))
	}
}

func TestRefusals(t *testing.T) {
	bus := listen(t)
	if b, err := natsbus.Connect(bus.URL(), "another token, of the same length", ""); !errors.Is(err, natsbus.ErrToken) {
		t.Errorf("another token: %v, %v", b, err)
	}
	if b, err := natsbus.Await(t.Context(), bus.URL(), "", "", func() { t.Error("it waits") }); !errors.Is(err, natsbus.ErrToken) {
		t.Errorf("no token: %v, %v", b, err)
	}
	if b, err := natsbus.Listen(strings.TrimPrefix(bus.URL(), "nats://"), token, nil); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a port that is taken: %v, %v", b, err)
	}

	// Another version.
	serve(t, bus, &agents.Agent{Version: "v0"})
	ctx, cancel := context.WithCancel(t.Context())
	var said atomic.Value
	_, err := agents.Gather(ctx, bus, agents.Options{Expect: 1, Version: "v1", Wait: time.Hour, Say: func(text string) {
		if strings.Contains(text, "v0") {
			said.Store(text)
			cancel()
		}
	}})
	if text, _ := said.Load().(string); !errors.Is(err, context.Canceled) || !strings.Contains(text, "runs dyno v0, and this is dyno v1") {
		t.Errorf("an agent of another version: %v, %q", err, text)
	}

	// A host that the agent may not load, and loads that cannot be split, are refused.
	serve(t, bus, &agents.Agent{Version: "v1"})
	g := gather(t, bus, 1)
	away := newCounter(t).work()
	away.Load.URL = "http://192.0.2.1:9"
	if _, err := g.Driver(away); err == nil || !strings.Contains(err.Error(), "agent 1") || !strings.Contains(err.Error(), "192.0.2.1 was not permitted") {
		t.Errorf("a host beyond loopback: %v", err)
	}
	once := newCounter(t).work()
	once.Load.Once = true
	if _, err := g.Driver(once); err == nil || !strings.Contains(err.Error(), "sent once") {
		t.Errorf("requests that are sent once: %v", err)
	}
	d := driverOf(t, g, newCounter(t).work())
	p := load.Plan{Length: time.Second, Schedule: func() load.Schedule { return load.Constant(1, time.Second) }}
	if _, _, err := load.Run(t.Context(), p, d, &windows{}); err == nil || !strings.Contains(err.Error(), "cannot be split") {
		t.Errorf("a schedule without a description: %v", err)
	}
}

func TestReadToken(t *testing.T) {
	for content, want := range map[string]bool{token + "\n": true, "": false, "short": false, token + "\n" + token: false} {
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := natsbus.ReadToken(file); (err == nil) != want || want && got != token {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
	if got := natsbus.Shown("nats://a:secret@h:1,tls://user@i:2"); slices.ContainsFunc([]string{"secret", "user"}, func(s string) bool { return strings.Contains(got, s) }) {
		t.Errorf("it shows %s", got)
	}
}
