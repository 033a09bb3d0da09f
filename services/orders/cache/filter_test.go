package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dyno/parts/postgres/pgtest"
	"dyno/parts/servicetest"
	"dyno/services/orders/order"

	"pgregory.net/rapid"
)

// still returns a filter that loads new orders only when round is called.
func still(t *testing.T, next Source, dsn string) *Filter {
	t.Helper()
	f, err := NewFilter(next, FilterOptions{DSN: dsn, Every: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	f.known.Store(&known{})
	return f
}

func round(t *testing.T, f *Filter) {
	t.Helper()
	if err := f.round(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestKnown: no existing uid is reported missing, few nonexistent ones are passed on, and sharing
// does not change an older set.
func TestKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exists := make(map[int64]bool)
		k := &known{}
		var older []*known
		for range rapid.IntRange(1, 5).Draw(t, "extensions") {
			var uids []int64
			watermark := k.watermark + rapid.Int64Range(1, 300).Draw(t, "more")
			for uid := k.watermark + 1; uid <= watermark; uid++ {
				if rapid.Bool().Draw(t, "exists") {
					uids = append(uids, uid)
					exists[uid] = true
				}
			}
			older = append(older, k)
			k = k.extend(uids, watermark)
		}
		for _, set := range append(older, k) {
			for uid := int64(-1); uid <= k.watermark+2; uid++ {
				if set.lacks(uid) && (exists[uid] || uid > set.watermark || uid <= 0) {
					t.Fatalf("%d is reported missing in a set up to %d", uid, set.watermark)
				}
			}
		}
	})
}

func TestKnownGrowsAtItsRate(t *testing.T) {
	const rows = 2*segmentRows + 1000
	k := &known{}
	for from := int64(0); from < rows; from += loadRows {
		var uids []int64
		for i := from; i < min(from+loadRows, rows); i++ {
			uids = append(uids, 2*i+1)
		}
		k = k.extend(uids, uids[len(uids)-1])
	}
	if len(k.segments) != 3 || k.rows != rows || k.bytes() != 3*segmentBytes {
		t.Fatalf("%d rows in %d segments of %d bytes", k.rows, len(k.segments), k.bytes())
	}
	wrong := 0
	for i := range int64(rows) {
		if k.lacks(2*i + 1) {
			t.Fatalf("%d lacks", 2*i+1)
		}
		if i > 0 && !k.lacks(2*i) {
			wrong++
		}
	}
	if rate := float64(wrong) / rows; rate > 1.2*falsePositives {
		t.Errorf("%.2f%% of what does not exist is asked for", 100*rate)
	}
	if n := testing.AllocsPerRun(100, func() { k.lacks(1000) }); n != 0 {
		t.Errorf("a look takes %v allocations", n)
	}
}

func TestFilter(t *testing.T) {
	dsn := pgtest.Database(t)
	d := open(t, dsn)
	uids := d.inserted(t, 3)
	aborted := d.begin(t)
	hole, err := insert(t.Context(), aborted, "aborted")
	if err != nil {
		t.Fatal(err)
	}
	if err := aborted.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := &counted{Source: d}
	f := still(t, next, dsn)
	round(t, f)
	if s := f.known.Load(); s.watermark != hole || s.rows != 3 {
		t.Fatalf("watermark %d, want the watermark at %d and 3 orders", s.watermark, hole)
	}
	for _, uid := range append(uids, d.inserted2(t)) {
		if o, err := f.Order(t.Context(), uid); err != nil || o.UID != uid {
			t.Errorf("order %d: %+v %v", uid, o, err)
		}
	}
	if _, err := f.Order(t.Context(), hole); !errors.Is(err, order.ErrNotFound) {
		t.Error(err)
	}
	if _, err := f.Order(t.Context(), hole+1000); !errors.Is(err, order.ErrNotFound) {
		t.Error(err)
	}
	if n := next.asked.Load(); n != 5 {
		t.Errorf("the database was asked %d times, want 5: for each of the 6 uids but the hole", n)
	}
}

// counted is a Source that counts its calls.
type counted struct {
	Source
	asked atomic.Int64
}

func (c *counted) Order(ctx context.Context, uid int64) (order.Order, error) {
	c.asked.Add(1)
	return c.Source.Order(ctx, uid)
}

func (d database) inserted2(t *testing.T) int64 {
	uid, err := insert(t.Context(), d, "later")
	if err != nil {
		t.Fatal(err)
	}
	return uid
}

// TestFilterWaitsForOpenTransactions: a uid taken by an open transaction is not decided although
// higher ones are committed, even if it was taken in a savepoint.
func TestFilterWaitsForOpenTransactions(t *testing.T) {
	dsn := pgtest.Database(t)
	d := open(t, dsn)
	d.inserted(t, 2)
	open := d.begin(t)
	nested, err := open.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	late, err := insert(t.Context(), nested, "late")
	if err != nil {
		t.Fatal(err)
	}
	if err := nested.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	above := d.inserted2(t)

	f := still(t, d, dsn)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := f.round(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a round ended in spite of an open transaction: %v", err)
	}
	if s := f.known.Load(); s.watermark != 0 {
		t.Fatalf("watermark %d while uid %d is open", s.watermark, late)
	}
	ended := make(chan error, 1)
	go func() { ended <- f.round(t.Context()) }()
	// A later INSERT does not wait for the round.
	if _, err := insert(t.Context(), d, "later still"); err != nil {
		t.Fatal(err)
	}
	if err := open.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if s := f.known.Load(); s.watermark < above {
		t.Errorf("watermark %d, want a watermark of %d or above", s.watermark, above)
	}
	if o, err := f.Order(t.Context(), late); err != nil || o.UID != late {
		t.Errorf("%+v %v", o, err)
	}
}

// TestFilterNeverDeniesAnOrder searches for wrong answers: writers commit and roll back, slowly and
// fast, while the filter follows as fast as it can.
func TestFilterNeverDeniesAnOrder(t *testing.T) {
	dsn := pgtest.Database(t)
	d := open(t, dsn)
	next := &counted{Source: d}
	f := still(t, next, dsn)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var follower sync.WaitGroup
	follower.Go(func() {
		for ctx.Err() == nil {
			if err := f.round(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	var writers sync.WaitGroup
	holes := make(chan int64, 1<<12)
	for w := range 4 {
		writers.Go(func() { writeAndLook(t, d, f, w, holes) })
	}
	writers.Wait()
	cancel()
	follower.Wait()
	round(t, f)
	close(holes)
	n, before := int64(0), next.asked.Load()
	for uid := range holes {
		n++
		if o, err := f.Order(t.Context(), uid); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("uid %d was rolled back: %+v %v", uid, o, err)
		}
	}
	if denied := n - (next.asked.Load() - before); n == 0 || denied < n*9/10 {
		t.Errorf("%d of %d holes were answered without asking", denied, n)
	}
}

func writeAndLook(t *testing.T, d database, f *Filter, w int, holes chan<- int64) {
	r := rand.New(rand.NewPCG(1, uint64(w)))
	for i := range 150 {
		tx := d.begin(t)
		var made []int64
		for j := range 1 + r.IntN(4) {
			uid, err := insert(t.Context(), tx, fmt.Sprintf("%d-%d-%d", w, i, j))
			if err != nil {
				t.Error(err)
				return
			}
			made = append(made, uid)
			for range r.IntN(3) {
				f.known.Load().lacks(uid) // the result does not matter at this point
			}
		}
		if r.IntN(3) == 0 {
			if err := tx.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
			for _, uid := range made {
				holes <- uid
			}
			continue
		}
		if r.IntN(10) == 0 {
			if _, err := tx.Exec(t.Context(), `SELECT pg_sleep(0.02)`); err != nil {
				t.Error(err)
			}
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Error(err)
		}
		for _, uid := range made {
			if _, err := f.Order(t.Context(), uid); err != nil {
				t.Errorf("order %d is committed: %v", uid, err)
			}
		}
	}
}

// TestFilterStartsOver: when the sequence was set back, the known orders are dropped.
func TestFilterStartsOver(t *testing.T) {
	dsn := pgtest.Database(t)
	d := open(t, dsn)
	d.inserted(t, 5)
	f := still(t, d, dsn)
	round(t, f)
	d.do(t, `ALTER TABLE orders DISABLE TRIGGER keep; TRUNCATE orders RESTART IDENTITY`)
	uid := d.inserted2(t)
	round(t, f)
	if s := f.known.Load(); s.watermark != uid || s.rows != 1 {
		t.Errorf("watermark %d, want the watermark at %d and one order", s.watermark, uid)
	}
}

func TestFilterKeepsToItsMemory(t *testing.T) {
	dsn := pgtest.Database(t)
	d := open(t, dsn)
	uids := d.inserted(t, 3)
	f := still(t, d, dsn)
	f.o.Memory = segmentBytes - 1
	round(t, f)
	if s := f.known.Load(); s.watermark != 0 || s.bytes() != 0 {
		t.Errorf("watermark %d with less memory than one segment takes", s.watermark)
	}
	if _, err := f.Order(t.Context(), uids[0]); err != nil {
		t.Error(err)
	}
}

func TestFilterRefusesOtherUIDs(t *testing.T) {
	for change, want := range map[string]string{
		`ALTER TABLE orders ALTER uid SET GENERATED BY DEFAULT`: "SET GENERATED ALWAYS",
		`ALTER TABLE orders ALTER uid SET CACHE 32`:             "CACHE 1",
		`ALTER TABLE orders ALTER uid SET CYCLE`:                "NO CYCLE",
		`ALTER TABLE orders ALTER uid DROP IDENTITY`:            "GENERATED ALWAYS AS IDENTITY",
	} {
		dsn := pgtest.Database(t)
		d := open(t, dsn)
		d.inserted(t, 1)
		f := still(t, d, dsn)
		round(t, f)
		d.do(t, change)
		if err := f.round(t.Context()); !errors.Is(err, errRules) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", change, err)
		}
		if s := f.known.Load(); s.watermark != 0 {
			t.Errorf("%s: it still answers: watermark %d", change, s.watermark)
		}
		if _, err := NewFilter(d, FilterOptions{DSN: dsn}); !errors.Is(err, errRules) {
			t.Errorf("%s: %v", change, err)
		}
	}
	if _, err := NewFilter(nil, FilterOptions{DSN: "postgres://127.0.0.1:1/orders"}); err == nil {
		t.Error("a filter over no database")
	}
}

// TestFilterFollowsByItself: the goroutine loads existing and later orders.
func TestFilterFollowsByItself(t *testing.T) {
	dsn := pgtest.Database(t)
	d := open(t, dsn)
	d.inserted(t, 2)
	f, err := NewFilter(d, FilterOptions{DSN: dsn, Every: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, want := range []int{2, 3} {
		if want == 3 {
			d.inserted2(t)
		}
		servicetest.Await(t, func() string { return fmt.Sprint(want, " orders") }, func() bool { return f.known.Load().rows == want })
	}
}
