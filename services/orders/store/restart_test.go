package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dyno/parts/quicktest"
	"dyno/services/orders/order"
	"dyno/services/orders/pgtest"
)

// The store detects connections that were idle while the database was restarted before a caller
// receives an error for them.
func TestRestartUnnoticed(t *testing.T) {
	quicktest.Skip(t, "restarts a server")
	pg := pgtest.Server(t, nil)
	inTurn(t, func(t *testing.T, o Options) {
		o.DSNs = []string{pg.DSN()}
		s, _ := open(t, o)
		account := t.Name()
		made := submit(t, s, account[len(account)-10:], buy(1))
		warm := func() {
			var all sync.WaitGroup
			for n := range 20 {
				all.Go(func() {
					if _, err := s.Order(t.Context(), made.UID); err != nil {
						t.Error(err)
					}
					if _, err := s.Orders(t.Context(), order.Filter{Account: made.Account, Limit: 1}); err != nil {
						t.Error(err)
					}
					if _, err := s.Submit(t.Context(), made.Account, buy(n)); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		warm()
		for name, end := range map[string]func() error{"stopped": func() error { return pg.Stop(t.Context()) }, "killed": pg.Kill} {
			if err := end(); err != nil {
				t.Fatal(name, err)
			}
			if _, err := s.Order(t.Context(), made.UID); !errors.Is(err, order.ErrUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
			if err := pg.Restart(t.Context()); err != nil {
				t.Fatal(name, err)
			}
			warm()
		}
	})
}

// The database is killed under load and comes back: what was acknowledged is there, all goes on,
// and no connection is left over.
func TestKilledUnderLoad(t *testing.T) {
	quicktest.Skip(t, "restarts a server")
	pg := pgtest.Server(t, nil)
	inTurn(t, func(t *testing.T, o Options) {
		o.DSNs = []string{pg.DSN()}
		s, _ := open(t, o)
		account := "k:" + o.Driver + ":" + o.Lookup
		seen := submit(t, s, account, buy(0))

		var acknowledged sync.Map // client order number -> uid
		var answered [3]atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		var load sync.WaitGroup
		run := func(kind int, call func(n int) error) {
			load.Go(func() {
				for n := 1; ctx.Err() == nil; n++ {
					switch err := call(n); {
					case err == nil:
						answered[kind].Add(1)
					case ctx.Err() == nil && !errors.Is(err, order.ErrUnavailable):
						t.Errorf("%v", err)
					}
				}
			})
		}
		for g := range 8 {
			run(0, func(int) error {
				got, err := s.Order(ctx, seen.UID)
				if err == nil && got != seen {
					t.Errorf("%v, want %v", got, seen)
				}
				return err
			})
			run(1, func(int) error {
				_, err := s.Orders(ctx, order.Filter{Account: account, Limit: 2})
				return err
			})
			run(2, func(n int) error {
				r, err := s.Submit(ctx, account, buy(n*8+g))
				if err == nil {
					acknowledged.Store(n*8+g, r.Order.UID)
				}
				return err
			})
		}
		progress := func() {
			t.Helper()
			for kind := range answered {
				from := answered[kind].Load()
				until(t, "progress", func() bool { return answered[kind].Load() > from+20 })
			}
		}
		for range 2 {
			progress()
			if err := pg.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := s.Ping(t.Context()); !errors.Is(err, order.ErrUnavailable) {
				t.Errorf("killed, and Ping says %v", err)
			}
			if err := pg.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			back := time.Now()
			progress()
			t.Logf("%s/%s: in full swing %v after its return", o.Driver, o.Lookup, time.Since(back).Round(time.Millisecond))
		}
		stop()
		load.Wait()

		conn := connect(t, o.DSNs[0])
		allowed := 0
		for _, p := range s.Stats().Pools {
			allowed += p.Max
		}
		until(t, "no more connections than the pools have", func() bool {
			return get[int](t, conn, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()") <= allowed
		})
		acknowledged.Range(func(n, uid any) bool {
			r, err := s.Submit(t.Context(), account, buy(n.(int)))
			if err != nil || !r.Duplicate || r.Order.UID != uid {
				t.Errorf("submission %d was acknowledged as order %d and is now %+v %v", n, uid, r, err)
			}
			return !t.Failed()
		})
		if n := get[int](t, conn, "SELECT count(*) FROM orders o FULL JOIN audit a USING (uid) WHERE o.account = $1 AND (o.uid IS NULL OR a.uid IS NULL)", account); n != 0 {
			t.Errorf("%d orders or audit records without the other", n)
		}
		s.Close()
		until(t, "the end of all connections", func() bool {
			return get[int](t, conn, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()") == 0
		})
	})
}
