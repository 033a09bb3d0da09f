// Package driver sends the statements of orders to one database, by one of two libraries: "sql" is
// idiomatic database/sql, "pgxpool" sends prepared statements and decodes the binary rows with its
// own code. Each class of request has its own connections, so that slow pages take none from the
// queries of one order.
//
// It sends each statement once, and leaves errors as the library says them. Its goroutines are the
// pools' own; Close waits for them.
package driver

import (
	"context"
	"crypto/sha256"
	"strconv"
	"time"

	"dyno/services/orders/batcher"
	"dyno/services/orders/database"
	"dyno/services/orders/order"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// Driver is one database as one library reaches it. Its errors are the library's.
type Driver interface {
	Order(ctx context.Context, uid int64) (order.Order, error)
	Fetch(ctx context.Context, uids []int64, answers []batcher.Answer[order.Order]) error // what is not there stays as it is
	Orders(ctx context.Context, f order.Filter) ([]order.Order, error)                    // the newest first, up to f.Limit+1
	Insert(ctx context.Context, s *Submission) (order.Order, error)                       // order.ErrNotFound: the client order id was used
	Existing(ctx context.Context, s *Submission) (order.Order, []byte, error)             // with its digest
	Ping(ctx context.Context) error                                                       // of reads, and of classes that have no connection yet
	Pools() map[string]Pool
	Close()
}

// Named are the libraries by name.
var Named = map[string]func(context.Context, Settings) (Driver, error){
	"pgxpool": openPgxpool,
	"sql":     openSQL,
}

// Submission is what is written.
type Submission struct {
	*order.Submission
	Owner  string // the account
	Digest [sha256.Size]byte
}

// The classes of requests, each with connections of its own.
const (
	Reads   = "reads"   // one order each
	Batches = "batches" // many orders in one query
	Lists   = "lists"   // pages
	Writes  = "writes"  // submissions
)

// Settings is what a driver is opened with.
type Settings struct {
	Config  *pgx.ConnConfig
	Classes map[string]int // connections of each class there is
	Timeout time.Duration  // of a statement
	Pooled  bool           // a pooler may give each transaction another session of the server (Probe)
	Health  *Health
	Tally   *Tally
}

// connection is the configuration of a connection that serves requests. Its start-up parameters
// have the server end a statement of which the client may have lost sight; poolers do not take
// them. Hosts that do not answer leave time within a statement's for the next one, and for the
// statement. A statement whose time is over, or whose caller went away, is cancelled in the server
// and the connection lives on; unless it writes: to a commit that waits for a standby and is
// cancelled, PostgreSQL says that it was made, and a cancellation that comes late can be the next
// statement's. So after those the connection ends; and behind a pooler after all: PgBouncer 1.18,
// Debian 12's, crashes by some cancellations.
func (s Settings) connection(class string) *pgx.ConnConfig {
	config := s.Config.Copy()
	if !s.Pooled {
		config.RuntimeParams["statement_timeout"] = s.milliseconds()
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = s.Timeout / time.Duration(len(database.Places(config))+1)
	}
	if class != Writes && !s.Pooled {
		config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
			return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelPatience}
		}
	}
	return config
}

// milliseconds is the time-out as PostgreSQL reads it.
func (s Settings) milliseconds() string {
	return strconv.FormatInt(max(1, s.Timeout.Milliseconds()), 10)
}

// cancelPatience is how long a server has to say that it cancelled a statement; else its connection
// is closed. It says so within milliseconds, and pgx waits 100 ms more for cancellations that are
// late.
const cancelPatience = 250 * time.Millisecond

// probes reports whether to check a connection that was idle for this time.
func (s Settings) probes(ctx context.Context, idle time.Duration) bool {
	if !s.Health.doubtful(idle) {
		return false
	}
	asks(ctx)
	return true
}
