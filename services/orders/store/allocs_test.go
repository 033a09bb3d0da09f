package store

import (
	"context"
	"errors"
	"testing"

	"dyno/services/orders/batcher"
	"dyno/services/orders/database"
	"dyno/services/orders/order"
	"dyno/services/orders/pgtest"
)

// A fetch allocates the texts of each row, and little else.
func TestFetchAllocates(t *testing.T) {
	dsn := pgtest.Database(t)
	if err := errors.Join(database.Migrate(t.Context(), dsn, 0, 1), database.Seed(t.Context(), dsn, 1000, 1000, nil)); err != nil {
		t.Fatal(err)
	}
	s, _ := open(t, Options{DSNs: []string{dsn}})
	uids, answers := make([]int64, 100), make([]batcher.Answer[order.Order], 100)
	for i := range uids {
		uids[i] = int64(10 * (i + 1))
	}
	d := s.shards[0].driver
	fetch := func() {
		if err := d.Fetch(context.Background(), uids, answers); err != nil {
			t.Fatal(err)
		}
	}
	fetch()
	for i, a := range answers {
		if !a.Found || a.Value.UID != uids[i] {
			t.Fatalf("%+v, want order %d", a, uids[i])
		}
	}
	if n := testing.AllocsPerRun(100, fetch); n > float64(len(uids))+12 {
		t.Errorf("%v allocations for %d rows", n, len(uids))
	}
}
