package pool

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/load"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble runs a test on synctest's fake clock, which monotonic.Now follows. That clock starts in
// the year 2000, before this process began, where monotonic instants are negative; sleeping for
// decades fixes that.
func bubble(t *testing.T, test func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(100 * 365 * 24 * time.Hour)
		test(t)
	})
}

func bubblePool(d Doer) *Driver {
	return &Driver{Name: "fake", Doer: d, sleep: func(until int64) { time.Sleep(time.Duration(until - monotonic.Now())) }}
}

func constantly(perSecond float64, length time.Duration) func() load.Schedule {
	return func() load.Schedule { return load.Constant(perSecond, length) }
}

// windows is a sink that keeps the windows.
type windows struct {
	mu  sync.Mutex
	all []record.Window
}

func (s *windows) Window(w record.Window, _ map[string]*hdrhistogram.Histogram) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, w)
	return nil
}

func (s *windows) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

const (
	second   = int64(time.Second)
	rounding = 0.002 // relative rounding error of a histogram with three significant digits
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within*want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// untilAnswered is the time that a simulated server takes for a request sent at an instant after
// the start. It answers in 50 us, but every 2 s it freezes for 200 ms: see TestFreezeArithmetic in
// package load for what the latencies must be.
func untilAnswered(at time.Duration) time.Duration {
	const period, freeze, service = 2 * time.Second, 200 * time.Millisecond, 50 * time.Microsecond
	return max(0, freeze-at%period) + service
}

func TestPoolFreeze(t *testing.T) {
	for _, connections := range []int{8, 64} {
		t.Run(strconv.Itoa(connections), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := load.Plan{Length: 20 * time.Second, Connections: connections, Timeout: 10 * time.Second, Drain: time.Second}
				p.Schedule = constantly(2000, p.Length)
				p.Start = (monotonic.Now()/second + 1) * second
				pool := bubblePool(fails(func(context.Context) error {
					time.Sleep(untilAnswered(time.Duration(monotonic.Now() - p.Start)))
					return nil
				}))
				totals, _, err := load.Run(t.Context(), p, pool, &windows{})
				if err != nil || totals.Offered != 40_000 || totals.Ended != 40_000 {
					t.Fatalf("%v: %+v", err, totals)
				}
				near(t, "p95", totals.Response.P95, 100, 0.05)
				near(t, "p99", totals.Response.P99, 180, 0.05)
				near(t, "p99.9", totals.Response.P999, 198, 0.05)
				if totals.Lag.P99 > 0.1 {
					t.Errorf("send-lag of %v us on a fake clock", totals.Lag.P99)
				}
			})
		})
	}
}

// A call that waited in the queue longer than its timeout is not sent, and ends at its timeout.
func TestPoolTimeoutsCountFromTheIntendedTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := load.Plan{Length: time.Second, Connections: 1, Timeout: 300 * time.Millisecond, Drain: time.Minute, Schedule: constantly(100, time.Second)}
		totals, _, err := load.Run(t.Context(), p, bubblePool(fails(func(ctx context.Context) error {
			time.Sleep(time.Second)
			return ctx.Err()
		})), &windows{})
		if err != nil || totals.Ended != 100 || totals.Errors["timeout"] != 100 || totals.Unfinished != 0 {
			t.Fatalf("%v: %+v", err, totals)
		}
		if totals.Sent != 2 { // the first, and the first one after it that had not timed out yet
			t.Errorf("%d were sent, want 2", totals.Sent)
		}
		near(t, "median", totals.Response.P50, 300, rounding)
	})
}

func TestPoolSuccessAfterTheTimeoutIsNone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := load.Plan{Length: time.Second, Connections: 1, Timeout: 10 * time.Millisecond, Schedule: constantly(1, time.Second)}
		totals, _, _ := load.Run(t.Context(), p, bubblePool(fails(func(context.Context) error {
			time.Sleep(20 * time.Millisecond)
			return nil
		})), &windows{})
		if totals.Errors["timeout"] != 1 {
			t.Errorf("%+v", totals)
		}
	})
}

// Calls in flight or queued at the end of the drain are unfinished; their latency is their age.
func TestPoolUnfinished(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := load.Plan{Length: time.Second, Connections: 2, Drain: 500 * time.Millisecond, Schedule: constantly(10, time.Second)}
		totals, plan, err := load.Run(t.Context(), p, bubblePool(fails(func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})), &windows{})
		if err != nil || totals.Offered != 10 || totals.Sent != 2 || totals.Ended != 0 || totals.Unfinished != 10 {
			t.Fatalf("%v: %+v", err, totals)
		}
		near(t, "oldest", totals.Response.Max, 1500, rounding)
		if now := monotonic.Now(); now != plan.DrainUntil() {
			t.Errorf("ended %v after its drain", time.Duration(now-plan.DrainUntil()))
		}
	})
}

func TestPoolIsCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2100*time.Millisecond)
		defer cancel()
		p := load.Plan{Length: time.Hour, Connections: 4, Timeout: time.Minute, Schedule: constantly(100, time.Hour)}
		totals, plan, err := load.Run(ctx, p, bubblePool(fails(func(ctx context.Context) error {
			time.Sleep(time.Millisecond)
			return nil
		})), &windows{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if totals.Offered != totals.Ended+totals.Unfinished || totals.Ended < 180 || plan.Length > 2100*time.Millisecond {
			t.Errorf("%+v over %v", totals, plan.Length)
		}
		if totals.ThroughputPerS < 95 || totals.ThroughputPerS > 105 { // the last window may have been cut short
			t.Errorf("achieved %v per second, want 100", totals.ThroughputPerS)
		}
	})
}

