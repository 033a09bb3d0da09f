package store

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/parts/quicktest"
	"dyno/services/orders/order"
)

func TestCallerGoesAway(t *testing.T) {
	every(t, func(t *testing.T, o Options) {
		o.Timeout = time.Minute
		s, conn := open(t, o)
		watch := connect(t, s.options.DSNs[0])
		made := submit(t, s, "A1", buy(1))
		for name, call := range calls(s, made.UID) {
			unlock := locked(t, conn)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- call(ctx) }()
			until(t, name+" waiting", func() bool { return get[int](t, watch, waiting) > 0 })
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) || errors.Is(err, order.ErrUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
			unlock()
			if err := call(t.Context()); err != nil {
				t.Errorf("%s, after it: %v", name, err)
			}
		}
	})
}

// A database that takes too long is one that does not answer: whether the caller or the options say
// how long. The server gives up as well.
func TestTooSlow(t *testing.T) {
	quicktest.Skip(t, "waits for time-outs")
	every(t, func(t *testing.T, o Options) {
		o.Timeout = 300 * time.Millisecond
		s, conn := open(t, o)
		watch := connect(t, s.options.DSNs[0])
		var made int64
		until(t, "an order", func() bool { // a machine under load takes longer than the time-out to connect
			r, err := s.Submit(t.Context(), "A1", buy(1))
			made = r.Order.UID
			return err == nil
		})
		for name, call := range calls(s, made) {
			unlock := locked(t, conn)
			for _, timeout := range []time.Duration{20 * time.Millisecond, time.Minute, 0} {
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if timeout > 0 {
					ctx, cancel = context.WithTimeout(ctx, timeout)
				}
				err := call(ctx)
				cancel()
				if errors.Is(err, order.ErrBusy) && timeout == 20*time.Millisecond {
					continue // it was not even sent by then
				}
				if !errors.Is(err, order.ErrUnavailable) || !strings.Contains(err.Error(), "/test_") {
					t.Errorf("%s, caller's time-out %v: %v", name, timeout, err)
				}
			}
			until(t, name+": the end of abandoned statements", func() bool { return get[int](t, watch, waiting) == 0 })
			unlock()
			until(t, name+" after it", func() bool { return call(t.Context()) == nil })
		}
		if st := s.Stats(); st.Undated != 0 || st.Deadlines == 0 || st.Deadlines != st.Statements {
			t.Errorf("statements without deadlines: %+v", st)
		}
	})
}

// calls are the things that can be asked of a store, where order uid exists.
func calls(s *Store, uid int64) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Order": func(ctx context.Context) error {
			_, err := s.Order(ctx, uid)
			return err
		},
		"Orders": func(ctx context.Context) error {
			_, err := s.Orders(ctx, order.Filter{Account: "A1", Limit: 1})
			return err
		},
		"Submit": func(ctx context.Context) error {
			_, err := s.Submit(ctx, "A1", buy(1))
			return err
		},
	}
}

// Slow pages take no connection from the queries of an order.
func TestClassesApart(t *testing.T) {
	every(t, func(t *testing.T, o Options) {
		o.Lists, o.Timeout = 2, time.Minute
		s, conn := open(t, o)
		watch := connect(t, s.options.DSNs[0])
		pages := func(n int) (wait func()) {
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					if _, err := s.Orders(t.Context(), order.Filter{Account: "A1", Limit: 1}); err != nil {
						t.Error(err)
					}
				})
			}
			return all.Wait
		}
		until(t, "both connections", func() bool { pages(8)(); return s.Stats().Pools[classLists].Opened == 2 })
		if err := s.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := s.Stats().Pools[classLists]
		unlock := locked(t, conn)
		wait := pages(5)
		until(t, "both connections waiting", func() bool { return get[int](t, watch, waiting) == 2 })
		if err := s.Ping(t.Context()); err != nil { // over a connection of the class of reads
			t.Error(err)
		}
		if p := s.Stats().Pools[classLists]; p.InUse != 2 || p.Max != 2 || p.Open != 2 {
			t.Errorf("%+v", p)
		}
		unlock()
		wait()
		if p := s.Stats().Pools[classLists]; p.Waits < before.Waits+3 || p.Waited <= before.Waited || p.Acquires != before.Acquires+5 || p.Opened != 2 {
			t.Errorf("%+v, before %+v", p, before)
		}
	})
}

func TestTooManyWait(t *testing.T) {
	s, conn := open(t, Options{MaxWaiting: 2, Batches: 1, Timeout: time.Minute})
	made := submit(t, s, "A1", buy(1))
	unlock := locked(t, conn)
	var all sync.WaitGroup
	read := func() {
		if _, err := s.Order(t.Context(), made.UID); err != nil {
			t.Error(err)
		}
	}
	all.Go(read)
	until(t, "a fetch", func() bool { return s.Stats().Batch.Fetches == 1 })
	all.Go(read)
	all.Go(read)
	until(t, "a full batcher", func() bool { return s.Stats().Batch.Waiting == 2 })
	if _, err := s.Order(t.Context(), made.UID); !errors.Is(err, order.ErrBusy) {
		t.Error(err)
	}
	unlock()
	all.Wait()
}
