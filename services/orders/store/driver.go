package store

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

// driver is one database as one library reaches it. It sends each statement once, and its errors
// are the library's. Its goroutines are the pools' own; Close waits for them.
type driver interface {
	Order(ctx context.Context, uid int64) (order.Order, error)
	Fetch(ctx context.Context, uids []int64, answers []batcher.Answer[order.Order]) error // what is not there stays as it is
	Orders(ctx context.Context, f order.Filter) ([]order.Order, error)                    // the newest first, up to f.Limit+1
	Insert(ctx context.Context, s *submission) (order.Order, error)                       // order.ErrNotFound: the client order id was used
	Existing(ctx context.Context, s *submission) (order.Order, []byte, error)             // with its digest
	Ping(ctx context.Context) error                                                       // of reads, and of classes that have no connection yet
	Pools() map[string]Pool
	Close()
}

// drivers are the libraries by name.
var drivers = map[string]func(context.Context, settings) (driver, error){
	"pgxpool": openPgxpool,
	"sql":     openSQL,
}

// submission is what is written.
type submission struct {
	*order.Submission
	owner  string // the account
	digest [sha256.Size]byte
}

// The classes of requests, each with connections of its own.
const (
	classReads   = "reads"   // one order each
	classBatches = "batches" // many orders in one query
	classLists   = "lists"   // pages
	classWrites  = "writes"  // submissions
)

// settings is what a driver is opened with.
type settings struct {
	config  *pgx.ConnConfig
	classes map[string]int // connections of each class there is
	timeout time.Duration  // of a statement
	pooled  bool           // a pooler may give each transaction another session of the server (see probe)
	health  *health
	tally   *tally
}

// connection is the configuration of a connection that serves requests. Its start-up parameters
// have the server end a statement of which the client may have lost sight; poolers do not take
// them. Hosts that do not answer leave time within a statement's for the next one, and for the
// statement. A statement whose time is over, or whose caller went away, is cancelled in the server
// and the connection lives on; unless it writes: to a commit that waits for a standby and is
// cancelled, PostgreSQL says that it was made, and a cancellation that comes late can be the next
// statement's. So after those the connection ends; and behind a pooler after all: PgBouncer 1.18,
// Debian 12's, crashes by some cancellations.
func (s settings) connection(class string) *pgx.ConnConfig {
	config := s.config.Copy()
	if !s.pooled {
		config.RuntimeParams["statement_timeout"] = s.milliseconds()
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = s.timeout / time.Duration(len(database.Places(config))+1)
	}
	if class != classWrites && !s.pooled {
		config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
			return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelPatience}
		}
	}
	return config
}

// milliseconds is the time-out as PostgreSQL reads it.
func (s settings) milliseconds() string {
	return strconv.FormatInt(max(1, s.timeout.Milliseconds()), 10)
}

// cancelPatience is how long a server has to say that it cancelled a statement; else its connection
// is closed. It says so within milliseconds, and pgx waits 100 ms more for cancellations that are
// late.
const cancelPatience = 250 * time.Millisecond

// probes reports whether to check a connection that was idle for this time.
func (s settings) probes(ctx context.Context, idle time.Duration) bool {
	if !s.health.doubtful(idle) {
		return false
	}
	asks(ctx)
	return true
}
