package store

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
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// settings is what a driver is opened with.
type settings struct {
	config  *pgx.ConnConfig
	classes map[string]int // connections of each class there is
	timeout time.Duration
	health  *health
	tally   *tally
}

// ErrOptions is what the error of an unreadable DSN, or of options that do not go together, wraps:
// trying again is of no use.
var ErrOptions = errors.New("the store's options are wrong")

// parseDSN reads a DSN. Of several hosts the one is taken that accepts writes, unless the DSN or
// the environment says otherwise, so that a standby that took over is found.
func parseDSN(dsn string, r role) (*pgx.ConnConfig, error) {
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
	if r == primary && len(places(config)) > 1 && config.ValidateConnect == nil && !saysAny(dsn) {
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

// where names the database in errors, without a password.
func where(config *pgx.ConnConfig) string {
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database
}

// connection is the configuration of a connection that serves requests: the server ends a statement
// of which the client may have lost sight, and hosts that do not answer leave time within a
// statement's for the next one, and for the statement. A statement whose time is over, or whose
// caller went away, is cancelled in the server and the connection lives on; unless it writes: to a
// commit that waits for a standby and is cancelled, PostgreSQL says that it was made, and a
// cancellation that comes late can be the next statement's. So after those the connection ends.
func (s settings) connection(class string) *pgx.ConnConfig {
	config := s.config.Copy()
	config.RuntimeParams["statement_timeout"] = strconv.FormatInt(max(1, s.timeout.Milliseconds()), 10)
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = s.timeout / time.Duration(len(places(config))+1)
	}
	if class != writes {
		config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
			return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelPatience}
		}
	}
	return config
}

// cancelPatience is how long a server has to say that it cancelled a statement; else its connection
// is closed. It says so within milliseconds, and pgx waits 100 ms more for cancellations that are
// late.
const cancelPatience = 250 * time.Millisecond

// errand has a connection of its own for what is done once in a while: migrating, seeding, looking
// after the audit.
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

// probes reports whether to check a connection that was idle for this time.
func (s settings) probes(ctx context.Context, idle time.Duration) bool {
	if !s.health.doubtful(idle) {
		return false
	}
	asks(ctx)
	return true
}
