package ordertest

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// exec changes the database past the program.
func (c *client) exec(sql string, args ...any) {
	c.t.Helper()
	if _, err := c.db.Exec(context.Background(), sql, args...); err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
}

// value reads one value from the database past the program.
func value[T any](c *client, sql string, args ...any) (v T) {
	c.t.Helper()
	if err := c.db.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// insert makes orders of an account past the program and returns their numbers.
func (c *client) insert(account string, n int) []int64 {
	c.t.Helper()
	rows, err := c.db.Query(context.Background(), `
		INSERT INTO orders (account, client_order_id, symbol, side, price, qty, digest, updated_at)
		SELECT $1, gen_random_uuid()::text, 'ACME', 1, 10125000000, 10000000000, sha256('none'), '2026-01-02T03:04:05.678901Z'
		FROM generate_series(1, $2) RETURNING uid`, account, n)
	if err != nil {
		c.t.Fatal(err)
	}
	uids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(uids) != n {
		c.t.Fatalf("inserting %d orders: %d, %v", n, len(uids), err)
	}
	return uids
}

// one makes one order of an account.
func (c *client) one(account string) int64 {
	c.t.Helper()
	return c.insert(account, 1)[0]
}
