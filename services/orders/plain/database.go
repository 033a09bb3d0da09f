package main

import (
	"bytes"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// schema makes the tables in an empty database; they are those of ordersd.
//
//go:embed schema.sql
var schema string

// openDatabase returns a pool of connections to a database that has the tables.
func openDatabase(ctx context.Context, c config) (*sql.DB, error) {
	conn, err := pgx.ParseConfig(c.dsn)
	if err != nil {
		return nil, fmt.Errorf("reading --dsn: %w", err)
	}
	conn.ConnectTimeout = c.timeout
	conn.RuntimeParams["statement_timeout"] = strconv.FormatInt(c.timeout.Milliseconds(), 10)
	db := stdlib.OpenDB(*conn)
	db.SetMaxOpenConns(c.connections)
	db.SetMaxIdleConns(c.connections)
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing the database of --dsn: %w", err), db.Close())
	}
	return db, nil
}

// migrate makes the tables unless they are there.
func migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtext('orders'))"); err != nil {
		return err
	}
	var there bool
	if err := tx.QueryRowContext(ctx, "SELECT to_regclass('orders') IS NOT NULL").Scan(&there); err != nil || there {
		return err
	}
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	return tx.Commit()
}

// order reads one row.
func (s *server) order(ctx context.Context, uid int64) (o order, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	err = o.scan(s.db.QueryRowContext(ctx, "SELECT "+columns+" FROM orders WHERE uid = $1", uid))
	if errors.Is(err, sql.ErrNoRows) {
		return o, errNotFound
	}
	return o, failure(err)
}

// orders reads one row more than the filter's limit, if there is one.
func (s *server) orders(ctx context.Context, f filter) ([]order, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	query := "SELECT " + columns + " FROM orders WHERE account = $1 AND uid < $2"
	args := []any{f.account, f.before, f.limit + 1}
	if f.status != 0 {
		query, args = query+" AND status = $4", append(args, f.status)
	}
	rows, err := s.db.QueryContext(ctx, query+" ORDER BY uid DESC LIMIT $3", args...)
	if err != nil {
		return nil, failure(err)
	}
	defer rows.Close()
	found := []order{}
	for rows.Next() {
		var o order
		if err := o.scan(rows); err != nil {
			return nil, err
		}
		found = append(found, o)
	}
	return found, failure(rows.Err())
}

// store makes an order with its audit record, or finds the one that the same message made before.
func (s *server) store(ctx context.Context, m submission) (receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return receipt{}, failure(err)
	}
	defer tx.Rollback()
	r := receipt{ClientOrderID: m.ClientOrderID}
	err = tx.QueryRowContext(ctx, `INSERT INTO orders (account, client_order_id, symbol, side, price, qty, digest)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (account, client_order_id) DO NOTHING RETURNING uid, status, version`,
		m.Account, m.ClientOrderID, m.Symbol, m.Side, m.Price, m.Qty, m.digest()).Scan(&r.UID, &r.Status, &r.Version)
	if errors.Is(err, sql.ErrNoRows) {
		return s.duplicate(ctx, tx, m)
	}
	if err != nil {
		return r, failure(err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO audit (account, uid, kind, client_order_id, message) VALUES ($1, $2, $3, $4, $5)",
		m.Account, r.UID, m.kind, m.ClientOrderID, m.message); err != nil {
		return r, failure(err)
	}
	return r, failure(tx.Commit())
}

// duplicate tells of the order that has the client's id already.
func (s *server) duplicate(ctx context.Context, tx *sql.Tx, m submission) (receipt, error) {
	r := receipt{ClientOrderID: m.ClientOrderID, Duplicate: true}
	var digest []byte
	err := tx.QueryRowContext(ctx, "SELECT uid, status, version, digest FROM orders WHERE account = $1 AND client_order_id = $2",
		m.Account, m.ClientOrderID).Scan(&r.UID, &r.Status, &r.Version, &digest)
	if err == nil && !bytes.Equal(digest, m.digest()) {
		return r, errConflict
	}
	return r, failure(err)
}

// failure gives an error of the database its answer: what it says of one statement is a fault of the gateway,
// anything else means that it does not answer, or not in time.
func failure(err error) error {
	if err == nil {
		return nil
	}
	var said *pgconn.PgError
	if errors.As(err, &said) {
		switch said.Code[:2] {
		case "08", "40", "53", "55", "57": // connection, rollback, resources, not in that state, told to stop
		default:
			return err
		}
	}
	return errAway
}
