package store

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"dyno/parts/assembly"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
	"dyno/services/orders/database"
	"dyno/services/orders/order"
	"dyno/services/orders/pgtest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "4") // as many as every runs: they wait for locks and time-outs more than they compute
	pgtest.Main(m)
}

// migrated has the tables: those who test how they are made begin with an empty database.
var migrated = pgtest.NewTemplate(func(t testing.TB, dsn string) {
	if err := database.Migrate(t.Context(), dsn, 0, 1); err != nil {
		t.Fatal(err)
	}
})

// Drivers names the drivers there are.
func Drivers() []string { return slices.Sorted(maps.Keys(drivers)) }

// Lookups names the lookups there are.
func Lookups() []string { return slices.Sorted(maps.Keys(lookups)) }

// every runs a test for every driver and lookup concurrently: to callers they are one store.
func every(t *testing.T, test func(t *testing.T, o Options)) {
	inTurn(t, func(t *testing.T, o Options) {
		t.Parallel()
		test(t, o)
	})
}

// inTurn runs a test for every driver and lookup, one after the other; in the quick form for two
// pairs, in which each occurs.
func inTurn(t *testing.T, test func(t *testing.T, o Options)) {
	for _, name := range Drivers() {
		for _, lookup := range Lookups() {
			if !quicktest.All() && (name == "sql") != (lookup == "single") {
				continue
			}
			t.Run(name+"/"+lookup, func(t *testing.T) { test(t, Options{Driver: name, Lookup: lookup}) })
		}
	}
}

// open opens a store on a database without orders unless o names one. Time-outs are long unless
// they are what is tested.
func open(t testing.TB, o Options) (*Store, *pgx.Conn) {
	t.Helper()
	if o.DSNs == nil {
		o.DSNs = []string{migrated.Database(t)}
	}
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	s, err := Open(t.Context(), completed(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, connect(t, o.DSNs[0])
}

// completed gives what a test leaves out the tags' defaults, the tuned assembly's seams and no log.
func completed(o Options) Options {
	d := assembly.Defaults[Options]()
	for _, n := range [][2]*int{{&o.Reads, &d.Reads}, {&o.Lists, &d.Lists}, {&o.Writes, &d.Writes}, {&o.MaxBatch, &d.MaxBatch}, {&o.MaxWaiting, &d.MaxWaiting}} {
		*n[0] = cmp.Or(*n[0], *n[1])
	}
	o.Driver, o.Lookup, o.Timeout = cmp.Or(o.Driver, "pgxpool"), cmp.Or(o.Lookup, "batch"), cmp.Or(o.Timeout, d.Timeout)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// connect returns a connection of another client of the database.
func connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func exec(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(context.WithoutCancel(t.Context()), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func get[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) (v T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// refused checks that the database refuses a statement.
func refused(t *testing.T, conn *pgx.Conn, code, sql string, args ...any) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql, args...)
	if fault, ok := errors.AsType[*pgconn.PgError](err); !ok || fault.Code != code {
		t.Errorf("%s: %v, want SQLSTATE %s", sql, err, code)
	}
}

// buy is a submission; n makes it another one.
func buy(n int) *order.Submission {
	return &order.Submission{
		ClientOrderID: fmt.Sprint("buy-", n), Symbol: "ACME", Side: order.Buy, Price: 10_125_000_000, Qty: 100_000_000_000,
		Kind: order.JSON, Message: fmt.Appendf(nil, `{"n":%d}`, n),
	}
}

func submit(t testing.TB, s *Store, account string, m *order.Submission) order.Order {
	t.Helper()
	r, err := s.Submit(t.Context(), account, m)
	if err != nil {
		t.Fatal(err)
	}
	if r.Duplicate {
		t.Fatalf("%s of %s was there before", m.ClientOrderID, account)
	}
	return r.Order
}

// until waits for what happens elsewhere.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	servicetest.Await(t, func() string { return what }, holds)
}

// locked keeps everybody else from the orders until the function that it returns is called.
func locked(t testing.TB, conn *pgx.Conn) (unlock func()) {
	t.Helper()
	exec(t, conn, "BEGIN")
	exec(t, conn, "LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
	return func() { exec(t, conn, "ROLLBACK") }
}

const waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
