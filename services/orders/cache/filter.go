package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"dyno/services/orders/order"

	"github.com/jackc/pgx/v5"
)

// Filter answers that there is no such order without asking, when that is certain: for uids up to a mark below
// which none will be made any more (mark.go says why). Those above the mark are asked for, and one in a hundred of
// those that do not exist below it.
//
// It is worth something against scans over uids that exist elsewhere: the holes of one database, and with several
// shards, all that is on the others. Guesses above the mark cost a query each as before.
//
// (Where uids are dense, one bit per uid would be exact and take an eighth of this. A Bloom filter takes 10 bits
// for each order, however far their uids lie apart.)
type Filter struct {
	next   Source
	o      FilterOptions
	config *pgx.ConnConfig
	known  atomic.Pointer[known]

	line  string // of the database that known is about; the goroutine's
	table uint32

	passed, refused, rounds, failures atomic.Uint64

	stop context.CancelFunc
	done sync.WaitGroup
}

// FilterOptions say what to watch.
type FilterOptions struct {
	DSN    string        // of the primary that next reads
	Every  time.Duration // between looks for new orders; 0: a minute
	Memory int           // bytes for the filter, 1.2 per order; orders beyond are asked for; 0: 256 MiB
	Log    *slog.Logger  // nil: the default
}

// FilterStats counts since NewFilter.
type FilterStats struct {
	Refused  uint64 // calls answered without asking: not found
	Passed   uint64 // calls passed on
	Rounds   uint64 // looks for new orders
	Failures uint64 // of these; what was known stays
	Mark     int64  // uids up to it are known or not there
	Orders   int    // known
	Bytes    int    // of memory
}

const (
	connectTimeout = 10 * time.Second // for a first look at the database
	loadRows       = 1 << 16          // uids in one query: 0.5 MiB
)

// NewFilter looks whether the database's uids are made as they must be, and begins to load them. Close ends it.
func NewFilter(next Source, o FilterOptions) (*Filter, error) {
	o.Every = cmp.Or(max(o.Every, 0), time.Minute)
	o.Memory = cmp.Or(max(o.Memory, 0), 256<<20)
	o.Log = cmp.Or(o.Log, slog.Default())
	config, err := primary(o.DSN, "orders_filter")
	if err != nil {
		return nil, fmt.Errorf("opening the filter of known orders: %w", err)
	}
	// A commit of this connection must mean what the strictest writer's means, whatever the default is.
	config.RuntimeParams["synchronous_commit"] = "on"
	f := &Filter{next: next, o: o, config: config}
	f.known.Store(&known{})

	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	if err := f.check(ctx); err != nil {
		return nil, fmt.Errorf("opening the filter of known orders: %w", err)
	}
	ctx, f.stop = context.WithCancel(context.Background())
	f.done.Go(func() { f.run(ctx) })
	return f, nil
}

func (f *Filter) check(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, f.config)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	_, err = readSequence(ctx, conn)
	return err
}

// Order returns the order, or that there is none, if that is known.
func (f *Filter) Order(ctx context.Context, uid int64) (order.Order, error) {
	if f.known.Load().lacks(uid) {
		f.refused.Add(1)
		return order.Order{}, order.ErrNotFound
	}
	f.passed.Add(1)
	return f.next.Order(ctx, uid)
}

// Stats counts what happened so far.
func (f *Filter) Stats() FilterStats {
	k := f.known.Load()
	return FilterStats{
		Refused: f.refused.Load(), Passed: f.passed.Load(), Rounds: f.rounds.Load(), Failures: f.failures.Load(),
		Mark: k.mark, Orders: k.rows, Bytes: k.bytes(),
	}
}

// Close ends the loading and waits for it. The filter goes on answering with what it knows, which stays true.
func (f *Filter) Close() {
	f.stop()
	f.done.Wait()
}

func (f *Filter) run(ctx context.Context) {
	for {
		err := f.round(ctx)
		if ctx.Err() != nil {
			return
		}
		f.rounds.Add(1)
		if err != nil {
			f.failures.Add(1)
			f.o.Log.Warn("the filter of known orders stays as it is", "err", err)
		}
		if pause(ctx, f.o.Every) != nil {
			return
		}
	}
}

// round brings the filter up to the uids that have been given by now. Each has a connection of its own, so that a
// failover costs one round at most.
func (f *Filter) round(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, f.config)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	s, err := readSequence(ctx, conn)
	if err != nil {
		if errors.Is(err, errRules) {
			f.known.Store(&known{})
		}
		return err
	}
	if f.line != s.line || f.table != s.table || s.last < f.known.Load().mark {
		f.known.Store(&known{}) // another database's, or another history of it
		f.line, f.table = s.line, s.table
	}
	if s.last == f.known.Load().mark || f.full() {
		return nil
	}
	if err := decide(ctx, conn, s); err != nil {
		return err
	}
	return f.load(ctx, conn, s.last)
}

// load reads the uids up to the mark, which are decided, and makes each part known as it comes.
func (f *Filter) load(ctx context.Context, conn *pgx.Conn, mark int64) error {
	for k := f.known.Load(); k.mark < mark && !f.full(); {
		rows, err := conn.Query(ctx, `SELECT uid FROM orders WHERE uid > $1 AND uid <= $2 ORDER BY uid LIMIT $3`, k.mark, mark, loadRows)
		if err != nil {
			return fmt.Errorf("reading the uids after %d: %w", k.mark, err)
		}
		uids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return fmt.Errorf("reading the uids after %d: %w", k.mark, err)
		}
		upTo := mark
		if len(uids) == loadRows {
			upTo = uids[len(uids)-1]
		}
		k = k.extend(uids, upTo)
		f.known.Store(k)
	}
	return nil
}

// full reports whether another part could take more memory than is allowed.
func (f *Filter) full() bool { return f.known.Load().bytes()+segmentBytes > f.o.Memory }
