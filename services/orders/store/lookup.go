package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dyno/services/orders/batcher"
	"dyno/services/orders/order"
)

// lookup is how one order is read from a database.
type lookup interface {
	order(ctx context.Context, uid int64) (order.Order, error)
	begin(uid int64, w Waiter) error // errors.ErrUnsupported: it cannot
	late(uid int64) error
	stats() batcher.Stats
	close()
}

// single sends a query per call.
type single struct{ d *backend }

func newSingle(d *backend, _ Options) lookup { return single{d} }

func (l single) order(ctx context.Context, uid int64) (order.Order, error) {
	return l.d.order(ctx, uid)
}

func (single) begin(int64, Waiter) error { return errors.ErrUnsupported }

func (single) late(int64) error { return errors.ErrUnsupported }

func (single) stats() batcher.Stats { return batcher.Stats{} }

func (single) close() {}

// batched makes one query of the calls that wait at the moment.
type batched struct {
	b       *batcher.Batcher[int64, order.Order]
	d       *backend
	fetches *underway
}

func newBatched(d *backend, o Options) lookup {
	l := batched{d: d, fetches: &underway{}}
	l.b = batcher.New(batcher.Config[int64, order.Order]{
		Fetch:      l.fetch,
		Concurrent: o.batches(), // each has a connection of its own then
		MaxBatch:   o.MaxBatch,
		MaxWaiting: o.MaxWaiting,
		Timeout:    o.Timeout,
	})
	return l
}

func (l batched) fetch(ctx context.Context, uids []int64, answers []batcher.Answer[order.Order]) error {
	a := &attempt{Context: ctx}
	number := l.fetches.begin(a, uids)
	defer l.fetches.end(number)
	return l.d.fetch(a, uids, answers)
}

func (l batched) order(ctx context.Context, uid int64) (order.Order, error) {
	o, found, err := l.b.Do(ctx, uid)
	switch {
	case err != nil:
		return order.Order{}, l.explain(ctx, uid, err)
	case !found:
		return order.Order{}, order.ErrNotFound
	}
	return o, nil
}

// Waiter is a caller of Begin.
type Waiter = batcher.Waiter[order.Order]

func (l batched) begin(uid int64, w Waiter) error {
	if err := l.b.Begin(uid, w); err != nil {
		return l.refused(err)
	}
	return nil
}

func (l batched) late(uid int64) error {
	ended, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	return l.explain(ended, uid, context.DeadlineExceeded)
}

// refused says what an error of the batcher means; nil: it is none of its own.
func (l batched) refused(err error) error {
	switch {
	case errors.Is(err, batcher.ErrFull):
		return fmt.Errorf("%w for %s: send less, or allow more to wait", order.ErrBusy, l.d.where)
	case errors.Is(err, batcher.ErrClosed):
		return fmt.Errorf("%w: the store of %s was closed", order.ErrUnavailable, l.d.where)
	}
	return nil
}

// explain says what an error of the batcher, or the end of the caller's context, means. One of the
// database has been explained.
func (l batched) explain(ctx context.Context, uid int64, err error) error {
	if refused := l.refused(err); refused != nil {
		return refused
	}
	switch {
	case ctx.Err() == nil, ctx.Err() == context.DeadlineExceeded && err != context.DeadlineExceeded: // the fetch's
		return err
	}
	// It was with the database, or still in the queue. That another fetch under way has the order,
	// which began before the call, is taken for the first: that one has had as long.
	a := &attempt{Context: ctx}
	a.asked.Store(l.fetches.asked(uid))
	return l.d.explain(a, "reading an order", err)
}

func (l batched) stats() batcher.Stats { return l.b.Stats() }

func (l batched) close() { l.b.Close() }
