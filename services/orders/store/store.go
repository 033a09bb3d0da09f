// Package store keeps orders in PostgreSQL: one order by its uid, an account's orders page by page,
// submissions with their audit record in one transaction. It brings the schema (package database).
//
// Two seams decide how it talks to the database: the driver ("sql" is idiomatic database/sql,
// "pgxpool" sends prepared statements and decodes the binary rows with its own code) and the lookup
// of one order ("single" is a query per call, "batch" makes one query of all calls that wait at the
// moment). Each class of request has its own connections, so that slow pages take none from the
// queries of one order.
//
// What a read returns was read after the read began: nothing is cached here. A read that finds its
// connection broken is sent again, once, and so is a submission, which is idempotent. After a
// restart of the database all operations recover automatically.
//
// Several DSNs are shards: an account's orders are in one (database.AccountShard), and uids say
// which (database.UIDShard), so that no request needs two. There are no commits across shards, and
// the layout of a database cannot be changed.
//
// It is not a cache, checks no rights, and does not start a database. A Store owns its connections,
// the goroutines of its batchers, one that keeps the audit's partitions, and one that watches how
// often connections are used again; Close waits for all.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dyno/parts/refusal"
	"dyno/services/orders/database"
	"dyno/services/orders/order"
)

// Options say where the orders are and how to get at them.
type Options struct {
	DSNs    []string // at least one; several are shards, in order
	Owners  []string // the same databases as their owner, who migrates; none: the roles of DSNs do
	Replica string   // of the only DSN: answers OrderAtLeast when it has come that far

	Driver string `seam:"driver"` // of drivers
	Lookup string `seam:"lookup"` // batch or single

	// Connections per class and database. With Lookup "batch", Batches are used instead of Reads.
	Reads    int `set:"reads" default:"16" min:"1" max:"1000" tune:"true" doc:"database connections for order queries (lookup=single)"`
	Lists    int `set:"lists" default:"4" min:"1" max:"1000" tune:"true" doc:"database connections for lists"`
	Writes   int `set:"writes" default:"8" min:"1" max:"1000" tune:"true" doc:"database connections for submits"`
	Batches  int `set:"batches" default:"0" min:"0" max:"64" tune:"true" doc:"database connections for batched order queries (lookup=batch), each for one batch; 0: one for each core, 2 to 16"`
	MaxBatch int `set:"max_batch" default:"256" min:"1" max:"10000" tune:"true" doc:"order queries in one batch"`

	// MaxWaiting calls wait for a fetch; further ones are order.ErrBusy.
	MaxWaiting int `set:"max_waiting" default:"8192" min:"1" max:"16777216" doc:"order queries that wait for a batch; above it 503"`

	// Timeout is of a statement, when the caller sets none; also the server's statement_timeout.
	Timeout time.Duration `set:"timeout" default:"2s" min:"10ms" max:"1m" doc:"time limit of a request, which its statement has too"`

	// AuditRetention is the age at which audit partitions are dropped. Default partition:
	// audit_ahead.
	AuditRetention time.Duration `set:"audit_retention" default:"0s" min:"0s" max:"876000h" doc:"time that audit records are kept, in whole months; 0: for ever"`

	Log *slog.Logger // of what happens in the background
}

// batches is how many batches run concurrently: PostgreSQL runs each on a core of its own, and
// with more than one, it works on the next batch while the answers to one are read.
func (o Options) batches() int {
	if o.Batches > 0 {
		return o.Batches
	}
	return min(max(2, runtime.GOMAXPROCS(0)), 16)
}

// Store is the orders of all shards.
type Store struct {
	options Options
	shards  []*backend
	replica *backend
	thrift  *thrift

	replicaRests atomic.Int64 // until then (Unix nanoseconds) the replica is not asked, because it failed

	stop context.CancelFunc
	done sync.WaitGroup
}

