package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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
		hit(t, l, uid)
		for range 3 {
			before := l.Stats()
			d.do(t, `SELECT pg_switch_wal()`)
			version(t, l, uid)
			if after := l.Stats(); after.Hits == before.Hits {
				t.Errorf("the feed did not come to the end of the log: %+v", after)
			}
			d.do(t, `CREATE TABLE IF NOT EXISTS unrelated (n int)`)
			d.do(t, `INSERT INTO unrelated VALUES (1)`) // else there is nothing to switch
		}
	})
	t.Run("a publication that is dropped", func(t *testing.T) {
		hit(t, l, uid)
		d.do(t, `DROP PUBLICATION orders_cache`)
		want, err := fill(t.Context(), d, uid)
		if err != nil {
			t.Fatal(err)
		}
		if got := version(t, l, uid); got != want {
			t.Fatalf("version %d, and %d is committed", got, want)
		}
		hit(t, l, uid) // it was made again
	})
	t.Run("a change of the table's definition", func(t *testing.T) {
		hit(t, l, uid)
		before := l.Stats().Reconnects
		// It rewrites the table, and no row changes as the feed sees it.
		d.do(t, `ALTER TABLE orders ALTER symbol TYPE text USING symbol || 'X'`)
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
	plain := pgtest.Server(t, map[string]string{"wal_level": "replica"}).DSN()
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
	d.standbys(t, "*")
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

// hunt has writers and readers at few orders, disturbs them, again after each 300 answers from memory, and fails on
// an answer that lacks a commit which was acknowledged before the read began.
func hunt(t *testing.T, d database, l *Live, times int, disturb func()) {
	t.Helper()
	uids := d.inserted(t, 8)
	acknowledged := make(map[int64]*atomic.Int64)
	for _, uid := range uids {
		acknowledged[uid] = new(atomic.Int64)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	var written, read atomic.Int64
	for w := range 3 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(w)))
			for ctx.Err() == nil {
				uid := uids[r.IntN(len(uids))]
				if v, err := fill(ctx, d, uid); err == nil { // else the server is away
					written.Add(1)
					raise(acknowledged[uid], v)
				}
				pause(ctx, time.Duration(r.IntN(8))*time.Millisecond)
			}
		})
	}
	for i := range 6 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(3, uint64(i)))
			for ctx.Err() == nil {
				uid := uids[r.IntN(len(uids))]
				at := acknowledged[uid].Load()
				o, err := l.Order(ctx, uid)
				if err != nil {
					pause(ctx, time.Millisecond)
					continue
				}
				read.Add(1)
				if o.Version < at || o.UID != uid {
					t.Errorf("order %d: version %d, and %d was acknowledged before the read began", o.UID, o.Version, at)
					cancel()
				}
			}
		})
	}
	for i := 0; i <= times && ctx.Err() == nil; i++ {
		for until := l.Stats().Hits + 300; l.Stats().Hits < until && pause(ctx, time.Millisecond) == nil; {
		}
		if i < times {
			disturb()
		}
	}
	cancel()
	all.Wait()
	t.Logf("%d writes, %d reads: %+v", written.Load(), read.Load(), l.Stats())
	if written.Load() == 0 {
		t.Error("nothing was written")
	}
}

func raise(to *atomic.Int64, v int64) {
	for old := to.Load(); old < v && !to.CompareAndSwap(old, v); old = to.Load() {
	}
}

func TestLiveIsFreshWhileFeedsDie(t *testing.T) {
	dsn := pgtest.Server(t, logical).DSN()
	d := open(t, dsn)
	for _, patience := range []time.Duration{0, 20 * time.Millisecond} {
		t.Run(fmt.Sprint(patience), func(t *testing.T) {
			l := live(t, d, dsn, patience)
			hunt(t, d, l, 8, func() {
				before := l.Stats().Reconnects
				d.do(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'orders_cache'
					AND (backend_type = 'walsender' OR random() < 0.3)`)
				for l.Stats().Reconnects == before && pause(t.Context(), time.Millisecond) == nil {
				}
			})
		})
	}
}

func TestLiveIsFreshWhileTheServerDies(t *testing.T) {
	pg := pgtest.Server(t, logical)
	d := open(t, pg.DSN())
	l := live(t, d, pg.DSN(), 20*time.Millisecond)
	hunt(t, d, l, 2, func() {
		if err := pg.Kill(); err != nil {
			t.Error(err)
		}
		if err := pg.Restart(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// TestLiveBypassesAFeedThatLags: the process that sends the changes stands still, and the primary goes on.
func TestLiveBypassesAFeedThatLags(t *testing.T) {
	dsn := pgtest.Server(t, logical).DSN()
	d := open(t, dsn)
	uid := d.inserted(t, 1)[0]
	l := live(t, d, dsn, 20*time.Millisecond)
	for range 5 {
		hit(t, l, uid)
		var sender int
		err := d.QueryRow(t.Context(), `SELECT pid FROM pg_stat_activity WHERE application_name = 'orders_cache' AND backend_type = 'walsender'`).Scan(&sender)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(sender, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		want, err := fill(t.Context(), d, uid)
		got := version(t, l, uid)
		if e := syscall.Kill(sender, syscall.SIGCONT); e != nil {
			t.Fatal(e)
		}
		if err != nil || got != want {
			t.Fatalf("version %d, and %d is committed: %v", got, want, err)
		}
	}
	if s := l.Stats(); s.Bypasses < 5 {
		t.Errorf("%+v, want 5 bypasses", s)
	}
}

// TestLiveKeepsNothingThatIsToldButNotVisible: a commit that waits for a synchronous standby is in the log, and
// the feed tells of it, while others still see the row as it was before.
func TestLiveKeepsNothingThatIsToldButNotVisible(t *testing.T) {
	dsn := pgtest.Server(t, logical).DSN()
	d := open(t, dsn)
	uid := d.inserted(t, 1)[0]
	l := live(t, d, dsn, patient)
	old := hit(t, l, uid)
	d.standbys(t, "absent")

	acknowledged := make(chan int64)
	go func() {
		v, err := fill(t.Context(), d, uid)
		if err != nil {
			t.Error(err)
		}
		acknowledged <- v
	}()
	for _, there := l.memory.get(uid); there; _, there = l.memory.get(uid) {
		if err := pause(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		if got := version(t, l, uid); got != old.Version {
			t.Fatalf("version %d is visible before it is replicated", got)
		}
	}
	if o, kept := l.memory.get(uid); kept {
		t.Fatalf("%+v is kept, and its next version was told", o)
	}
	d.standbys(t, "")
	want := <-acknowledged
	if got := version(t, l, uid); got != want {
		t.Errorf("version %d, and %d is committed", got, want)
	}
	if got := hit(t, l, uid); got.Version != want {
		t.Errorf("version %d from memory, and %d is committed", got.Version, want)
	}
}

// standbys sets the standbys that commits wait for.
func (d database) standbys(t *testing.T, names string) {
	t.Helper()
	d.do(t, `ALTER SYSTEM SET synchronous_standby_names = '`+names+`'`)
	d.do(t, `SELECT pg_reload_conf()`)
	for got := "?"; got != names; {
		if err := d.QueryRow(t.Context(), `SELECT current_setting('synchronous_standby_names')`).Scan(&got); err != nil {
			t.Fatal(err)
		}
	}
	d.Reset() // other backends may not have been told yet; new ones know
}
