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

// Filter answers without a query that an order does not exist, when that is certain: for uids up to
// a watermark below which no new ones are inserted (watermark.go explains why). It passes on uids
// above the watermark, and one percent of the nonexistent ones below.
//
// It helps against scans of uids that exist elsewhere: the gaps of one database and, with several
// shards, all uids of the other shards. Guesses above the watermark still cost a query each.
//
// (For dense uids, one bit per uid would be exact and take an eighth of the memory. A Bloom filter
// takes 10 bits per order, however far apart the uids are.)
type Filter struct {
	next   Source
	o      FilterOptions
	config *pgx.ConnConfig
	known  atomic.Pointer[known]

	line  string // lineage of the database that known describes; used by the goroutine only
	table uint32

	stop context.CancelFunc
	done sync.WaitGroup
}

// FilterOptions configure a Filter.
type FilterOptions struct {
	DSN    string        // of the primary that next reads
	Every  time.Duration // between loads of new orders; 0 means a minute
	Memory int           // bytes of the filter, 1.2 per order; further orders are passed on; 0 means 256 MiB
	Log    *slog.Logger  // nil means the default
}

const (
	connectTimeout = 10 * time.Second // of a first connection to the database
	loadRows       = 1 << 16          // uids in one query: 0.5 MiB
)

// NewFilter checks how the database assigns uids, and starts to load them. Close ends it.
func NewFilter(next Source, o FilterOptions) (*Filter, error) {
	o.Every = cmp.Or(max(o.Every, 0), time.Minute)
	o.Memory = cmp.Or(max(o.Memory, 0), 256<<20)
	o.Log = cmp.Or(o.Log, slog.Default())
	config, err := primary(o.DSN, "orders_filter")
	if err != nil {
		return nil, fmt.Errorf("opening the filter of known orders: %w", err)
	}
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

// Order returns the order, or order.ErrNotFound without a query if it is known not to exist.
func (f *Filter) Order(ctx context.Context, uid int64) (order.Order, error) {
	if f.known.Load().lacks(uid) {
		return order.Order{}, order.ErrNotFound
	}
	return f.next.Order(ctx, uid)
}

// Close ends the loading and waits for it. Answers from the known orders stay correct.
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
		if err != nil {
			f.o.Log.Warn("the filter of known orders stays as it is", "err", err)
		}
		if pause(ctx, f.o.Every) != nil {
			return
		}
	}
}

// round extends the filter to the uids assigned so far. Each round opens its own connection, so
// that a failover fails at most one round.
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
	if f.line != s.line || f.table != s.table || s.last < f.known.Load().watermark {
		f.known.Store(&known{}) // of another database, or of another history of it
		f.line, f.table = s.line, s.table
	}
	if s.last == f.known.Load().watermark || f.full() {
		return nil
	}
	if err := decide(ctx, conn, s); err != nil {
		return err
	}
	return f.load(ctx, conn, s.last)
}

// load reads the decided uids up to the watermark, and publishes each part when it is read.
func (f *Filter) load(ctx context.Context, conn *pgx.Conn, watermark int64) error {
	for k := f.known.Load(); k.watermark < watermark && !f.full(); {
		rows, err := conn.Query(ctx, `SELECT uid FROM orders WHERE uid > $1 AND uid <= $2 ORDER BY uid LIMIT $3`, k.watermark, watermark, loadRows)
		if err != nil {
			return fmt.Errorf("reading the uids after %d: %w", k.watermark, err)
		}
		uids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return fmt.Errorf("reading the uids after %d: %w", k.watermark, err)
		}
		upTo := watermark
		if len(uids) == loadRows {
			upTo = uids[len(uids)-1]
		}
		// Behind a pooler each query may have gone to another server; a failover goes one way only.
		if line, err := lineage(ctx, conn); err != nil || line != f.line {
			return cmp.Or(err, errMoved)
		}
		k = k.extend(uids, upTo)
		f.known.Store(k)
	}
	return nil
}

var errMoved = errors.New("another server has taken over while its uids were read")

// full reports whether another part could exceed the memory limit.
func (f *Filter) full() bool { return f.known.Load().bytes()+segmentBytes > f.o.Memory }
