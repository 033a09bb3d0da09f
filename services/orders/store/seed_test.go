package store

import (
	"testing"

	"dyno/services/orders/database"
	"dyno/services/orders/order"
)

func TestSeed(t *testing.T) {
	s, conn := open(t, Options{})
	const rows, accounts = 20_000, 300
	var steps []int
	if err := database.Seed(t.Context(), s.options.DSNs[0], rows, accounts, func(done int) { steps = append(steps, done) }); err != nil {
		t.Fatal(err)
	}
	if len(steps) != 2 || steps[1] != rows {
		t.Errorf("progress %v", steps)
	}
	for _, i := range []int64{1, 299, 300, 301, rows} {
		if got, err := s.Order(t.Context(), i); err != nil || got.Account != order.SeedAccount(i, accounts) {
			t.Errorf("%d: %v %v, want it to be of %s", i, got, err, order.SeedAccount(i, accounts))
		}
	}
	for status, percent := range map[order.Status]int{order.New: 70, order.PartiallyFilled: 10, order.Filled: 15, order.Cancelled: 5} {
		n := get[int](t, conn, "SELECT count(*) FROM orders WHERE status = $1", status)
		if want := rows * percent / 100; n < want*9/10 || n > want*11/10 {
			t.Errorf("%d are %v, want about %d", n, status, want)
		}
	}
	for column, least := range map[string]int{"symbol": 16, "side": 2, "price": 1000, "qty": 500, "version": 4} {
		if n := get[int](t, conn, "SELECT count(DISTINCT "+column+") FROM orders"); n < least {
			t.Errorf("%d values of %s", n, column)
		}
	}
	if n := get[int](t, conn, `SELECT count(*) FROM orders WHERE filled <> CASE status WHEN 2 THEN qty / 2 WHEN 3 THEN qty ELSE 0 END OR (version = 1) <> (status = 1)`); n != 0 {
		t.Errorf("%d do not agree with their status", n)
	}

	// It is known as if a client had submitted it.
	first, err := s.Order(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Submit(t.Context(), "A1", &order.Submission{ClientOrderID: "seed-1", Symbol: first.Symbol, Side: first.Side, Price: first.Price, Qty: first.Qty})
	if err != nil || !r.Duplicate || r.Order != first {
		t.Errorf("%+v %v", r, err)
	}

	// More go on after it, also when others came between. They are the same in any database.
	if err := database.Seed(t.Context(), s.options.DSNs[0], 100, accounts, nil); err != nil {
		t.Fatal(err)
	}
	if last := get[string](t, conn, "SELECT client_order_id FROM orders ORDER BY uid DESC LIMIT 1"); last != "seed-20100" {
		t.Errorf("the last is %s", last)
	}
	other, _ := open(t, Options{})
	if err := database.Seed(t.Context(), other.options.DSNs[0], 1, accounts, nil); err != nil {
		t.Fatal(err)
	}
	if same, err := other.Order(t.Context(), 1); err != nil || same != first {
		t.Errorf("%v %v, want %v", same, err, first)
	}
}
