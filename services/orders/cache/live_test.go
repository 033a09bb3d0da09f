package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dyno/services/orders/order"
	"dyno/services/orders/postgres/pgtest"
)

var logical = map[string]string{"wal_level": "logical"}

// patient gives the feed as much time as a loaded machine may need.
const patient = 5 * time.Second

func live(t testing.TB, next Source, dsn string, patience time.Duration) *Live {
	t.Helper()
	l, err := NewLive(next, LiveOptions{DSN: dsn, Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// hit reads until the answer comes from memory.
func hit(t testing.TB, l *Live, uid int64) (o order.Order) {
	t.Helper()
	for hits := l.Stats().Hits; l.Stats().Hits == hits; {
		var err error
		if o, err = l.Order(t.Context(), uid); err != nil {
			t.Fatal(err)
		}
		if err := pause(t.Context(), time.Millisecond); err != nil {
			t.Fatalf("%v: %+v", err, l.Stats())
		}
	}
	return o
}

func version(t testing.TB, s Source, uid int64) int64 {
	t.Helper()
	o, err := s.Order(t.Context(), uid)
	if err != nil {
		t.Fatal(err)
	}
	return o.Version
}

func TestLive(t *testing.T) {
	dsn := pgtest.Server(t, logical).DSN()
	d := open(t, dsn)
	uid := d.inserted(t, 1)[0]
	l := live(t, d, dsn, patient)
	hit(t, l, uid)

	t.Run("shows every change at once", func(t *testing.T) {
		for range 50 {
			want, err := fill(t.Context(), d, uid)
			if err != nil {
				t.Fatal(err)
			}
			if got := version(t, l, uid); got != want {
				t.Fatalf("version %d, and %d is committed", got, want)
			}
			if got := hit(t, l, uid); got.Version != want {
				t.Fatalf("version %d from memory, and %d is committed", got.Version, want)
			}
		}
	})
	t.Run("commits that are not flushed", func(t *testing.T) {
		conn, err := d.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
		if _, err := conn.Exec(t.Context(), `SET synchronous_commit = off`); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			hit(t, l, uid)
			want, err := fill(t.Context(), conn, uid)
			if err != nil {
				t.Fatal(err)
			}
			if got := version(t, l, uid); got != want {
				t.Fatalf("version %d, and %d is committed", got, want)
			}
		}
	})
	t.Run("a log that ends with a page", func(t *testing.T) {
		for range 3 {
			d.do(t, `SELECT pg_switch_wal()`)
			hit(t, l, uid)
		}
	})
	t.Run("a change of the table's definition", func(t *testing.T) {
		hit(t, l, uid)
		before := l.Stats().Reconnects
		// It rewrites the table, and no row changes as the feed sees it.
		d.do(t, `ALTER TABLE orders ALTER price TYPE bigint USING price + 1, ALTER COLUMN symbol TYPE varchar(32) USING symbol || 'X'`)
		if o, err := l.Order(t.Context(), uid); err != nil || o.Symbol != "ACMEX" {
			t.Fatalf("%+v %v", o, err)
		}
		if o := hit(t, l, uid); o.Symbol != "ACMEX" || l.Stats().Reconnects == before {
			t.Fatalf("%+v %+v", o, l.Stats())
		}
	})
	t.Run("truncation", func(t *testing.T) {
		hit(t, l, uid)
		d.do(t, `ALTER TABLE orders DISABLE TRIGGER keep`)
		hit(t, l, uid)
		d.do(t, `TRUNCATE orders`)
		if o, err := l.Order(t.Context(), uid); err == nil {
			t.Fatalf("%+v", o)
		}
	})
}

func TestLiveRefuses(t *testing.T) {
	dsn := pgtest.Server(t, logical).DSN()
	d := open(t, dsn)
	d.do(t, `CREATE ROLE nobody LOGIN PASSWORD 'x'; CREATE ROLE follower LOGIN REPLICATION PASSWORD 'x'; GRANT SELECT ON orders TO follower`)
	as := func(user string) string {
		at := strings.Index(dsn, "@")
		return "postgres://" + user + ":x" + dsn[at:]
	}
	plain := pgtest.Database(t)
	open(t, plain)
	refused := func(dsn, want string) {
		t.Helper()
		l, err := NewLive(d, LiveOptions{DSN: dsn})
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want something of %s", err, want)
		}
	}
	refused(plain, "wal_level = logical")
	refused(as("nobody"), "ALTER ROLE")
	refused(as("follower"), "CREATE PUBLICATION orders_cache FOR TABLE orders (uid)")
	d.do(t, `CREATE PUBLICATION orders_cache FOR TABLE orders (uid) WITH (publish = 'insert')`)
	refused(as("follower"), "DROP PUBLICATION")
	d.do(t, `DROP PUBLICATION orders_cache; CREATE PUBLICATION orders_cache FOR TABLE orders (uid)`)
	uid := d.inserted(t, 1)[0]
	hit(t, live(t, d, as("follower"), patient), uid)
	d.do(t, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
	d.do(t, `ALTER SYSTEM SET synchronous_commit = 'local'`)
	d.do(t, `SELECT pg_reload_conf()`)
	for {
		var names string
		if err := d.QueryRow(t.Context(), `SELECT current_setting('synchronous_standby_names')`).Scan(&names); err != nil {
			t.Fatal(err)
		}
		if names == "*" {
			break
		}
	}
	refused(dsn, "synchronous_standby_names")
}

// TestLiveManyOpen: many gateways begin at once.
func TestLiveManyOpen(t *testing.T) {
	dsn := pgtest.Server(t, logical).DSN()
	d := open(t, dsn)
	uid := d.inserted(t, 1)[0]
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			l, err := NewLive(d, LiveOptions{DSN: dsn, Patience: patient})
			if err != nil {
				t.Error(err)
				return
			}
			hit(t, l, uid)
			l.Close()
		})
	}
	all.Wait()
}