// Open connects, migrates, and checks that each database is the shard that it is taken for. The
// error is order.ErrUnavailable when a database cannot be reached, database.ErrOptions when the
// options are wrong.
func Open(ctx context.Context, o Options) (*Store, error) {
	if _, err := refusal.Pick("driver", drivers, o.Driver); err != nil {
		return nil, fmt.Errorf("%w: %w", database.ErrOptions, err)
	}
	if _, err := refusal.Pick("lookup", lookups, o.Lookup); err != nil {
		return nil, fmt.Errorf("%w: %w", database.ErrOptions, err)
	}
	switch {
	case len(o.DSNs) == 0:
		return nil, fmt.Errorf("%w: the store needs the DSN of a database, such as postgres://user@host:5432/orders", database.ErrOptions)
	case len(o.Owners) > 0 && len(o.Owners) != len(o.DSNs):
		return nil, fmt.Errorf("%w: %d databases have %d DSNs of owners: give each one, in the same order, or none", database.ErrOptions, len(o.DSNs), len(o.Owners))
	case o.Replica != "" && len(o.DSNs) > 1:
		return nil, fmt.Errorf("%w: a replica can only stand beside a single DSN, not beside several shards", database.ErrOptions)
	}
	if err := o.prepare(ctx); err != nil {
		return nil, err
	}
	s := &Store{options: o}
	for _, text := range o.DSNs {
		d, err := newBackend(ctx, text, database.Primary, o)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.shards = append(s.shards, d)
	}
	if o.Replica != "" {
		d, err := newBackend(ctx, o.Replica, database.Replica, o)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("the replica: %w", err)
		}
		s.replica = d
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.thrift = newThrift(s.Stats())
	s.done.Go(func() { s.keepAudit(background) })
	s.done.Go(func() { s.watchThrift(background) })
	return s, nil
}

// Order reads an order from its primary. The error is order.ErrNotFound itself, or wraps
// order.ErrUnavailable, order.ErrBusy or context.Canceled.
func (s *Store) Order(ctx context.Context, uid int64) (order.Order, error) {
	if uid < 1 {
		return order.Order{}, order.ErrNotFound
	}
	return s.shards[database.UIDShard(uid, len(s.shards))].lookup.order(ctx, uid)
}

// Begin is Order without the wait: w gets the answer, whose error is one of Order's. With an error
// here it does not; errors.ErrUnsupported says that this store does not batch.
func (s *Store) Begin(uid int64, w Waiter) error {
	if uid < 1 {
		return order.ErrNotFound
	}
	return s.shards[database.UIDShard(uid, len(s.shards))].lookup.begin(uid, w)
}

// Late is the error of a call of Begin that was given up after its time.
func (s *Store) Late(uid int64) error {
	return s.shards[database.UIDShard(uid, len(s.shards))].lookup.late(uid)
}

// Orders reads a page of an account's orders. An account without orders has one empty page.
func (s *Store) Orders(ctx context.Context, f order.Filter) (order.Page, error) {
	f.Limit = max(1, min(f.Limit, maxPage))
	d := s.shards[database.AccountShard(f.Account, len(s.shards))]
	rows, err := d.orders(ctx, f) // one more than asked for, to know whether there are more
	if err != nil {
		return order.Page{}, err
	}
	if len(rows) <= f.Limit {
		return order.Page{Orders: rows}, nil
	}
	rows = slices.Clip(rows[:f.Limit])
	return order.Page{Orders: rows, Next: rows[len(rows)-1].UID}, nil
}

// maxPage bounds what a page takes of memory; the API allows 500.
const maxPage = 1000

// Submit makes an order and its audit record in one transaction, or finds the order that the same
// submission has made before. The error wraps order.ErrConflict when the account used the client
// order id for another order, or order.ErrUnavailable: then nothing is known of it and it can be
// sent again.
func (s *Store) Submit(ctx context.Context, account string, m *order.Submission) (order.Receipt, error) {
	return s.shards[database.AccountShard(account, len(s.shards))].submit(ctx, account, m)
}

// Ping reports whether every shard's primary answers. A replica does not matter: nothing needs it.
func (s *Store) Ping(ctx context.Context) error {
	for _, d := range s.shards {
		if err := d.ping(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the background work, and the connections once all callers have returned them.
func (s *Store) Close() {
	s.endBackground()
	for _, d := range s.shards {
		d.close()
	}
	if s.replica != nil {
		s.replica.close()
	}
}

func (s *Store) endBackground() {
	if s.stop != nil { // nil: Open failed before
		s.stop()
	}
	s.done.Wait()
}
