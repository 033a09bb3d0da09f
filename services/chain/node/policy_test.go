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
				if err := p.Wait(t.Context(), w.ready, func() int { return int(w.n.Load()) }); err != nil || time.Since(begin) != took {
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
			if err := p.Wait(ctx, w.ready, func() int { return 0 }); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	if _, err := NewPolicy("never", Sealing{}); err == nil {
		t.Error("an unknown policy")
	}
}
