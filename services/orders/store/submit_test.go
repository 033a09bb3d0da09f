package store

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dyno/services/orders/order"
)

func TestSubmit(t *testing.T) {
	every(t, func(t *testing.T, o Options) {
		s, conn := open(t, o)
		start := time.Now().Add(-time.Minute)
		m := buy(1)
		made := submit(t, s, "A1", m)
		want := order.Order{UID: 1, Account: "A1", Symbol: "ACME", Side: order.Buy, Status: order.New, Price: m.Price, Qty: m.Qty, Version: 1, UpdatedAt: made.UpdatedAt}
		if made != want || made.UpdatedAt.Before(start) {
			t.Fatalf("made %+v, want %+v", made, want)
		}
		if got, err := s.Order(t.Context(), 1); err != nil || got != made {
			t.Errorf("%+v %v, want %+v", got, err, made)
		}

		// Once more, in another format: the same order, as it is now.
		exec(t, conn, "UPDATE orders SET status = 2, filled = 5")
		again := *m
		again.Kind, again.Message = order.FIX, []byte("8=FIX.4.4")
		r, err := s.Submit(t.Context(), "A1", &again)
		if err != nil || !r.Duplicate || r.Order.UID != 1 || r.Order.Status != order.PartiallyFilled || r.Order.Version != 2 {
			t.Errorf("once more: %+v %v", r, err)
		}

		// What differs is refused; another account's is another order.
		for name, change := range map[string]func(*order.Submission){
			"symbol": func(m *order.Submission) { m.Symbol = "ACMF" },
			"side":   func(m *order.Submission) { m.Side = order.Sell },
			"price":  func(m *order.Submission) { m.Price++ },
			"qty":    func(m *order.Submission) { m.Qty++ },
		} {
			other := *m
			change(&other)
			if r, err := s.Submit(t.Context(), "A1", &other); !errors.Is(err, order.ErrConflict) {
				t.Errorf("another %s: %+v %v", name, r, err)
			}
		}
		if other := submit(t, s, "A2", m); other.UID == made.UID || other.Account != "A2" {
			t.Errorf("another account's: %+v", other)
		}

		// The audit has what made orders, as it came, and nothing else.
		got := get[string](t, conn, `SELECT string_agg(concat_ws(' ', uid = 1, account, kind, client_order_id, convert_from(message, 'UTF8')), '; ' ORDER BY id) FROM audit`)
		if want := `t A1 1 buy-1 {"n":1}; f A2 1 buy-1 {"n":1}`; got != want {
			t.Errorf("audit %s, want %s", got, want)
		}
	})
}

// Without its audit record there is no order.
func TestSubmitIsOneTransaction(t *testing.T) {
	every(t, func(t *testing.T, o Options) {
		s, conn := open(t, o)
		exec(t, conn, "ALTER TABLE audit ADD CONSTRAINT never CHECK (kind <> 1)")
		if r, err := s.Submit(t.Context(), "A1", buy(1)); err == nil || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%+v %v", r, err)
		}
		if n := get[int](t, conn, "SELECT count(*) FROM orders"); n != 0 {
			t.Errorf("%d orders without audit", n)
		}
	})
}

func TestSubmitAtOnce(t *testing.T) {
	every(t, func(t *testing.T, o Options) {
		s, conn := open(t, o)
		const ids, each = 20, 8
		var made, conflicts atomic.Int64
		var all sync.WaitGroup
		for id := range ids {
			var uid atomic.Int64
			for g := range each {
				all.Go(func() {
					m := buy(id)
					if g == 0 {
						m.Qty++ // either this one wins, or the others do
					}
					r, err := s.Submit(t.Context(), "A1", m)
					switch {
					case errors.Is(err, order.ErrConflict):
						conflicts.Add(1)
						return
					case err != nil:
						t.Error(err)
						return
					case !r.Duplicate:
						made.Add(1)
					}
					if before := uid.Swap(r.Order.UID); before != 0 && before != r.Order.UID {
						t.Errorf("%s made the orders %d and %d", m.ClientOrderID, before, r.Order.UID)
					}
				})
			}
		}
		all.Wait()
		if made.Load() != ids || conflicts.Load() < ids {
			t.Errorf("%d made and %d conflicts, of %d ids", made.Load(), conflicts.Load(), ids)
		}
		for _, table := range []string{"orders", "audit"} {
			if n := get[int](t, conn, "SELECT count(*) FROM "+table); n != ids {
				t.Errorf("%d rows in %s, want %d", n, table, ids)
			}
		}
	})
}
