package soak

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"dyno/services/orders/soak/history"

	"github.com/jackc/pgx/v5"
)

// application is the application name that distinguishes a soak's connections from the gateway's.
const application = "orders-soak"

// connect connects to the database, and retries until it is up.
func (r *run) connect(ctx context.Context) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig(r.DSN)
	if err != nil {
		return nil, err
	}
	c.RuntimeParams["application_name"] = application
	for until := time.Now().Add(timeout); ; {
		conn, err := pgx.ConnectConfig(ctx, c)
		if err == nil {
			return conn, nil
		}
		if time.Now().After(until) || ctx.Err() != nil {
			return nil, err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// Sides and states in the order of the database's numbers, from 1 on.
var (
	sides    = []string{"", "BUY", "SELL", "PAY"}
	statuses = []string{"", "NEW", "PARTIALLY_FILLED", "FILLED", "CANCELLED"}
)

func number(names []string, name string) (n int16) {
	for i := range names {
		if names[i] == name {
			n = int16(i)
		}
	}
	return n
}

func name(names []string, n int16) string {
	if n < 0 || int(n) >= len(names) {
		return "number " + strconv.Itoa(int(n))
	}
	return names[n]
}

// clientOrderID returns the client order id of a key in this run.
func (r *run) clientOrderID(k history.Key) string {
	return r.prefix + strconv.FormatUint(uint64(k), 10)
}

func (r *run) keyOf(clientOrderID string) (history.Key, error) {
	k, err := strconv.ParseUint(strings.TrimPrefix(clientOrderID, r.prefix), 10, 64)
	return history.Key(k), err
}

// prepare inserts the initial rows directly into the database.
func (r *run) prepare(ctx context.Context) error {
	conn, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var newest int64
	if err := conn.QueryRow(ctx, "SELECT coalesce(max(uid), 0) FROM orders").Scan(&newest); err != nil {
		return err
	}
	r.prefix = fmt.Sprintf("soak-%d-%d-", r.Seed, newest) // no other run on this database has used it
	keys := make([]history.Key, 0, r.Hot+r.Rows)
	for i := range r.Hot {
		keys = append(keys, history.EndlessKey(i))
	}
	for range r.Rows {
		keys = append(keys, r.nextKey())
	}
	const most = 1000 // rows per statement
	for len(keys) > 0 {
		n := min(most, len(keys))
		if err := r.insert(ctx, conn, keys[:n]); err != nil {
			return fmt.Errorf("adding orders: %w", err)
		}
		keys = keys[n:]
	}
	return nil
}

// nextKey returns an unused key of the tail.
func (r *run) nextKey() history.Key { return history.TailKey(int(r.keys.Add(1) - 1)) }

func (r *run) insert(ctx context.Context, conn *pgx.Conn, keys []history.Key) error {
	var accounts, ids, symbols []string
	var kinds []int16
	var prices, qtys []int64
	for _, k := range keys {
		row := k.Derive(1)
		accounts, ids, symbols = append(accounts, k.Account(r.Accounts)), append(ids, r.clientOrderID(k)), append(symbols, row.Symbol)
		kinds, prices, qtys = append(kinds, number(sides, row.Side)), append(prices, row.Price), append(qtys, row.Qty)
	}
	rows, err := conn.Query(ctx, `INSERT INTO orders (account, client_order_id, symbol, side, price, qty, digest)
		SELECT a, i, s, d, p, q, sha256(convert_to(i, 'UTF8'))
		FROM unnest($1::text[], $2::text[], $3::text[], $4::smallint[], $5::bigint[], $6::bigint[]) AS n (a, i, s, d, p, q)
		RETURNING uid, account, client_order_id`, accounts, ids, symbols, kinds, prices, qtys)
	if err != nil {
		return err
	}
	var made []history.Known
	var k history.Known
	var id string
	_, err = pgx.ForEachRow(rows, []any{&k.UID, &k.Account, &id}, func() (err error) {
		k.Key, err = r.keyOf(id)
		made = append(made, k)
		return err
	})
	if err != nil {
		return err
	}
	for _, k := range made {
		r.history.Add(k.UID, k.Key, k.Account)
	}
	return nil
}

// finish compares the acknowledged orders with the database, and counts the remaining connections.
func (r *run) finish(ctx context.Context) error {
	conn, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := r.compare(ctx, conn); err != nil {
		return fmt.Errorf("reading the orders at the end: %w", err)
	}
	return r.countConnections(ctx, conn)
}

func (r *run) compare(ctx context.Context, conn *pgx.Conn) error {
	end := r.history.End()
	rows, err := conn.Query(ctx, `
		SELECT uid, account, client_order_id, symbol, side, status, price, qty, filled, version, updated_at, coalesce(audits, 0)
		FROM orders LEFT JOIN (
			SELECT uid, account, client_order_id, count(*) AS audits FROM audit GROUP BY uid, account, client_order_id
		) AS a USING (uid, account, client_order_id)
		WHERE starts_with(client_order_id, $1)`, r.prefix)
	if err != nil {
		return err
	}
	var s history.Stored
	var id string
	var side, status int16
	into := []any{&s.UID, &s.Account, &id, &s.Symbol, &side, &status, &s.Price, &s.Qty, &s.Filled, &s.Version, &s.Updated, &s.Audits}
	_, err = pgx.ForEachRow(rows, into, func() (err error) {
		s.Side, s.Status = name(sides, side), name(statuses, status)
		if s.Key, err = r.keyOf(id); err == nil {
			end.Stored(s)
		}
		return err
	})
	if err != nil {
		return err
	}
	end.Close()
	var orphans int
	err = conn.QueryRow(ctx, `SELECT count(*) FROM audit AS a WHERE starts_with(client_order_id, $1)
		AND NOT EXISTS (SELECT FROM orders AS o WHERE (o.uid, o.account, o.client_order_id) = (a.uid, a.account, a.client_order_id))`,
		r.prefix).Scan(&orphans)
	if orphans > 0 {
		r.history.Break(history.Unaudited, "at the end there are %d audit records of no order", orphans)
	}
	return err
}

var errLeak = errors.New("connections leak")

// settling is how long a gateway may take to close connections that it no longer needs.
const settling = 10 * time.Second

// countConnections waits until the gateway has no more connections than allowed.
func (r *run) countConnections(ctx context.Context, conn *pgx.Conn) error {
	for until := time.Now().Add(settling); ; {
		err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> $1`, application).Scan(&r.left)
		if err != nil || r.Connections == 0 || r.left <= r.Connections {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("%w: %d are left, of at most %d", errLeak, r.left, r.Connections)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
