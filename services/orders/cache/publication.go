package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// publication is what the feeds of all gateways share in the database: the uids of changed orders.
const publication = "orders_cache"

// ground is what the database says of itself before a feed is opened.
type ground struct {
	line  string // the lineage
	table uint32 // the oid of orders
	shape string // of the table: another one after each change of its definition
	log   geometry
}

// prepare looks whether changes can be followed, and makes the publication unless it exists.
func prepare(ctx context.Context, conn *pgx.Conn) (g ground, err error) {
	if g, err = examine(ctx, conn); err != nil {
		return g, err
	}
	exists, err := published(ctx, conn)
	if err != nil || exists {
		return g, err
	}
	if err := publish(ctx, conn); err != nil {
		return g, fmt.Errorf("making the publication (the owner of orders may, with CREATE on the database; or do it by hand: "+
			"CREATE PUBLICATION %s FOR TABLE orders (uid)): %w", publication, err)
	}
	if g, err = examine(ctx, conn); err != nil { // the publication may have changed the table's description
		return g, err
	}
	exists, err = published(ctx, conn)
	if err == nil && !exists {
		err = fmt.Errorf("the publication %s was dropped as soon as it was made", publication)
	}
	return g, err
}

// publish makes the publication, unless another gateway is faster.
func publish(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `CREATE PUBLICATION `+publication+` FOR TABLE orders (uid)`)
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && (e.Code == "42710" || e.Code == "23505") {
		return nil
	}
	return err
}

// Publish makes what a Live with a role of few rights follows; dsn is of the tables' owner.
func Publish(ctx context.Context, dsn string) error {
	config, err := primary(dsn, "orders_cache")
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("making the publication %s: %w", publication, err)
	}
	defer hangUp(conn)
	if exists, err := published(ctx, conn); err != nil || exists {
		return err
	}
	if err := publish(ctx, conn); err != nil {
		return fmt.Errorf("making the publication %s: %w", publication, err)
	}
	return nil
}

func examine(ctx context.Context, conn *pgx.Conn) (g ground, err error) {
	var version int
	var level, standbys string
	var may bool
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('wal_level'),
			current_setting('synchronous_standby_names'), r.rolsuper OR r.rolreplication,
			(SELECT setting::bigint FROM pg_settings WHERE name = 'wal_block_size'),
			(SELECT setting::bigint FROM pg_settings WHERE name = 'wal_segment_size')
		FROM pg_roles r WHERE r.rolname = current_user`).Scan(&version, &level, &standbys, &may, &g.log.page, &g.log.segment)
	switch {
	case err != nil:
		return g, fmt.Errorf("asking the database for its settings: %w", err)
	case version < 150000:
		return g, fmt.Errorf("the database is PostgreSQL %d.%d; following changes needs 15 or later", version/10000, version%10000)
	case level != "logical":
		return g, fmt.Errorf("wal_level is %s; following changes needs wal_level = logical in postgresql.conf, and a restart", level)
	case !may:
		return g, errors.New("the user may not follow changes; ALTER ROLE ... REPLICATION")
	case strings.Contains(standbys, "*"):
		return g, fmt.Errorf("synchronous_standby_names is %q, so that the cache would count as a standby and commits could be taken for "+
			"replicated; name the standbys", standbys)
	}
	if g.line, err = lineage(ctx, conn); err != nil {
		return g, err
	}
	err = conn.QueryRow(ctx, `SELECT c.oid, `+shapeOf+` FROM pg_class c WHERE c.oid = 'orders'::regclass`).Scan(&g.table, &g.shape)
	if err != nil {
		return g, fmt.Errorf("looking for the table orders: %w", err)
	}
	return g, nil
}

// shapeOf is what changes when a table is altered, rewritten, truncated or replaced, or the publication is altered or
// dropped: none of that is in the feed as changes of rows.
const shapeOf = `c.oid || '/' || c.xmin || '/' || c.relfilenode || coalesce((SELECT '/' || p.oid || '/' || p.xmin || '/' || coalesce(l.xmin::text, '')
	FROM pg_publication p LEFT JOIN pg_publication_rel l ON l.prpubid = p.oid AND l.prrelid = c.oid WHERE p.pubname = '` + publication + `'), '')`

// published reports whether the publication exists, and fails if it leaves something out.
func published(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var all, listed bool
	err := conn.QueryRow(ctx, `SELECT p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate,
			EXISTS (SELECT FROM pg_publication_tables t JOIN pg_namespace n ON n.nspname = t.schemaname
				JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename
				WHERE t.pubname = p.pubname AND c.oid = 'orders'::regclass AND t.rowfilter IS NULL AND 'uid' = ANY (t.attnames))
		FROM pg_publication p WHERE p.pubname = $1`, publication).Scan(&all, &listed)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("looking for the publication %s: %w", publication, err)
	case !all || !listed:
		return false, fmt.Errorf("the publication %s leaves changes of orders out; DROP PUBLICATION %s, it will be made anew", publication, publication)
	}
	return true, nil
}
