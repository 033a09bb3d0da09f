package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

// bubble runs a test on a fake clock, which monotonic.Now follows. It begins in the year 2000,
// before this process did, where instants are negative; decades of sleep fix that.
func bubble(t *testing.T, test func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(100 * 365 * 24 * time.Hour)
		test(t)
	})
}

func bubblePool(d Doer) *Pool {
	return &Pool{Name: "fake", Doer: d, sleep: func(until int64) { time.Sleep(time.Duration(until - monotonic.Now())) }}
}

func constantly(perSecond float64, length time.Duration) func() Schedule {
	return func() Schedule { return Constant(perSecond, length) }
}

func TestPoolFreeze(t *testing.T) {
	for _, connections := range []int{8, 64} {
		t.Run(strconv.Itoa(connections), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := Plan{Length: 20 * time.Second, Connections: connections, Timeout: 10 * time.Second, Drain: time.Second}
				p.Schedule = constantly(2000, p.Length)
				p.Start = (monotonic.Now()/window + 1) * window
				pool := bubblePool(Func(func(context.Context) error {
					now := monotonic.Now() - p.Start + start
					time.Sleep(time.Duration(answered(now) - now))
					return nil
				}))
				totals, _, err := Run(t.Context(), p, pool, &memorySink{})
				if err != nil || totals.Offered != 40_000 || totals.Ended != 40_000 {
					t.Fatalf("%v: %+v", err, totals)
				}
				checkFreeze(t, totals.Response.At)
				if totals.Lag.P99 > 0.1 {
					t.Errorf("send-lag of %v us on a fake clock", totals.Lag.P99)
				}
			})
		})
	}
}

// An offer that waited longer than its timeout is not sent, and ends at its timeout.
func TestPoolTimeoutsCountFromTheIntendedTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := Plan{Length: time.Second, Connections: 1, Timeout: 300 * time.Millisecond, Drain: time.Minute, Schedule: constantly(100, time.Second)}
		totals, _, err := Run(t.Context(), p, bubblePool(Func(func(ctx context.Context) error {
			time.Sleep(time.Second)
			return ctx.Err()
		})), &memorySink{})
		if err != nil || totals.Ended != 100 || totals.Errors["timeout"] != 100 || totals.Unfinished != 0 {
			t.Fatalf("%v: %+v", err, totals)
		}
		if totals.Sent != 2 { // the first, and after it the first that had not timed out yet
			t.Errorf("%d were sent, want 2", totals.Sent)
		}
		near(t, "median", totals.Response.P50, 300)
	})
}

func TestPoolSuccessAfterTheTimeoutIsNone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := Plan{Length: time.Second, Connections: 1, Timeout: 10 * time.Millisecond, Schedule: constantly(1, time.Second)}
		totals, _, _ := Run(t.Context(), p, bubblePool(Func(func(context.Context) error {
			time.Sleep(20 * time.Millisecond)
			return nil
		})), &memorySink{})
		if totals.Errors["timeout"] != 1 {
			t.Errorf("%+v", totals)
		}
	})
}

// Offers in flight or queued at the end of the drain are unfinished, at their age.
func TestPoolUnfinished(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := Plan{Length: time.Second, Connections: 2, Drain: 500 * time.Millisecond, Schedule: constantly(10, time.Second)}
		totals, plan, err := Run(t.Context(), p, bubblePool(Func(func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})), &memorySink{})
		if err != nil || totals.Offered != 10 || totals.Sent != 2 || totals.Ended != 0 || totals.Unfinished != 10 {
			t.Fatalf("%v: %+v", err, totals)
		}
		near(t, "oldest", totals.Response.Max, 1500)
		if now := monotonic.Now(); now != plan.DrainUntil() {
			t.Errorf("ended %v after its drain", time.Duration(now-plan.DrainUntil()))
		}
	})
}

func TestPoolIsCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2100*time.Millisecond)
		defer cancel()
		p := Plan{Length: time.Hour, Connections: 4, Timeout: time.Minute, Schedule: constantly(100, time.Hour)}
		totals, plan, err := Run(ctx, p, bubblePool(Func(func(ctx context.Context) error {
			time.Sleep(time.Millisecond)
			return nil
		})), &memorySink{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if totals.Offered != totals.Ended+totals.Unfinished || totals.Ended < 180 || plan.Length > 2100*time.Millisecond {
			t.Errorf("%+v over %v", totals, plan.Length)
		}
		if totals.AchievedPerS < 95 || totals.AchievedPerS > 105 { // the last window may have been cut short
			t.Errorf("achieved %v per second, want 100", totals.AchievedPerS)
		}
	})
}

