package store

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/services/orders/database"
	"dyno/services/orders/order"

	"pgregory.net/rapid"
)

func TestOrder(t *testing.T) {
	every(t, func(t *testing.T, o Options) {
		s, conn := open(t, o)
		exec(t, conn, `INSERT INTO orders (account, client_order_id, symbol, side, status, price, qty, filled, version, updated_at, digest)
			VALUES ('A.1_x:-y', 'c', 'BRK.B', 2, 2, 1, 9223372036854775807, 7, 3, '2026-01-02 03:04:05.678901+00', sha256('')),
			('`+"ä"+`', 'c', 'X', 3, 4, 0, 1, 0, 1, '1999-12-31 23:59:59.999999+00', sha256(''))`)
		want := []order.Order{
			{UID: 1, Account: "A.1_x:-y", Symbol: "BRK.B", Side: order.Sell, Status: order.PartiallyFilled, Price: 1, Qty: math.MaxInt64,
				Filled: 7, Version: 3, UpdatedAt: time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC)},
			{UID: 2, Account: "ä", Symbol: "X", Side: order.Pay, Status: order.Cancelled, Qty: 1, Version: 1,
				UpdatedAt: time.Date(1999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)},
		}
		for _, w := range want {
			if got, err := s.Order(t.Context(), w.UID); err != nil || got != w {
				t.Errorf("%+v %v, want %+v", got, err, w)
			}
			p, err := s.Orders(t.Context(), order.Filter{Account: w.Account, Limit: 10})
			if err != nil || !slices.Equal(p.Orders, []order.Order{w}) || p.Next != 0 {
				t.Errorf("page %+v %v, want %+v", p, err, w)
			}
		}
		for _, uid := range []int64{3, math.MaxInt64, 0, -1, math.MinInt64} {
			if got, err := s.Order(t.Context(), uid); err != order.ErrNotFound {
				t.Errorf("order %d: %v %v", uid, got, err)
			}
		}
	})
}

// Each of many concurrent queries gets its own order, or that there is none.
func TestOrdersAtOnce(t *testing.T) {
	every(t, func(t *testing.T, o Options) {
		o.MaxBatch = 16
		s, _ := open(t, o)
		if err := database.Seed(t.Context(), s.options.DSNs[0], 500, 7, nil); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for g := range int64(32) {
			all.Go(func() {
				for i := range int64(100) {
					uid := 1 + (g*37+i*11)%600
					got, err := s.Order(t.Context(), uid)
					switch {
					case uid > 500 && err != order.ErrNotFound:
						t.Errorf("order %d: %v %v", uid, got, err)
					case uid <= 500 && (err != nil || got.UID != uid || got.Account != order.SeedAccount(uid, 7)):
						t.Errorf("order %d: %v %v", uid, got, err)
					}
				}
			})
		}
		all.Wait()
		if st := s.Stats(); o.Lookup == "batch" && (st.Batch.Fetches >= st.Batch.Keys || st.Batch.Calls != 3200) {
			t.Errorf("nothing was fetched together: %+v", st.Batch)
		}
	})
}

// Page after page gives what a filter over all orders gives.
func TestPages(t *testing.T) {
	every(t, func(t *testing.T, o Options) {
		s, conn := open(t, o)
		if err := database.Seed(t.Context(), s.options.DSNs[0], 300, 4, nil); err != nil {
			t.Fatal(err)
		}
		rows, err := conn.Query(t.Context(), "SELECT uid FROM orders ORDER BY uid DESC")
		if err != nil {
			t.Fatal(err)
		}
		var all []order.Order
		for rows.Next() {
			var uid int64
			if err := rows.Scan(&uid); err != nil {
				t.Fatal(err)
			}
			row, err := s.Order(t.Context(), uid)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, row)
		}
		rapid.Check(t, func(r *rapid.T) {
			f := order.Filter{
				Account: rapid.SampledFrom([]string{"A1", "A2", "A4", "A5", ""}).Draw(r, "account"),
				Status:  order.Status(rapid.IntRange(0, 4).Draw(r, "status")),
				Before:  rapid.Int64Range(0, 310).Draw(r, "before"),
				Limit:   rapid.IntRange(1, 90).Draw(r, "limit"),
			}
			want := slices.DeleteFunc(slices.Clone(all), func(o order.Order) bool {
				return o.Account != f.Account || f.Status != 0 && o.Status != f.Status || f.Before != 0 && o.UID >= f.Before
			})
			for {
				p, err := s.Orders(t.Context(), f)
				if err != nil {
					r.Fatal(err)
				}
				n := min(f.Limit, len(want))
				if !slices.Equal(p.Orders, want[:n]) {
					r.Fatalf("%+v: %v, want %v", f, p.Orders, want[:n])
				}
				want = want[n:]
				if p.Next == 0 || len(want) == 0 {
					if p.Next != 0 || len(want) != 0 {
						r.Fatalf("%+v: next is %d and %d are missing", f, p.Next, len(want))
					}
					return
				}
				f.Before = p.Next
			}
		})
	})
}

// A read that begins after a commit was acknowledged sees it, whatever is under way.
func TestFresh(t *testing.T) {
	every(t, func(t *testing.T, o Options) {
		s, conn := open(t, o)
		made := submit(t, s, "A1", buy(1))
		ctx, stop := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		for range 8 {
			readers.Go(func() {
				for ctx.Err() == nil {
					if _, err := s.Order(ctx, made.UID); err != nil && !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				}
			})
		}
		for version := int64(2); version <= 200; version++ {
			exec(t, conn, "UPDATE orders SET price = price + 1 WHERE uid = $1", made.UID)
			got, err := s.Order(t.Context(), made.UID)
			if err != nil || got.Version != version {
				t.Fatalf("version %d after %d was committed: %v", got.Version, version, err)
			}
			p, err := s.Orders(t.Context(), order.Filter{Account: "A1", Limit: 1})
			if err != nil || len(p.Orders) != 1 || p.Orders[0] != got {
				t.Fatalf("the page has %v after %v: %v", p, got, err)
			}
		}
		stop()
		readers.Wait()
	})
}

// A row that no caller asked for is dropped: here the database thinks that all numbers are equal.
func TestUnasked(t *testing.T) {
	for _, name := range Drivers() {
		t.Run(name, func(t *testing.T) {
			s, conn := open(t, Options{Driver: name})
			made := submit(t, s, "A1", buy(1))
			submit(t, s, "A2", buy(2))
			exec(t, conn, `CREATE SCHEMA odd`)
			exec(t, conn, `CREATE FUNCTION odd.yes(bigint, bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true'`)
			exec(t, conn, `CREATE OPERATOR odd.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = odd.yes)`)
			exec(t, conn, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = odd, pg_catalog, public', current_database()); END $$`)
			d, err := newBackend(t.Context(), s.options.DSNs[0], database.Primary, s.options)
			if err != nil {
				t.Fatal(err)
			}
			defer d.close()
			if got, err := d.lookup.order(t.Context(), made.UID); err == nil || !strings.Contains(err.Error(), "not asked for") {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
}
