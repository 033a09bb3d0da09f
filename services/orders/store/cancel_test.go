package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"dyno/parts/quicktest"
	"dyno/services/orders/batcher"
	"dyno/services/orders/database"
	"dyno/services/orders/order"
	"dyno/services/orders/pgtest"
)

// A read that is given up ends in the server, and its connection serves the next. One at a time: a
// server that is kept busy for longer than cancelPatience would lose the connection.
func TestGivenUpKeepsConnection(t *testing.T) {
	inTurn(t, func(t *testing.T, o Options) {
		o.Reads, o.Batches, o.Lists, o.Writes = 1, 1, 1, 1
		s, conn := open(t, o)
		watch := connect(t, s.options.DSNs[0])
		made := submit(t, s, "A1", buy(1))
		d := s.shards[0]
		for name, call := range map[string]func(context.Context) error{
			"order": func(ctx context.Context) error {
				if o.Lookup == "batch" {
					return d.fetch(&attempt{Context: ctx}, []int64{made.UID}, make([]batcher.Answer[order.Order], 1))
				}
				_, err := d.order(ctx, made.UID)
				return err
			},
			"orders": calls(s, made.UID)["Orders"],
		} {
			if err := call(t.Context()); err != nil {
				t.Fatal(name, err)
			}
			for range 3 {
				unlock := locked(t, conn)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- call(ctx) }()
				until(t, name+" waiting", func() bool { return get[int](t, watch, waiting) == 1 })
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
				if n := get[int](t, watch, waiting); n != 0 {
					t.Errorf("%s: the server goes on", name)
				}
				unlock()
				if err := call(t.Context()); err != nil {
					t.Errorf("%s, after it: %v", name, err)
				}
			}
		}
		for class, p := range s.Stats().Pools {
			if p.Opened != 1 || p.Open != 1 || p.InUse != 0 {
				t.Errorf("%s: %+v", class, p)
			}
		}
	})
}

// A commit that was cancelled while it waited for the standby is none that was acknowledged,
// whatever PostgreSQL says.
func TestGivenUpCommit(t *testing.T) {
	pg := pgtest.Server(t, nil)
	for i, name := range Drivers() {
		t.Run(name, func(t *testing.T) {
			s, conn := open(t, Options{DSNs: []string{pg.DSN()}, Driver: name})
			exec(t, conn, "ALTER SYSTEM SET synchronous_standby_names = 'absent'")
			exec(t, conn, "SELECT pg_reload_conf()")
			n := 1000 * i
			until(t, "a commit that waits", func() bool { // the setting takes a moment
				n++
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				ended := make(chan error)
				go func() {
					_, err := s.Submit(ctx, "A1", buy(n))
					ended <- err
				}()
				for waited := false; ; {
					select {
					case err := <-ended:
						if err != nil && !errors.Is(err, order.ErrUnavailable) {
							t.Error(err)
						}
						return err != nil && waited // without it the submission may not have arrived
					default:
						waited = waited || get[int](t, conn, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") > 0
					}
				}
			})
			exec(t, conn, "ALTER SYSTEM RESET synchronous_standby_names")
			exec(t, conn, "SELECT pg_reload_conf()")
			if r, err := s.Submit(t.Context(), "A1", buy(n)); err != nil || !r.Duplicate {
				t.Errorf("sent again: %+v %v", r, err)
			}
		})
	}
}

// A server that hangs delays no caller beyond its deadline and cancelPatience, and costs the
// connection.
func TestHangs(t *testing.T) {
	quicktest.Skip(t, "waits for time-outs")
	every(t, func(t *testing.T, o Options) {
		direct := migrated.Database(t)
		config, err := database.ParseDSN(direct, database.Primary)
		if err != nil {
			t.Fatal(err)
		}
		l := newLink(t, config)
		o.Timeout = time.Second
		o.DSNs = []string{fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", config.User, config.Password, l.address(), config.Database)}
		s, err := Open(t.Context(), completed(o))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		made := submit(t, s, "A1", buy(1))
		for name, call := range calls(s, made.UID) {
			until(t, name, func() bool { return call(t.Context()) == nil })
			l.hangs.Store(true)
			for range 3 { // over a connection that was there, and a new one
				if err := call(t.Context()); !errors.Is(err, order.ErrUnavailable) {
					t.Errorf("%s: %v", name, err)
				}
			}
			l.resume()
			until(t, name+" after it", func() bool { return call(t.Context()) == nil })
		}
	})
}
