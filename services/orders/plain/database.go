package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// openDatabase returns a pool of connections to a database that has ordersd's tables.
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
	if _, err := db.ExecContext(ctx, "SELECT FROM orders, audit LIMIT 0"); err != nil {
		return nil, errors.Join(fmt.Errorf("looking for ordersd's tables in the database of --dsn: %w", err), db.Close())
	}
	return db, nil
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
		m.Account, r.UID, auditJSON, m.ClientOrderID, m.message); err != nil {
		return r, failure(err)
	}
	return r, failure(tx.Commit())
}

// duplicate returns the receipt of the order that has the client's id already.
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

// failure is the answer to an error of the database: an error of one statement is a fault of the
// gateway, any other means that the database does not answer, or not in time.
func failure(err error) error {
	if err == nil {
		return nil
	}
	var said *pgconn.PgError
	if errors.As(err, &said) {
		switch said.Code[:2] {
		case "08", "40", "53", "55", "57": // connection, rollback, resources, state, shutdown
		default:
			return err
		}
	}
	return errAway
}
