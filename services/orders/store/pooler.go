package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dyno/services/orders/database"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// way is what probe found between this process and a database.
type way struct {
	pooled  bool          // settings.pooled
	refused string        // the start-up parameter that a pooler refused, if it did
	timeout time.Duration // statement_timeout of a session for which nothing is set; 0: none
}

// probe looks whether a connection is a session of PostgreSQL. A pooler shares sessions: it has no
// use for start-up parameters, forgets or mixes up what a client sets, and has a client's prepared
// statements elsewhere. PostgreSQL gives a connection its process ID (documentation, 55.2.1) and
// poolers one of their own making, by which they know what to cancel.
func probe(ctx context.Context, s settings) (w way, err error) {
	s.pooled = false
	config := s.connection(classReads)
	attempts := time.Duration(len(database.Places(config)) + 1) // and one for the question itself
	config.ConnectTimeout = cmp.Or(s.config.ConnectTimeout, probePatience/attempts)
	ctx, cancel := context.WithTimeout(ctx, max(probePatience, attempts*config.ConnectTimeout))
	defer cancel()
	maps.Copy(config.RuntimeParams, planning)
	conn, err := pgx.ConnectConfig(ctx, config)
	if parameter, ok := database.RefusedParameter(err); ok && s.config.RuntimeParams[parameter] == "" {
		w.refused = parameter
		config.RuntimeParams = s.config.RuntimeParams
		conn, err = pgx.ConnectConfig(ctx, config)
	}
	if err != nil {
		return w, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var id uint32
	var timeout int64
	var unset bool
	err = conn.QueryRow(ctx, `SELECT pg_backend_pid(), (SELECT setting::bigint FROM pg_settings WHERE name = 'statement_timeout'),
		current_setting('plan_cache_mode') <> $1`, pgx.QueryExecModeExec, planning["plan_cache_mode"]).Scan(&id, &timeout, &unset)
	if err != nil {
		return w, fmt.Errorf("asking for the session's settings: %w", err)
	}
	w.pooled = id != conn.PgConn().PID() || unset || strconv.FormatInt(timeout, 10) != s.milliseconds()
	if w.pooled {
		w.timeout = time.Duration(timeout) * time.Millisecond
	}
	return w, nil
}

// probePatience is as long as a start waits for a database that does not answer at all.
const probePatience = 10 * time.Second

// bounds is the statement that has the server bound and plan the next one of its transaction as
// start-up parameters do elsewhere.
func (s settings) bounds() string {
	set := maps.Clone(planning)
	set["statement_timeout"] = s.milliseconds()
	var calls []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		calls = append(calls, fmt.Sprintf("set_config('%s', '%s', true)", name, set[name]))
	}
	return "SELECT " + strings.Join(calls, ", ")
}

// sendWhole sends the bounds and a statement with its text. Up to the Sync after both they are one
// transaction (documentation, 55.2.3 and 55.2.4), so that a pooler gives them one session; and one
// round trip.
func (s *session) sendWhole(ctx context.Context, statement *pgconn.StatementDescription) results {
	batch := &pgconn.Batch{}
	batch.ExecParams(s.bounds, nil, nil, nil, nil)
	batch.ExecParams(statement.SQL, s.arguments, nil, binaryFormat, binaryFormat)
	all := s.conn.ExecBatch(ctx, batch)
	if all.NextResult() {
		all.ResultReader().Close() // an error also ends the statement, and is all's
	}
	if all.NextResult() {
		return &last{all.ResultReader(), all}
	}
	return failed{all}
}

// last reads the last of several results. That it ended well is known at the end of all: there the
// transaction was committed.
type last struct {
	*pgconn.ResultReader
	all *pgconn.MultiResultReader
}

func (l *last) Close() (pgconn.CommandTag, error) {
	tag, err := l.ResultReader.Close()
	return tag, cmp.Or(l.all.Close(), err)
}

// failed has no rows but the reason.
type failed struct{ all *pgconn.MultiResultReader }

func (failed) NextRow() bool    { return false }
func (failed) Values() [][]byte { return nil }

func (f failed) Close() (pgconn.CommandTag, error) {
	if err := f.all.Close(); err != nil {
		return pgconn.CommandTag{}, err
	}
	return pgconn.CommandTag{}, errors.New("the server answered a statement with nothing")
}
