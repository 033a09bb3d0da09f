package limiter_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dyno/services/chain/limiter"
)

// The time stands still during pauses, but not for longer than the grace.
func TestPause(t *testing.T) {
	for _, c := range []struct {
		name   string
		pauses []time.Duration // each after a second
		lasts  time.Duration
	}{
		{"none", nil, 5 * time.Second},
		{"one", []time.Duration{9 * time.Second}, 14 * time.Second},
		{"several", []time.Duration{9 * time.Second, 20 * time.Second}, 34 * time.Second},
		{"too long", []time.Duration{50 * time.Second}, 35 * time.Second},
		{"too many", []time.Duration{29 * time.Second, 2 * time.Second, 8 * time.Second}, 35 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				ctx, cancel := limiter.WithTimeout(t.Context(), 5*time.Second, 30*time.Second)
				defer cancel()
				ended := make(chan time.Duration, 1)
				context.AfterFunc(ctx, func() { ended <- time.Since(begun) })
				for _, pause := range c.pauses {
					time.Sleep(time.Second)
					resume, again := limiter.Pause(ctx), limiter.Pause(ctx)
					time.Sleep(pause)
					resume()
					again()
				}
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
					t.Error(context.Cause(ctx))
				}
				if lasted := <-ended; lasted != c.lasts {
					t.Errorf("it lasts %v, want %v", lasted, c.lasts)
				}
			})
		})
	}
	limiter.Pause(t.Context())() // of another context
	ctx, cancel := limiter.WithTimeout(t.Context(), time.Hour, 0)
	resume := limiter.Pause(ctx)
	cancel()
	if resume(); !errors.Is(ctx.Err(), context.Canceled) {
		t.Error(ctx.Err())
	}
}
