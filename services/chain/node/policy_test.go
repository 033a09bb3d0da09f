package node

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// waits is a number of waiting transactions, and a policy that looks at it.
type waits struct {
	n     atomic.Int64
	ready chan struct{}
}

func (w *waits) add(n int64) {
	w.n.Add(n)
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// A block is due as its policy says: immediately, or at an interval after the last one.
func TestWait(t *testing.T) {
	const interval = 10 * time.Millisecond
	for _, c := range []struct {
		policy      string
		after, full time.Duration // of a block when one transaction waits, and when 50 more do
		max         int
	}{
		{"each", 0, 0, 1},
		{"timer", interval, interval, 7000},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, err := NewPolicy(c.policy, Sealing{Interval: interval, Max: 7000})
			if err != nil || p.Max != c.max {
				t.Fatalf("%s: at most %d, %v", c.policy, p.Max, err)
			}
			w := &waits{ready: make(chan struct{}, 1)}
			due := func(took time.Duration) {
				t.Helper()
				begin := time.Now()
				if err := p.Wait(t.Context(), w.ready, func() int { return int(w.n.Load()) }, func() bool { return false }); err != nil || time.Since(begin) != took {
					t.Errorf("%s: due after %v, want %v; %v", c.policy, time.Since(begin), took, err)
				}
			}
			go func() {
				time.Sleep(time.Hour)
				w.add(1)
			}()
			due(time.Hour) // the first comes alone, and does not wait
			due(c.after)
			go w.add(50)
			synctest.Wait()
			due(c.full)
			ctx, cancel := context.WithCancel(t.Context())
			w.n.Store(0)
			go cancel()
			if err := p.Wait(ctx, w.ready, func() int { return 0 }, func() bool { return false }); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	if _, err := NewPolicy("never", Sealing{}); err == nil {
		t.Error("an unknown policy")
	}
}

func TestIdleIsBounded(t *testing.T) {
	if _, err := NewPolicy("timer", Sealing{Idle: time.Nanosecond}); err == nil {
		t.Error("a block each nanosecond is accepted")
	}
	p, err := NewPolicy("timer", Sealing{Interval: time.Second, Idle: time.Millisecond})
	if err != nil || p.idle != time.Second {
		t.Errorf("an empty block comes after %v, before block_interval; %v", p.idle, err)
	}
}

// Without transactions an empty block is due after a while, where that is set, and again after another.
func TestIdle(t *testing.T) {
	for _, name := range []string{"each", "timer"} {
		synctest.Test(t, func(t *testing.T) {
			p, err := NewPolicy(name, Sealing{Interval: time.Millisecond, Idle: time.Minute, Max: 10})
			if err != nil {
				t.Fatal(err)
			}
			w := &waits{ready: make(chan struct{}, 1)}
			due := func(after time.Duration, empty bool) {
				t.Helper()
				begin := time.Now()
				if err := p.Wait(t.Context(), w.ready, func() int { return int(w.n.Load()) }, func() bool { return false }); err != nil || time.Since(begin) != after || p.empty != empty {
					t.Errorf("%s: due after %v, empty: %v; want %v, %v; %v", name, time.Since(begin), p.empty, after, empty, err)
				}
			}
			due(time.Minute, true)
			due(time.Minute, true)
			go func() {
				time.Sleep(time.Second)
				w.add(1)
			}()
			due(time.Second, false)
			w.n.Store(0)
			due(time.Minute, true)
		})
	}
}

// A block that took long to make is followed by a larger one, as long as more transactions come and
// half a block's gas is not used, but not beyond the longest interval.
func TestBlocksGrow(t *testing.T) {
	const interval, longest = 8 * time.Millisecond, 50 * time.Millisecond
	const ever = time.Hour
	for _, c := range []struct {
		policy string
		took   time.Duration // by the block before
		half   int           // transactions of half a block's gas
		until  time.Duration // more transactions come, after that block
		rate   int           // in a millisecond
		due    time.Duration // after that block
	}{
		{"timer", 0, 5000, ever, 1, interval},
		{"timer", time.Millisecond, 5000, ever, 1, interval},
		{"timer", 3 * time.Millisecond, 5000, ever, 1, 24 * time.Millisecond},
		{"timer", 20 * time.Millisecond, 5000, ever, 1, longest},
		{"timer", 20 * time.Millisecond, 5000, 19 * time.Millisecond, 1, 20 * time.Millisecond},
		{"timer", 20 * time.Millisecond, 5000, 0, 1, interval},
		{"timer", 20 * time.Millisecond, 5000, ever, 100, 10 * time.Millisecond}, // which fill it
		{"timer", 20 * time.Millisecond, 21, ever, 1, 20 * time.Millisecond},
		{"timer", 20 * time.Millisecond, 0, ever, 1, interval},
		{"each", 20 * time.Millisecond, 5000, ever, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, err := NewPolicy(c.policy, Sealing{Interval: interval, Longest: longest, Max: 1000})
			if err != nil {
				t.Fatal(err)
			}
			one := func() int { return 1 }
			if err := p.Wait(t.Context(), nil, one, func() bool { return true }); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			p.Made(c.took, c.half)
			err = p.Wait(t.Context(), nil, func() int { return 1 + c.rate*int(time.Since(begin).Milliseconds()) },
				func() bool { return time.Since(begin) < c.until })
			if took := time.Since(begin); err != nil || took != c.due {
				t.Errorf("%+v: due after %v, %v", c, took, err)
			}
		})
	}
}
