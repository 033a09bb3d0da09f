package database

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is a step of the schema; its number is its place, from 1 on.
type migration struct{ name, text string }

func migrations() ([]migration, error) {
	entries, err := fs.ReadDir(migrationFiles, "migrations") // in the order of their names
	if err != nil {
		return nil, err
	}
	var all []migration
	for i, e := range entries {
		text, err := fs.ReadFile(migrationFiles, "migrations/"+e.Name())
		if err != nil {
			return nil, err
		}
		if number, _, _ := strings.Cut(e.Name(), "_"); number != fmt.Sprintf("%03d", i+1) {
			return nil, fmt.Errorf("migration %s should have the number %03d", e.Name(), i+1)
		}
		all = append(all, migration{strings.TrimSuffix(e.Name(), ".sql"), string(text)})
	}
	return all, nil
}

// migrationLock is PostgreSQL's advisory lock of who migrates; any number would do, as long as it
// stays.
const migrationLock = 7310577370040

// Migrate brings a database to the schema of this version, as shard 0..shards-1, and makes the
// audit's next partitions unless another session holds a lock: a Store tries that again. It is safe
// for concurrent callers. A database of a newer schema, or of another layout, is refused.
func Migrate(ctx context.Context, dsn string, shard, shards int) error {
	return errand(ctx, dsn, "migrating", func(conn *pgx.Conn) error { return migrate(ctx, conn, shard, shards) })
}

func migrate(ctx context.Context, conn *pgx.Conn, shard, shards int) error {
	steps, err := migrations()
	if err != nil {
		return err
	}
	err = alone(ctx, conn, func(tx pgx.Tx) error {
		version, err := schemaVersion(ctx, tx)
		switch {
		case err != nil:
			return err
		case version > len(steps):
			return fmt.Errorf("its schema has version %d and this program knows up to %d: use the newer program", version, len(steps))
		}
		for ; version < len(steps); version++ {
			if err := apply(ctx, tx, version+1, steps[version]); err != nil {
				return fmt.Errorf("migration %s: %w", steps[version].name, err)
			}
		}
		return claimShard(ctx, tx, shard, shards)
	})
	if err != nil {
		return err
	}
	// Without new partitions the default one takes the records. Waiting longer for the lock would
	// block all submissions meanwhile.
	_, err = aheadOfAudit(ctx, conn)
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		return nil
	}
	return err
}

// alone runs a transaction that no other migration runs beside. Its lock is the transaction's and
// not the session's, which a pooler may give to another client.
func alone(ctx context.Context, conn *pgx.Conn, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
			return err
		}
		return do(tx)
	})
}

// schemaVersion is how many migrations were applied. It creates nothing in a database that is up to
// date, so that who may not change the schema can still use it.
func schemaVersion(ctx context.Context, tx pgx.Tx) (version int, err error) {
	var there bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass('migrations') IS NOT NULL").Scan(&there); err != nil {
		return 0, err
	}
	if !there {
		_, err := tx.Exec(ctx, `CREATE TABLE migrations (
			version int PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
		return 0, err
	}
	err = tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM migrations").Scan(&version)
	return version, err
}

func apply(ctx context.Context, tx pgx.Tx, version int, m migration) error {
	if _, err := tx.Exec(ctx, m.text); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "INSERT INTO migrations (version, name) VALUES ($1, $2)", version, m.name)
	return err
}

// claimShard marks a new database as this shard, and refuses one that is another. It writes nothing
// into one that is the right one.
func claimShard(ctx context.Context, tx pgx.Tx, shard, shards int) error {
	want := shardMark(shard, shards)
	if claimed, err := checkShard(ctx, tx, want); claimed || err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO meta (key, value) VALUES ('shard', $1)", want); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, fmt.Sprintf("ALTER TABLE orders ALTER COLUMN uid SET INCREMENT BY %d SET START WITH %d RESTART", shards, shard+1))
	return err
}

func shardMark(shard, shards int) string { return strconv.Itoa(shard) + "/" + strconv.Itoa(shards) }

// rows is what answers a query: a connection or a transaction.
type rows interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// checkShard reports whether a database is the wanted shard already. It is an error that it is
// another; it may be none yet, and have no schema.
func checkShard(ctx context.Context, from rows, want string) (claimed bool, err error) {
	var schema bool
	if err := from.QueryRow(ctx, "SELECT to_regclass('meta') IS NOT NULL").Scan(&schema); err != nil || !schema {
		return false, err
	}
	var is string
	err = from.QueryRow(ctx, "SELECT value FROM meta WHERE key = 'shard'").Scan(&is)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case is != want:
		return false, fmt.Errorf("%w: it is shard %s of its set and is given as %s, counted from 0: give the same number of DSNs in the same order as when it was made; "+
			"if it was marked by mistake, and has no orders yet: DELETE FROM meta WHERE key = 'shard'", ErrOptions, is, want)
	}
	return true, nil
}
