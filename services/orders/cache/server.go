package cache

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// primary parses a DSN, without a pool's settings, to connect only to a server for writes.
func primary(dsn, name string) (*pgx.ConnConfig, error) {
	pool, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	c := pool.ConnConfig
	c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // a pooler may give each query another session
	c.RuntimeParams["application_name"] = name
	c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	return c, nil
}

// lineage identifies a database's history: the cluster's identifier and the timeline, which changes
// with each failover and each recovery from a backup.
func lineage(ctx context.Context, conn *pgx.Conn) (line string, err error) {
	err = conn.QueryRow(ctx, `SELECT system_identifier::text || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
		FROM pg_control_system()`).Scan(&line)
	if err != nil {
		return "", fmt.Errorf("asking the primary for its system identifier and timeline: %w", err)
	}
	return line, nil
}

// hangUp closes a connection and waits until its goroutines have ended, for at most a second.
func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn.Close(ctx)
	select {
	case <-conn.PgConn().CleanupDone():
	case <-ctx.Done():
	}
}
