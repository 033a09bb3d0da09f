package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"dyno/services/orders/order"
	"dyno/services/orders/store/schema"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// database is a migrated database, as a Source that queries it for each call.
type database struct{ *pgxpool.Pool }

func open(t testing.TB, dsn string) database {
	t.Helper()
	if err := schema.Migrate(t.Context(), dsn, 0, 1); err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return database{pool}
}

func (d database) Order(ctx context.Context, uid int64) (o order.Order, err error) {
	err = d.QueryRow(ctx, `SELECT uid, account, symbol, side, status, price, qty, filled, version, updated_at FROM orders WHERE uid = $1`, uid).
		Scan(&o.UID, &o.Account, &o.Symbol, &o.Side, &o.Status, &o.Price, &o.Qty, &o.Filled, &o.Version, &o.UpdatedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return o, order.ErrNotFound
	}
	return o, err
}

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// insert inserts an order with a client order id.
func insert(ctx context.Context, q querier, id string) (uid int64, err error) {
	err = q.QueryRow(ctx, `INSERT INTO orders (account, client_order_id, symbol, side, price, qty, digest)
		VALUES ('A1', $1, 'ACME', 1, 100, 1000, sha256('')) RETURNING uid`, id).Scan(&uid)
	return uid, err
}

func (d database) inserted(t testing.TB, n int) (uids []int64) {
	t.Helper()
	for i := range n {
		uid, err := insert(t.Context(), d, fmt.Sprintf("%s-%d", t.Name(), i))
		if err != nil {
			t.Fatal(err)
		}
		uids = append(uids, uid)
	}
	return uids
}

func (d database) begin(t testing.TB) pgx.Tx {
	t.Helper()
	tx, err := d.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback(context.Background()) })
	return tx
}

func (d database) do(t testing.TB, sql string) {
	t.Helper()
	if _, err := d.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
