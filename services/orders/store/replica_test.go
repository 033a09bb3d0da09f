package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dyno/parts/quicktest"
	"dyno/services/orders/batcher"
	"dyno/services/orders/database"
	"dyno/services/orders/order"
	"dyno/services/orders/pgtest"
	"dyno/services/orders/postgres"
)

// twin is a database that was seeded as dsn's was, as a replica would be.
func twin(t *testing.T) string {
	t.Helper()
	dsn := migrated.Database(t)
	if err := database.Seed(t.Context(), dsn, 10, 2, nil); err != nil {
		t.Fatal(err)
	}
	return dsn
}

// atLeast are the ways to read an order of at least a version.
func atLeast(o Options) map[string]func(ctx context.Context, s *Store, uid, version int64) (order.Order, error) {
	ways := map[string]func(context.Context, *Store, int64, int64) (order.Order, error){
		"waiting": func(ctx context.Context, s *Store, uid, version int64) (order.Order, error) {
			return s.OrderAtLeast(ctx, uid, version)
		},
	}
	if o.Lookup == "batch" {
		ways["begun"] = func(_ context.Context, s *Store, uid, version int64) (order.Order, error) {
			w := &asker{answers: make(chan batcher.Answer[order.Order], 2)}
			if err := s.BeginAtLeast(uid, version, w); err != nil {
				return order.Order{}, err
			}
			a := <-w.answers
			if a.Err == nil && !a.Found {
				a.Err = order.ErrNotFound
			}
			return a.Value, a.Err
		}
	}
	return ways
}

// asker is a Waiter that waits for its answer.
type asker struct {
	gone    atomic.Bool
	answers chan batcher.Answer[order.Order]
}

func (a *asker) Wanted() bool                           { return !a.gone.Load() }
func (a *asker) Answered(b batcher.Answer[order.Order]) { a.answers <- b }

// A replica answers for what it has; all else comes from the primary. Here the replica is a
// database of its own, so that their answers differ.
func TestReplica(t *testing.T) {
	quicktest.Skip(t, "starts further servers, or waits for time-outs")
	every(t, func(t *testing.T, o Options) {
		o.DSNs, o.Replica = []string{twin(t)}, twin(t)
		s, conn := open(t, o)
		behind := connect(t, o.Replica)
		exec(t, behind, "ALTER TABLE orders DISABLE TRIGGER change")
		exec(t, conn, "ALTER TABLE orders DISABLE TRIGGER change")
		exec(t, behind, "UPDATE orders SET symbol = 'REPLICA', version = 5")
		exec(t, conn, "UPDATE orders SET symbol = 'PRIMARY', version = 6")
		submit(t, s, "A1", buy(1)) // order 11, which the replica does not have
		for _, c := range []struct {
			uid, version int64
			want         string
		}{{1, 1, "REPLICA"}, {1, 5, "REPLICA"}, {1, 6, "PRIMARY"}, {1, 7, "PRIMARY"}, {1, 0, "PRIMARY"}, {1, -3, "PRIMARY"}, {11, 1, "ACME"}} {
			for way, read := range atLeast(o) {
				if got, err := read(t.Context(), s, c.uid, c.version); err != nil || got.Symbol != c.want {
					t.Errorf("%s: order %d of version %d: %v %v, want %s", way, c.uid, c.version, got, err, c.want)
				}
			}
		}
		for way, read := range atLeast(o) {
			if _, err := read(t.Context(), s, 12, 1); err != order.ErrNotFound {
				t.Errorf("%s: %v", way, err)
			}
		}
		if got, err := s.Order(t.Context(), 1); err != nil || got.Symbol != "PRIMARY" {
			t.Errorf("%v %v", got, err)
		}
		if p := s.Stats().Pools["replica"]; p.Acquires < 4 || p.Max < 1 {
			t.Errorf("%+v", p)
		}
	})
}

// Without its replica the store does as well, and does not ask it each time.
func TestReplicaFails(t *testing.T) {
	quicktest.Skip(t, "starts further servers, or waits for time-outs")
	every(t, func(t *testing.T, o Options) {
		o.DSNs = []string{twin(t)}
		for name, dsn := range map[string]string{
			"refuses":   "postgres://a@127.0.0.1:1/db?sslmode=disable",
			"no schema": pgtest.Database(t),
		} {
			o.Replica = dsn
			for way, read := range atLeast(o) {
				s, _ := open(t, o)
				for range 10 {
					if got, err := read(t.Context(), s, 1, 1); err != nil || got.UID != 1 {
						t.Errorf("%s, %s: %v %v", name, way, got, err)
					}
				}
				if s.replicaRests.Load() == 0 {
					t.Errorf("%s, %s: it is asked again and again", name, way)
				}
			}
		}

		hangs := twin(t)
		unlock := locked(t, connect(t, hangs))
		defer unlock()
		o.Replica, o.Timeout = hangs, 8*time.Second // half of it for each
		for way, read := range atLeast(o) {
			s, _ := open(t, o)
			if got, err := read(t.Context(), s, 1, 1); err != nil || got.UID != 1 {
				t.Errorf("hangs, %s: %v %v", way, got, err)
			}
		}
	})
}

