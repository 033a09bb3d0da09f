package room

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

const ms = time.Millisecond

// seen is a tickObserver that keeps everything.
type seen struct {
	late, overran []time.Duration
	dropped       []int
}

func (s *seen) Began(d time.Duration)   { s.late = append(s.late, d) }
func (s *seen) Overran(d time.Duration) { s.overran = append(s.overran, d) }
func (s *seen) Restarted(n int)         { s.dropped = append(s.dropped, n) }

// ticks runs n ticks of 10 ms in a bubble. Tick k takes takes[k], or nothing. It returns when each
// began, since the start.
func ticks(t *testing.T, n int, takes map[int]time.Duration, o tickOptions) (began []time.Duration, s seen) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		o.period, o.observer = 10*ms, &s
		err := runTicks(ctx, o, func() {
			began = append(began, time.Since(start))
			time.Sleep(takes[len(began)])
			if len(began) == n {
				cancel()
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
	return began, s
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Ticks that take a part of their period do not move the deadlines.
func TestTicksDoNotDrift(t *testing.T) {
	began, s := ticks(t, 1000, map[int]time.Duration{1: 9 * ms, 2: 10 * ms, 500: 3 * ms}, tickOptions{})
	for k, at := range began {
		if want := time.Duration(k+1) * 10 * ms; at != want || s.late[k] != 0 {
			t.Fatalf("tick %d began at %v, %v late, want %v", k+1, at, s.late[k], want)
		}
	}
	if len(s.overran)+len(s.dropped) > 0 {
		t.Errorf("overran %v, dropped %v", s.overran, s.dropped)
	}
}

// After a tick of 35 ms the missed ones follow it immediately, each with its own lateness.
func TestTicksCatchUp(t *testing.T) {
	began, s := ticks(t, 6, map[int]time.Duration{1: 35 * ms, 3: 2 * ms}, tickOptions{})
	equal(t, "began", began, []time.Duration{10 * ms, 45 * ms, 45 * ms, 47 * ms, 50 * ms, 60 * ms})
	equal(t, "late", s.late, []time.Duration{0, 25 * ms, 15 * ms, 7 * ms, 0, 0})
	equal(t, "overran", s.overran, []time.Duration{35 * ms})
	equal(t, "dropped", s.dropped, nil)
}

// A process that was stopped for longer than the backlog does not catch up: it starts again.
func TestTicksRestartBehindABacklog(t *testing.T) {
	for _, tt := range []struct {
		name            string
		backlog, stop   time.Duration
		dropped, caught int
	}{
		{"an hour", 0, time.Hour, 360_000 - 1, 0},
		{"all of the backlog", 0, 10*time.Second + 10*ms, 0, 1001},
		{"a little more", 0, 10*time.Second + 11*ms, 1000, 0},
		{"a backlog of its own", 30 * ms, 45 * ms, 3, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			began, s := ticks(t, tt.caught+4, map[int]time.Duration{1: tt.stop}, tickOptions{backlog: tt.backlog})
			var want []int
			if tt.dropped > 0 {
				want = []int{tt.dropped}
				// The schedule starts again at the end of the stop.
				again := 10*ms + tt.stop
				equal(t, "began", began, []time.Duration{10 * ms, again, again + 10*ms, again + 20*ms})
				equal(t, "late", s.late, make([]time.Duration, 4))
			} else if late := s.late[tt.caught]; late >= 10*ms || s.late[1] <= 9*time.Second {
				t.Errorf("the first tick after the stop was %v late, the last that it caught up with %v", s.late[1], late)
			}
			equal(t, "dropped", s.dropped, want)
			equal(t, "overran", s.overran, []time.Duration{tt.stop})
		})
	}
}

// The context ends a wait, and a backlog between two of its ticks.
func TestTicksEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if err := runTicks(ctx, tickOptions{period: time.Hour}, func() { t.Error("a tick") }); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("ended after %v", d)
		}
	})
	began, _ := ticks(t, 2, map[int]time.Duration{1: time.Second}, tickOptions{})
	if len(began) != 2 {
		t.Errorf("%d ticks, want 2: the context ended while others were due", len(began))
	}
	if err := runTicks(t.Context(), tickOptions{}, func() { t.Error("a tick") }); err == nil {
		t.Error("a period of 0 is accepted")
	}
}

// count is a tickObserver without allocations.
type count struct {
	ticks int
	late  time.Duration
}

func (c *count) Began(late time.Duration) { c.ticks, c.late = c.ticks+1, c.late+late }
func (c *count) Overran(time.Duration)    {}
func (c *count) Restarted(int)            {}

// A tick allocates nothing: a run of many has no more allocations than one of few.
func TestATickDoesNotAllocate(t *testing.T) {
	run := func(n int) float64 {
		return testing.AllocsPerRun(3, func() {
			ctx, cancel := context.WithCancel(t.Context())
			left := n
			runTicks(ctx, tickOptions{period: 20 * time.Microsecond, observer: &count{}}, func() {
				if left--; left == 0 {
					cancel()
				}
			})
		})
	}
	// The runtime's own allocations are few, and do not grow with the ticks.
	if few, many := run(10), run(1000); many > few+50 {
		t.Errorf("1000 ticks have %v allocations, 10 have %v", many, few)
	}
}