func TestPoolClosedModel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := load.Plan{Length: time.Second, Connections: 3, Timeout: time.Second, Drain: time.Second}
		pool := bubblePool(fails(func(context.Context) error { time.Sleep(10 * time.Millisecond); return nil }))
		pool.Think = 40 * time.Millisecond
		sink := &windows{}
		totals, _, err := load.Run(t.Context(), p, pool, sink)
		if err != nil || totals.Offered != 60 || totals.Ended != 60 {
			t.Fatalf("%v: %+v", err, totals)
		}
		near(t, "response", totals.Response.Max, 10, rounding)
		for _, w := range sink.all[1:] {
			if w.Phase == record.PhaseMeasure && w.Client.Offered != 6 {
				t.Errorf("window %+v, want 6 requests", w)
			}
		}
	})
}

// While the target hangs, windows are still written on time.
func TestPoolWritesWindowsWhileNothingHappens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, follow := range []func() load.Schedule{nil, constantly(0.1, 10*time.Second)} {
			sink := &windows{}
			p := load.Plan{Length: 10 * time.Second, Connections: 1, Timeout: time.Minute, Drain: time.Second, Schedule: follow}
			written := 0
			pool := bubblePool(fails(func(context.Context) error {
				time.Sleep(9 * time.Second)
				written = sink.written()
				return nil
			}))
			if _, _, err := load.Run(t.Context(), p, pool, sink); err != nil || written < 88 {
				t.Errorf("%d windows were written within 9 s (%v)", written, err)
			}
		}
	})
}

func TestPoolPanicIsAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := load.Plan{Length: time.Second, Connections: 2, Schedule: constantly(10, time.Second)}
		totals, _, err := load.Run(t.Context(), p, bubblePool(fails(func(context.Context) error {
			panic("a fault of the user's")
		})), &windows{})
		if err == nil || !strings.Contains(err.Error(), "a fault of the user's") || !strings.Contains(err.Error(), "driver_test.go:") {
			t.Errorf("error %v, want one that names this file", err)
		}
		if totals.Ended != 10 || totals.Errors["other"] != 10 {
			t.Errorf("%+v", totals)
		}
	})
}

type dialler struct {
	mu      sync.Mutex
	workers []int
	before  int64
}

func (c *dialler) Connect(_ context.Context, worker int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers = append(c.workers, worker)
	c.before = max(c.before, monotonic.Now())
}

func (c *dialler) Do(context.Context, *Arrival) Result { return Result{Status: load.OK, Success: true} }

func TestPoolConnectsBeforeTheStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &dialler{}
		_, plan, err := load.Run(t.Context(), load.Plan{Length: time.Second, Connections: 3}, &Driver{Doer: d, Think: time.Millisecond}, &windows{})
		slices.Sort(d.workers)
		if err != nil || !slices.Equal(d.workers, []int{0, 1, 2}) || d.before >= plan.Start {
			t.Errorf("%v: connected %v, %v before the start", err, d.workers, time.Duration(plan.Start-d.before))
		}
	})
}

// One short run on the real clock, so that the pacing thread and its system call are tested, too.
func TestPoolOnTheRealClock(t *testing.T) {
	p := load.Plan{Length: 200 * time.Millisecond, Connections: 2, Drain: time.Minute, Schedule: constantly(500, 200*time.Millisecond)}
	var mu sync.Mutex
	early := 0
	totals, _, err := load.Run(t.Context(), p, &Driver{Doer: doFunc(func(_ context.Context, o *Arrival) Result {
		mu.Lock()
		defer mu.Unlock()
		if monotonic.Now() < o.Intended {
			early++
		}
		return Result{Status: load.OK, Success: true}
	})}, &windows{})
	if err != nil || totals.Ended != 100 || early > 0 {
		t.Errorf("%v: completed %d of 100, %d before their time", err, totals.Ended, early)
	}
}

type doFunc func(context.Context, *Arrival) Result

func (f doFunc) Do(ctx context.Context, o *Arrival) Result { return f(ctx, o) }

// fails makes a Doer that fails with the function's errors.
func fails(do func(context.Context) error) Doer {
	return doFunc(func(ctx context.Context, _ *Arrival) Result {
		status := load.StatusOf(do(ctx))
		return Result{Status: status, Success: status == load.OK}
	})
}

// The backlog returns calls in the order in which they were put, however puts and takes are
// mixed.
func TestBacklog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBacklog()
		var put, taken uint64
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			for range rapid.IntRange(0, 2000).Draw(t, "puts") {
				b.put(due{seq: put})
				put++
			}
			for range rapid.IntRange(0, int(put-taken)).Draw(t, "takes") {
				d, ok := b.take(context.Background())
				if !ok || d.seq != taken {
					t.Fatalf("took %d, want %d", d.seq, taken)
				}
				taken++
			}
		}
		if left := b.drain(); uint64(len(left)) != put-taken || len(left) > 0 && left[0].seq != taken {
			t.Fatalf("%d left, want %d", len(left), put-taken)
		}
	})
}
