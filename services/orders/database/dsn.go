// Package database is about a database of orders, which may be one shard of several: it reads its
// DSN, makes its tables, gives a gateway's role its rights, keeps the partitions of the audit, can
// fill the tables with made-up orders, and says what an error from there means.
//
// What it does itself is done once in a while, by the tables' owner, over a connection for that
// alone: it has no pool and answers no request. It starts no goroutine.
package database

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrOptions is what the error of an unreadable DSN, or of options that do not go together, wraps:
// trying again is of no use.
var ErrOptions = errors.New("the store's options are wrong")

// Role is what a database is for.
type Role int

// A Primary takes writes; a Replica need not.
const (
	Primary Role = iota
	Replica
)

// ParseDSN reads a DSN. Of several hosts a primary is the one that accepts writes, unless the DSN
// or the environment says otherwise, so that a standby that took over is found.
func ParseDSN(dsn string, r Role) (*pgx.ConnConfig, error) {
	const looks = "a DSN looks like postgres://user:password@host:5432/orders"
	if strings.TrimSpace(dsn) == "" {
		return nil, fmt.Errorf("%w: the DSN is empty; if it comes from a variable, see whether that is set; %s", ErrOptions, looks)
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The error itself repeats the DSN, and takes out only those passwords that it recognizes.
		if cause := errors.Unwrap(err); cause != nil && !repeats(cause.Error(), dsn) {
			return nil, fmt.Errorf("%w: the DSN cannot be read: %s; %s", ErrOptions, cause, looks)
		}
		return nil, fmt.Errorf("%w: the DSN cannot be read; %s", ErrOptions, looks)
	}
	if r == Primary && len(Places(config)) > 1 && config.ValidateConnect == nil && !saysAny(dsn) {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	return config, nil
}

// saysAny reports whether a DSN explicitly accepts any host, which the parsed DSN does not
// distinguish from the default.
func saysAny(dsn string) bool {
	return strings.Contains(dsn, "target_session_attrs") || os.Getenv("PGTARGETSESSIONATTRS") != ""
}

// repeats reports whether a text has anything of a DSN, however short, but for the names of its
// settings.
func repeats(text, dsn string) bool {
	if strings.Contains(dsn, "%") { // what it stands for may be in the text
		return true
	}
	for _, part := range strings.FieldsFunc(dsn, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		if strings.Contains(text, part) && !slices.Contains(settingNames, part) {
			return true
		}
	}
	return false
}

// settingNames are those of which values are often mistaken.
var settingNames = []string{"connect_timeout", "database", "dbname", "host", "password", "port", "sslcert", "sslkey", "sslmode", "sslrootcert", "user"}

// Where names the database in errors, without a password.
func Where(config *pgx.ConnConfig) string {
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database
}

// errand has a connection of its own for what is done once in a while: migrating, seeding, looking
// after the audit. What it is doing is for the error.
func errand(ctx context.Context, dsn, doing string, do func(*pgx.Conn) error) error {
	config, err := ParseDSN(dsn, Primary)
	if err != nil {
		return err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second // of a host that does not answer at all
	}
	Stateless(config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err == nil {
		defer conn.Close(context.WithoutCancel(ctx)) // frees its locks, too
		err = do(conn)
	}
	if err != nil {
		return Explain(ctx, Where(config), doing, err)
	}
	return nil
}

// Stateless has a connection keep no statement by a name in its session: a pooler may give each
// transaction another one.
func Stateless(config *pgx.ConnConfig) {
	if config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement { // the default; else the DSN's choice
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
}

// Places lists where a database may be: at each of the hosts.
func Places(config *pgx.ConnConfig) []string {
	all := []string{Where(config)}
	for _, f := range config.Fallbacks { // also the ways (with TLS and without) to reach one
		if place := net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))) + "/" + config.Database; !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	return all
}