// hunt has writers and readers at few orders, while disturb does what it does, and fails on an answer that lacks
// a commit which was acknowledged before the read began.
func hunt(t *testing.T, d database, l *Live, reads int, disturb func(ctx context.Context)) {
	t.Helper()
	uids := d.inserted(t, 8)
	acknowledged := make(map[int64]*atomic.Int64)
	for _, uid := range uids {
		acknowledged[uid] = new(atomic.Int64)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var writers, readers sync.WaitGroup
	var written atomic.Int64
	for w := range 3 {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(w)))
			for ctx.Err() == nil {
				uid := uids[r.IntN(len(uids))]
				v, err := fill(ctx, d, uid)
				if err != nil {
					continue // the server is away
				}
				written.Add(1)
				for old := acknowledged[uid].Load(); old < v && !acknowledged[uid].CompareAndSwap(old, v); old = acknowledged[uid].Load() {
				}
				pause(ctx, time.Duration(r.IntN(8))*time.Millisecond)
			}
		})
	}
	writers.Go(func() { disturb(ctx) })
	for i := range 6 {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(3, uint64(i)))
			for n := 0; n < reads; {
				uid := uids[r.IntN(len(uids))]
				at := acknowledged[uid].Load()
				o, err := l.Order(ctx, uid)
				if err != nil {
					pause(ctx, time.Millisecond)
					continue
				}
				n++
				if o.Version < at || o.UID != uid {
					t.Errorf("order %d: version %d, and %d was acknowledged before the read began", uid, o.Version, at)
					return
				}
			}
		})
	}
	readers.Wait()
	cancel()
	writers.Wait()
	s := l.Stats()
	t.Logf("%d writes, %d reads: %+v", written.Load(), 6*reads, s)
	if s.Hits == 0 || written.Load() == 0 {
		t.Errorf("nothing was tried: %+v", s)
	}
}

func TestLiveIsFreshWhileFeedsDie(t *testing.T) {
	dsn := pgtest.Server(t, logical).DSN()
	d := open(t, dsn)
	for _, patience := range []time.Duration{0, 20 * time.Millisecond} {
		t.Run(fmt.Sprint(patience), func(t *testing.T) {
			l := live(t, d, dsn, patience)
			hunt(t, d, l, 3000, func(ctx context.Context) {
				for ctx.Err() == nil {
					d.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'orders_cache'
						AND (backend_type = 'walsender' OR random() < 0.3)`)
					pause(ctx, 300*time.Millisecond)
				}
			})
		})
	}
}

func TestLiveIsFreshWhileTheServerDies(t *testing.T) {
	pg := pgtest.Server(t, logical)
	d := open(t, pg.DSN())
	l := live(t, d, pg.DSN(), 20*time.Millisecond)
	hunt(t, d, l, 3000, func(ctx context.Context) {
		for range 2 {
			pause(ctx, 300*time.Millisecond)
			if err := pg.Kill(); err != nil {
				t.Error(err)
			}
			if err := pg.Restart(context.WithoutCancel(ctx)); err != nil {
				t.Error(err)
			}
		}
	})
}
