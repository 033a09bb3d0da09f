package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"dyno/parts/batcher"
	"dyno/parts/refusal"
	"dyno/services/orders/order"
)

// driver is one database as one library reaches it. Its errors are the library's.
type driver interface {
	order(ctx context.Context, uid int64) (order.Order, error)
	fetch(ctx context.Context, uids []int64, answers []batcher.Answer[order.Order]) error // what is not there stays as it is
	orders(ctx context.Context, f order.Filter) ([]order.Order, error)                    // the newest first, up to f.Limit+1
	insert(ctx context.Context, s *submission) (order.Order, error)                       // order.ErrNotFound: the client order id was used
	existing(ctx context.Context, s *submission) (order.Order, []byte, error)             // with its digest
	ping(ctx context.Context) error
	pools() map[string]Pool
	close()
}

type (
	newDriver func(context.Context, settings) (driver, error)
	newLookup func(*database, Options) lookup
)

var drivers = map[string]newDriver{
	"pgxpool": openPgxpool,
	"sql":     openSQL,
}

var lookups = map[string]newLookup{
	"batch":  newBatched,
	"single": newSingle,
}

// assembly is the driver and the lookup that were chosen.
func (o Options) assembly() (newDriver, newLookup, error) {
	open, err := refusal.Pick("driver", drivers, o.Driver)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	look, err := refusal.Pick("lookup", lookups, o.Lookup)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	return open, look, nil
}

// database is one of the store's databases: it adds to the driver what is the same for all of them,
// deadlines, second attempts and what errors mean.
type database struct {
	driver  driver
	lookup  lookup
	where   string // host:port/name, for errors
	timeout time.Duration
	health  health
	tally   tally
}

// role is what a database is for.
type role int

const (
	primary role = iota
	replica
)

func newDatabase(ctx context.Context, dsn string, r role, o Options, open newDriver, look newLookup) (*database, error) {
	config, err := parseDSN(dsn, r)
	if err != nil {
		return nil, err
	}
	d := &database{where: where(config), timeout: o.Timeout}
	classes := map[string]int{reads: o.Reads, lists: o.Lists, writes: o.Writes}
	if o.Lookup == "batch" {
		delete(classes, reads)
		classes[batches] = o.Batches
	}
	if r == replica { // nothing else is asked of it
		delete(classes, lists)
		delete(classes, writes)
	}
	d.driver, err = open(ctx, settings{config: config, classes: classes, timeout: o.Timeout, health: &d.health, tally: &d.tally})
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", d.where, err)
	}
	d.lookup = look(d, o)
	return d, nil
}

// The classes of requests, each with connections of its own.
const (
	reads   = "reads"   // one order each
	batches = "batches" // many orders in one query
	lists   = "lists"   // pages
	writes  = "writes"  // submissions
)

func (d *database) close() {
	d.lookup.close()
	d.driver.close()
}

// bounded begins an attempt, and adds the time-out unless the caller has a deadline.
func (d *database) bounded(ctx context.Context) (*attempt, context.CancelFunc) {
	if _, dated := ctx.Deadline(); dated {
		return &attempt{Context: ctx}, func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	return &attempt{Context: ctx}, cancel
}

// again reports whether to retry what failed with err: the connection broke, so other connections
// that were open then must be checked before use.
func (d *database) again(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || !broken(err) {
		return false
	}
	d.health.broke()
	return true
}

func (d *database) order(caller context.Context, uid int64) (order.Order, error) {
	ctx, cancel := d.bounded(caller)
	defer cancel()
	o, err := d.driver.order(ctx, uid)
	if d.again(ctx, err) {
		o, err = d.driver.order(ctx, uid)
	}
	if err != nil && err != order.ErrNotFound {
		return order.Order{}, d.explain(ctx, "reading an order", err)
	}
	return o, err
}

// fetch leaves the batcher nothing to try again when it is the database that does not answer: then
// each of the uids alone would take its time-out. What PostgreSQL says else, one of them can be the
// cause of.
func (d *database) fetch(ctx context.Context, uids []int64, answers []batcher.Answer[order.Order]) error {
	err := d.driver.fetch(ctx, uids, answers)
	if d.again(ctx, err) {
		clear(answers)
		err = d.driver.fetch(ctx, uids, answers)
	}
	if err == nil {
		return nil
	}
	err = d.explain(ctx, "reading orders", err)
	if !errors.Is(err, order.ErrUnavailable) && !errors.Is(err, order.ErrBusy) {
		return err
	}
	for i := range answers {
		answers[i] = batcher.Answer[order.Order]{Err: err}
	}
	return nil
}

func (d *database) orders(caller context.Context, f order.Filter) ([]order.Order, error) {
	ctx, cancel := d.bounded(caller)
	defer cancel()
	rows, err := d.driver.orders(ctx, f)
	if d.again(ctx, err) {
		rows, err = d.driver.orders(ctx, f)
	}
	if err != nil {
		return nil, d.explain(ctx, "reading an account's orders", err)
	}
	return rows, nil
}

func (d *database) submit(caller context.Context, account string, m *order.Submission) (order.Receipt, error) {
	ctx, cancel := d.bounded(caller)
	defer cancel()
	s := submission{account: account, Submission: m, digest: digest(account, m)}
	receipt, err := s.submit(ctx, d.driver)
	if d.again(ctx, err) {
		receipt, err = s.submit(ctx, d.driver)
	}
	switch {
	case errors.Is(err, order.ErrConflict):
		return order.Receipt{}, err
	case err != nil:
		return order.Receipt{}, d.explain(ctx, "submitting an order", err)
	}
	return receipt, nil
}

func (d *database) ping(caller context.Context) error {
	ctx, cancel := d.bounded(caller)
	defer cancel()
	err := d.driver.ping(ctx)
	if d.again(ctx, err) {
		err = d.driver.ping(ctx)
	}
	if err != nil {
		return d.explain(ctx, "asking whether it answers", err)
	}
	return nil
}

// health knows when a connection was last found broken.
type health struct {
	at atomic.Int64 // nanoseconds since epoch; 0: never
}

var epoch = time.Now()

func (h *health) broke() { h.at.Store(int64(time.Since(epoch))) }

// doubtful reports whether a connection that was idle for this time must be checked before use:
// another has broken since, so that the server may have restarted; or a second has passed, as in
// both libraries.
func (h *health) doubtful(idle time.Duration) bool {
	if idle > time.Second {
		return true
	}
	at := h.at.Load()
	return at != 0 && idle >= time.Since(epoch)-time.Duration(at)
}
