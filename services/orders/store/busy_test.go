package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"dyno/services/orders/order"
)

// That a caller's time was over before the database was asked says nothing of the database.
func TestOverBeforeAsked(t *testing.T) {
	every(t, func(t *testing.T, o Options) {
		o.Reads, o.Batches, o.Lists, o.Writes = 1, 1, 1, 1
		s, conn := open(t, o)
		watch := connect(t, s.options.DSNs[0])
		made := submit(t, s, "A1", buy(1))
		before := s.Stats().Statements
		for name, call := range calls(s, made.UID) {
			ctx, cancel := context.WithTimeout(t.Context(), -time.Second)
			if err := call(ctx); !errors.Is(err, order.ErrBusy) || errors.Is(err, order.ErrUnavailable) {
				t.Errorf("%s, too late: %v", name, err)
			}
			cancel()
			ctx, cancel = context.WithCancel(t.Context())
			cancel()
			if err := call(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, order.ErrBusy) {
				t.Errorf("%s, its caller gone: %v", name, err)
			}
		}
		if n := s.Stats().Statements - before; n != 0 {
			t.Errorf("%d statements were sent", n)
		}
		other := submit(t, s, "A1", buy(2))
		waiters := calls(s, other.UID)
		for name, call := range calls(s, made.UID) {
			unlock := locked(t, conn)
			var first sync.WaitGroup
			first.Go(func() {
				if err := call(t.Context()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			until(t, "the only connection in use", func() bool { return get[int](t, watch, waiting) == 1 })
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			if err := waiters[name](ctx); !errors.Is(err, order.ErrBusy) || errors.Is(err, order.ErrUnavailable) {
				t.Errorf("%s, which waits for a connection: %v", name, err)
			}
			cancel()
			unlock()
			first.Wait()
		}
	})
}
