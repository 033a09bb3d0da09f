package database

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"dyno/services/orders/order"
	"dyno/services/orders/pgtest"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// connect returns a connection to a database.
func connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func get[T any](t testing.TB, conn *pgx.Conn, sql string) (v T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func TestMigrateAtOnce(t *testing.T) {
	dsn := pgtest.Database(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := Migrate(t.Context(), dsn, 0, 1); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	if n := get[int](t, connect(t, dsn), "SELECT count(*) FROM migrations"); n != len(steps) {
		t.Errorf("%d migrations recorded, want %d", n, len(steps))
	}
}

func TestMigrateRefuses(t *testing.T) {
	dsn := pgtest.Database(t)
	if err := Migrate(t.Context(), dsn, 1, 3); err != nil {
		t.Fatal(err)
	}
	err := Migrate(t.Context(), dsn, 0, 3)
	if err == nil || !strings.Contains(err.Error(), "it is shard 1/3 of its set and is given as 0/3") {
		t.Error(err)
	}
	get[int](t, connect(t, dsn), "INSERT INTO migrations (version, name) VALUES (99, 'of the future') RETURNING version")
	if err := Migrate(t.Context(), dsn, 1, 3); err == nil || !strings.Contains(err.Error(), "use the newer program") {
		t.Error(err)
	}
}

func TestSeedRefuses(t *testing.T) {
	dsn := pgtest.Database(t)
	if err := Seed(t.Context(), dsn, 1, 1, nil); err == nil || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("without a schema: %v", err)
	}
	if err := Migrate(t.Context(), dsn, 0, 1); err != nil {
		t.Fatal(err)
	}
	for _, n := range [][2]int{{-1, 1}, {1, 0}} {
		if err := Seed(t.Context(), dsn, n[0], n[1], nil); err == nil {
			t.Errorf("%d rows for %d accounts", n[0], n[1])
		}
	}
	if err := Seed(t.Context(), "postgres://a@127.0.0.1:1/db?sslmode=disable", 1, 1, nil); !errors.Is(err, order.ErrUnavailable) {
		t.Error(err)
	}
}

func TestPrepare(t *testing.T) {
	dsn := pgtest.Database(t)
	for _, rows := range []int{10, 10, 5, 25} {
		if err := Prepare(t.Context(), dsn, rows, 3); err != nil {
			t.Fatal(err)
		}
	}
	conn := connect(t, dsn)
	if n, last := get[int](t, conn, "SELECT count(*) FROM orders"), get[int](t, conn, "SELECT max(uid) FROM orders"); n != 25 || last != 25 {
		t.Errorf("%d orders up to %d", n, last)
	}
}
