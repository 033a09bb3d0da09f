package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dyno/services/orders/batcher"
	"dyno/services/orders/database"
	"dyno/services/orders/order"
)

var lookups = map[string]func(*backend, Options) lookup{
	"batch":  newBatched,
	"single": newSingle,
}

// backend is one of the store's databases: it adds to the driver what is the same for all of them,
// deadlines, second attempts and what errors mean.
type backend struct {
	driver  driver
	lookup  lookup
	where   string // host:port/name, for errors
	timeout time.Duration
	health  health
	tally   tally
}

func newBackend(ctx context.Context, text string, r database.Role, o Options) (*backend, error) {
	config, err := database.ParseDSN(text, r)
	if err != nil {
		return nil, err
	}
	d := &backend{where: database.Where(config), timeout: o.Timeout}
	classes := map[string]int{classReads: o.Reads, classLists: o.Lists, classWrites: o.Writes}
	if o.Lookup == "batch" {
		delete(classes, classReads)
		classes[classBatches] = o.batches()
	}
	if r == database.Replica { // nothing else is asked of it
		delete(classes, classLists)
		delete(classes, classWrites)
	}
	s := settings{config: config, classes: classes, timeout: o.Timeout, health: &d.health, tally: &d.tally}
	if s.pooled, err = d.pooled(ctx, s, r, o); err != nil {
		return nil, err
	}
	d.driver, err = drivers[o.Driver](ctx, s)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", d.where, err)
	}
	d.lookup = lookups[o.Lookup](d, o)
	return d, nil
}

func (d *backend) close() {
	d.lookup.close()
	d.driver.Close()
}

// bounded begins an attempt, and adds the time-out unless the caller has a deadline.
func (d *backend) bounded(ctx context.Context) (*attempt, context.CancelFunc) {
	if _, dated := ctx.Deadline(); dated {
		return &attempt{Context: ctx}, func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	return &attempt{Context: ctx}, cancel
}

// again reports whether to retry what failed with err: the connection broke, so other connections
// that were open then must be checked before use.
func (d *backend) again(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || !database.Broken(err) {
		return false
	}
	d.health.broke()
	return true
}

// twice does something within the caller's deadline or the time-out, and again, once, when its
// connection broke. What an error means is explained, but for those that are answers.
func twice[T any](d *backend, caller context.Context, doing string, do func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := d.bounded(caller)
	defer cancel()
	out, err := do(ctx)
	if d.again(ctx, err) {
		out, err = do(ctx)
	}
	if err == nil {
		return out, nil
	}
	if err != order.ErrNotFound && !errors.Is(err, order.ErrConflict) {
		err = d.explain(ctx, doing, err)
	}
	return *new(T), err
}

func (d *backend) order(ctx context.Context, uid int64) (order.Order, error) {
	return twice(d, ctx, "reading an order", func(ctx context.Context) (order.Order, error) { return d.driver.Order(ctx, uid) })
}

// fetch leaves the batcher nothing to try again when it is the database that does not answer: then
// each of the uids alone would take its time-out. What PostgreSQL says else, one of them can be the
// cause of.
func (d *backend) fetch(ctx context.Context, uids []int64, answers []batcher.Answer[order.Order]) error {
	err := d.driver.Fetch(ctx, uids, answers)
	if d.again(ctx, err) {
		clear(answers)
		err = d.driver.Fetch(ctx, uids, answers)
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

func (d *backend) orders(ctx context.Context, f order.Filter) ([]order.Order, error) {
	return twice(d, ctx, "reading an account's orders", func(ctx context.Context) ([]order.Order, error) { return d.driver.Orders(ctx, f) })
}

func (d *backend) submit(ctx context.Context, account string, m *order.Submission) (order.Receipt, error) {
	s := &submission{Submission: m, owner: account, digest: m.Digest(account)}
	return twice(d, ctx, "submitting an order", func(ctx context.Context) (order.Receipt, error) { return submitTo(ctx, d.driver, s) })
}

func (d *backend) ping(ctx context.Context) error {
	_, err := twice(d, ctx, "asking whether it answers", func(ctx context.Context) (struct{}, error) { return struct{}{}, d.driver.Ping(ctx) })
	return err
}

// explain says what an error of the driver means: order.ErrBusy when the time was over before the
// database was asked anything, otherwise what database.Explain says.
func (d *backend) explain(ctx context.Context, doing string, err error) error {
	if unasked(ctx) && !errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%w: the time for %s in %s was over before a connection was free: send less, or allow more connections", order.ErrBusy, doing, d.where)
	}
	return database.Explain(ctx, d.where, doing, err)
}
