package store

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// settings is what a driver is opened with.
type settings struct {
	config  *pgx.ConnConfig
	classes map[string]int // connections of each class there is
	timeout time.Duration
	health  *health
	tally   *tally
}

// parseDSN reads a DSN. Of several hosts the one is taken that accepts writes, unless the DSN says otherwise, so that
// a standby that took over is found.
func parseDSN(dsn string, r role) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("the DSN does not say where the database is (as in postgres://user:password@host:5432/orders): %w", err)
	}
	if r == primary && severalHosts(config) && !strings.Contains(dsn, "target_session_attrs") {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	return config, nil
}

// severalHosts tells hosts from the ways (with TLS and without) to reach one.
func severalHosts(config *pgx.ConnConfig) bool {
	for _, f := range config.Fallbacks {
		if f.Host != config.Host || f.Port != config.Port {
			return true
		}
	}
	return false
}

// where names the database in errors, without a password.
func where(config *pgx.ConnConfig) string {
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database
}

// connection is the configuration of a connection that serves requests: the server ends a statement of which the
// client may have lost sight, and nobody waits for a host that does not answer longer than for a statement.
func (s settings) connection() *pgx.ConnConfig {
	config := s.config.Copy()
	config.RuntimeParams["statement_timeout"] = strconv.FormatInt(max(1, s.timeout.Milliseconds()), 10)
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = s.timeout
	}
	return config
}

// errand has a connection of its own for what is done once in a while: migrating, seeding, looking after the audit.
func errand(ctx context.Context, dsn, doing string, do func(*pgx.Conn) error) error {
	config, err := parseDSN(dsn, primary)
	if err != nil {
		return err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second // of a host that does not answer at all
	}
	d := database{where: where(config)}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err == nil {
		defer conn.Close(context.WithoutCancel(ctx)) // frees its locks, too
		err = do(conn)
	}
	if err != nil {
		return d.explain(ctx, doing, err)
	}
	return nil
}
