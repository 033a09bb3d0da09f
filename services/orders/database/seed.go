package database

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"dyno/services/orders/order"

	"github.com/jackc/pgx/v5"
)

// Seed adds made-up orders, always the same ones: row i has the uid i in an empty table and belongs
// to order.SeedAccount(i, accounts). It goes on after what it added before. In a shard, only the
// accounts get orders that belong there. They have no audit records, since they were not submitted.
// Progress may be nil.
func Seed(ctx context.Context, dsn string, rows, accounts int, progress func(done int)) error {
	if rows < 0 || accounts < 1 {
		return errors.New("seeding takes a number of rows and at least one account")
	}
	return errand(ctx, dsn, "seeding", func(conn *pgx.Conn) error { return seed(ctx, conn, rows, accounts, progress) })
}

// Prepare fills a new, unsharded database up to at least rows made-up orders.
func Prepare(ctx context.Context, dsn string, rows, accounts int) error {
	if err := Migrate(ctx, dsn, 0, 1); err != nil {
		return err
	}
	var before int
	err := errand(ctx, dsn, "counting made-up orders", func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT coalesce((SELECT value::bigint FROM meta WHERE key = $1), 0)", seeded).Scan(&before)
	})
	if err != nil || before >= rows {
		return err
	}
	return Seed(ctx, dsn, rows-before, accounts, nil)
}

// seeded is the meta key of how many rows were seeded.
const seeded = "seeded"

func seed(ctx context.Context, conn *pgx.Conn, rows, accounts int, progress func(int)) error {
	owners, err := ownersIn(ctx, conn, accounts)
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// The row is the lock: another seed waits here.
		var before int64
		err := tx.QueryRow(ctx, `INSERT INTO meta (key, value) VALUES ($1, '0') ON CONFLICT (key) DO UPDATE SET value = meta.value
			RETURNING value::bigint`, seeded).Scan(&before)
		if err != nil {
			return err
		}
		done := 0
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"orders"},
			[]string{"account", "client_order_id", "symbol", "side", "status", "price", "qty", "filled", "version", "updated_at", "digest"},
			pgx.CopyFromFunc(func() ([]any, error) {
				if done == rows {
					return nil, nil
				}
				done++
				if progress != nil && (done%10_000 == 0 || done == rows) {
					progress(done)
				}
				i := before + int64(done)
				return madeUp(i, owners[(i-1)%int64(len(owners))]), nil
			}))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE meta SET value = $2 WHERE key = $1", seeded, strconv.FormatInt(before+int64(rows), 10))
		return err
	})
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE) orders") // else the first thousands of reads do that work
	return err
}

// ownersIn lists the accounts that belong into the database's shard.
func ownersIn(ctx context.Context, conn *pgx.Conn, accounts int) ([]string, error) {
	var shard, shards int
	err := conn.QueryRow(ctx, "SELECT split_part(value, '/', 1)::int, split_part(value, '/', 2)::int FROM meta WHERE key = 'shard'").Scan(&shard, &shards)
	if err != nil {
		return nil, fmt.Errorf("it has no orders schema yet (Migrate makes it): %w", err)
	}
	var owners []string
	for i := range int64(accounts) {
		if account := order.SeedAccount(i+1, accounts); AccountShard(account, shards) == shard {
			owners = append(owners, account)
		}
	}
	if len(owners) == 0 {
		return nil, fmt.Errorf("none of %d accounts belongs into shard %d of %d: take more accounts", accounts, shard, shards)
	}
	return owners, nil
}

var symbols = [...]string{"ACME", "BOLT", "CRUX", "DYNE", "ECHO", "FLUX", "GYRE", "HALO", "IRIS", "JADE", "KILO", "LUMA", "EUR/USD", "ES.Z26", "BRK.B", "XAU-SPOT"}

// madeUp is row i: 70% NEW, 10% PARTIALLY_FILLED, 15% FILLED, 5% CANCELLED.
func madeUp(i int64, account string) []any {
	r := scramble(uint64(i))
	take := func(n uint64) int64 { // a number below n, from bits that were not used yet
		r = scramble(r)
		return int64(r % n)
	}
	m := order.Submission{
		ClientOrderID: "seed-" + strconv.FormatInt(i, 10),
		Symbol:        symbols[take(uint64(len(symbols)))],
		Side:          order.Buy + order.Side(take(2)),
		Price:         order.Decimal(1+take(99_999)) * 1_000_000, // 0.01 to 999.99
		Qty:           order.Decimal(2+take(999)) * 100_000_000,  // 2 to 1000
	}
	status, filled, version := order.New, order.Decimal(0), int64(1)
	switch kind := take(100); {
	case kind < 70:
	case kind < 80:
		status, filled, version = order.PartiallyFilled, m.Qty/2, 2
	case kind < 95:
		status, filled, version = order.Filled, m.Qty, 2+take(3)
	default:
		status, version = order.Cancelled, 2
	}
	made := m.Digest(account)
	return []any{account, m.ClientOrderID, m.Symbol, int16(m.Side), int16(status), int64(m.Price), int64(m.Qty), int64(filled), version,
		seedTime.Add(time.Duration(i) * time.Millisecond), made[:]}
}

// seedTime is when the first made-up order was changed last.
var seedTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// scramble is splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
// 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
