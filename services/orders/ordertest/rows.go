package ordertest

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Exec changes the database past the program.
func (c *Client) Exec(sql string, args ...any) {
	c.T.Helper()
	if _, err := c.DB.Exec(context.Background(), sql, args...); err != nil {
		c.T.Fatalf("%s: %v", sql, err)
	}
}

// Value reads one value from the database past the program.
func Value[T any](c *Client, sql string, args ...any) (v T) {
	c.T.Helper()
	if err := c.DB.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		c.T.Fatalf("%s: %v", sql, err)
	}
	return v
}

// Insert makes orders of an account past the program and returns their numbers.
func (c *Client) Insert(account string, n int) []int64 {
	c.T.Helper()
	rows, err := c.DB.Query(context.Background(), `
		INSERT INTO orders (account, client_order_id, symbol, side, price, qty, digest, updated_at)
		SELECT $1, gen_random_uuid()::text, 'ACME', 1, 10125000000, 10000000000, sha256('none'), '2026-01-02T03:04:05.678901Z'
		FROM generate_series(1, $2) RETURNING uid`, account, n)
	if err != nil {
		c.T.Fatal(err)
	}
	uids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(uids) != n {
		c.T.Fatalf("inserting %d orders: %d, %v", n, len(uids), err)
	}
	return uids
}

// One makes one order of an account.
func (c *Client) One(account string) int64 {
	c.T.Helper()
	return c.Insert(account, 1)[0]
}

// Lock locks a table until release is called, at the latest at the end of the test.
func (c *Client) Lock(statement string) (release func()) {
	c.T.Helper()
	ctx := context.Background()
	tx, err := c.DB.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		c.T.Fatal(err)
	}
	release = func() { tx.Rollback(ctx) } // again: it has ended
	c.T.Cleanup(release)
	if _, err := tx.Exec(ctx, statement); err != nil {
		c.T.Fatal(err)
	}
	return release
}

// Blocked counts the program's statements that wait for a lock.
func (c *Client) Blocked() int {
	c.T.Helper()
	return Value[int](c, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
}