func TestPoolClosedModel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := Plan{Length: time.Second, Connections: 3, Timeout: time.Second, Drain: time.Second}
		pool := bubblePool(Func(func(context.Context) error { time.Sleep(10 * time.Millisecond); return nil }))
		pool.Think = 40 * time.Millisecond
		sink := &memorySink{}
		totals, _, err := Run(t.Context(), p, pool, sink)
		if err != nil || totals.Offered != 60 || totals.Ended != 60 {
			t.Fatalf("%v: %+v", err, totals)
		}
		near(t, "response", totals.Response.Max, 10)
		for _, w := range sink.windows[1:] {
			if w.Phase == record.PhaseMeasure && w.Client.Offered != 6 {
				t.Errorf("window %+v, want 6 offers", w)
			}
		}
	})
}

// While the target hangs, windows are still written on time.
func TestPoolWritesWindowsWhileNothingHappens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, schedule := range []func() Schedule{nil, constantly(0.1, 10*time.Second)} {
			sink := &countingSink{}
			p := Plan{Length: 10 * time.Second, Connections: 1, Timeout: time.Minute, Drain: time.Second, Schedule: schedule}
			written := int64(0)
			pool := bubblePool(Func(func(context.Context) error {
				time.Sleep(9 * time.Second)
				written = sink.Load()
				return nil
			}))
			if _, _, err := Run(t.Context(), p, pool, sink); err != nil || written < 88 {
				t.Errorf("%d windows were written within 9 s (%v)", written, err)
			}
		}
	})
}

type countingSink struct{ atomic.Int64 }

func (s *countingSink) Window(record.Window, map[string]*hdrhistogram.Histogram) error {
	s.Add(1)
	return nil
}

func TestPoolPanicIsAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := Plan{Length: time.Second, Connections: 2, Schedule: constantly(10, time.Second)}
		totals, _, err := Run(t.Context(), p, bubblePool(Func(func(context.Context) error {
			panic("a fault of the user's")
		})), &memorySink{})
		if err == nil || !strings.Contains(err.Error(), "a fault of the user's") || !strings.Contains(err.Error(), "pool_test.go:") {
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

func (c *dialler) Do(context.Context, *Offer) Result { return Result{Status: OK, Success: true} }

func TestPoolConnectsBeforeTheStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &dialler{}
		_, plan, err := Run(t.Context(), Plan{Length: time.Second, Connections: 3}, &Pool{Doer: d, Think: time.Millisecond}, &memorySink{})
		slices.Sort(d.workers)
		if err != nil || !slices.Equal(d.workers, []int{0, 1, 2}) || d.before >= plan.Start {
			t.Errorf("%v: connected %v, %v before the start", err, d.workers, time.Duration(plan.Start-d.before))
		}
	})
}

// One short run on the real clock: the pacing thread and its system call work.
func TestPoolOnTheRealClock(t *testing.T) {
	p := Plan{Length: 200 * time.Millisecond, Connections: 2, Drain: time.Minute, Schedule: constantly(500, 200*time.Millisecond)}
	var mu sync.Mutex
	early := 0
	totals, _, err := Run(t.Context(), p, &Pool{Doer: doFunc(func(_ context.Context, o *Offer) Result {
		mu.Lock()
		defer mu.Unlock()
		if monotonic.Now() < o.Intended {
			early++
		}
		return Result{Status: OK, Success: true}
	})}, &memorySink{})
	if err != nil || totals.Ended != 100 || early > 0 {
		t.Errorf("%v: completed %d of 100, %d before their time", err, totals.Ended, early)
	}
}

type doFunc func(context.Context, *Offer) Result

func (f doFunc) Do(ctx context.Context, o *Offer) Result { return f(ctx, o) }

// The backlog returns offers in the order they were put, whatever the mix of puts and takes.
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

func TestStatusOf(t *testing.T) {
	op := func(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }
	for want, errs := range map[Status][]error{
		OK:      {nil},
		Timeout: {context.DeadlineExceeded, fmt.Errorf("x: %w", os.ErrDeadlineExceeded), op("dial", syscall.ETIMEDOUT)},
		Refused: {op("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED))},
		Reset:   {op("read", syscall.ECONNRESET), op("write", syscall.EPIPE)},
		Connect: {op("dial", syscall.EHOSTUNREACH), &net.DNSError{Err: "no such host"}, op("dial", io.EOF)},
		Closed:  {io.EOF, fmt.Errorf("x: %w", io.ErrUnexpectedEOF), net.ErrClosed},
		Other:   {errors.New("balance too low")},
	} {
		for _, err := range errs {
			if got := StatusOf(err); got != want {
				t.Errorf("%v is %v, want %v", err, got, want)
			}
		}
	}
}