// A read that was given up while the replica hangs is not begun again, nor answered.
func TestReplicaReadGivenUp(t *testing.T) {
	s := &Store{options: Options{Timeout: time.Millisecond}, replica: &backend{lookup: stuck{}}}
	w := &asker{answers: make(chan batcher.Answer[order.Order], 1)}
	w.gone.Store(true)
	if err := s.BeginAtLeast(1, 1, w); err != nil {
		t.Fatal(err)
	}
	r := &replicaRead{store: s, uid: 1, version: 1, waiter: w}
	r.hangs() // there is no primary that it could ask
	r.Answered(batcher.Answer[order.Order]{Found: true, Value: order.Order{Version: 1}})
	if len(w.answers) > 0 || r.Wanted() {
		t.Error("it was answered, or is still wanted")
	}
}

// stuck never answers.
type stuck struct{ single }

func (stuck) begin(int64, Waiter) error { return nil }

// The primary is killed under load, its synchronous standby takes over: acknowledged orders are
// there, and the store finds the new primary automatically.
func TestFailover(t *testing.T) {
	quicktest.Skip(t, "starts further servers, or waits for time-outs")
	for _, name := range Drivers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := pgtest.Primary(t)
			second := pgtest.Standby(t, first)
			s, _ := open(t, Options{DSNs: []string{both(first, second)}, Driver: name})
			acknowledged := &sync.Map{} // n -> uid
			ctx, stop := context.WithCancel(t.Context())
			var load sync.WaitGroup
			for g := range 6 {
				load.Go(func() {
					for n := g; ctx.Err() == nil; n += 6 {
						r, err := s.Submit(ctx, "A1", buy(n))
						switch {
						case err == nil:
							acknowledged.Store(n, r.Order.UID)
						case ctx.Err() == nil && !errors.Is(err, order.ErrUnavailable):
							t.Error(err)
						}
					}
				})
			}
			grows := func() {
				t.Helper()
				from := size(acknowledged)
				until(t, "progress", func() bool { return size(acknowledged) > from+100 })
			}
			grows()
			if err := first.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := second.Promote(t.Context()); err != nil {
				t.Fatal(err)
			}
			promoted := time.Now()
			grows()
			took := time.Since(promoted).Round(time.Millisecond)
			if took > 30*time.Second {
				t.Error("too late")
			}
			t.Logf("in full swing %v after the promotion", took)
			stop()
			load.Wait()
			acknowledged.Range(func(n, uid any) bool {
				r, err := s.Submit(t.Context(), "A1", buy(n.(int)))
				if err != nil || !r.Duplicate || r.Order.UID != uid {
					t.Errorf("submission %d was acknowledged as order %d and is now %+v %v", n, uid, r, err)
					return false
				}
				if got, err := s.Order(t.Context(), r.Order.UID); err != nil || got != r.Order {
					t.Errorf("%v %v, want %v", got, err, r.Order)
					return false
				}
				return true
			})
			if n := get[int](t, connect(t, second.DSN()), "SELECT count(*) FROM orders FULL JOIN audit USING (uid) WHERE orders.account IS NULL OR audit.account IS NULL"); n != 0 {
				t.Errorf("%d orders or audit records without the other", n)
			}
		})
	}
}

// A first host that takes connections and says nothing leaves time for the second.
func TestFirstHostHangs(t *testing.T) {
	quicktest.Skip(t, "starts further servers, or waits for time-outs")
	direct := migrated.Database(t)
	config, err := database.ParseDSN(direct, database.Primary)
	if err != nil {
		t.Fatal(err)
	}
	dead := newLink(t, config)
	dead.hangs.Store(true)
	both := fmt.Sprintf("postgres://%s:%s@%s,%s:%d/%s?sslmode=disable", config.User, config.Password, dead.address(), config.Host, config.Port, config.Database)
	for _, name := range Drivers() {
		t.Run(name, func(t *testing.T) {
			o := completed(Options{Driver: name, Lookup: "single", Timeout: 9 * time.Second}) // a third of it for each
			d, err := newBackend(t.Context(), both, database.Primary, o)
			if err != nil {
				t.Fatal(err)
			}
			defer d.close()
			if _, err := d.orders(t.Context(), order.Filter{Account: "A1", Limit: 1}); err != nil {
				t.Error(err)
			}
		})
	}
}

func size(m *sync.Map) (n int) {
	m.Range(func(any, any) bool { n++; return true })
	return n
}

// both is the DSN of two servers with the same cluster.
func both(first, second *postgres.Server) string {
	config, err := database.ParseDSN(first.DSN(), database.Primary)
	if err != nil {
		panic(err) // it is a Server's
	}
	return "postgres://" + config.User + ":" + config.Password + "@" + first.Address() + "," + second.Address() + "/" + config.Database + "?sslmode=disable"
}
