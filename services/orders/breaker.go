package orders

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"dyno/services/orders/order"

	"github.com/sony/gobreaker/v2"
)

// breaker keeps requests from a database that does not answer, so that they fail at once instead of each after
// its time-out. While all is well it costs an order query an atomic load.
type breaker struct {
	store   database
	breaker *gobreaker.CircuitBreaker[struct{}]
	uneasy  atomic.Bool // an order query failed since the last success, or the breaker is not closed
}

// database is a store.Store.
type database interface {
	Order(ctx context.Context, uid int64) (order.Order, error)
	OrderAtLeast(ctx context.Context, uid, version int64) (order.Order, error)
	Orders(ctx context.Context, f order.Filter) (order.Page, error)
	Submit(ctx context.Context, account string, m *order.Submission) (order.Receipt, error)
}

const (
	// breakerFailures in a row open it: more than the handful of connections that break when one database
	// process dies, fewer than a moment's requests.
	breakerFailures = 20

	// breakerPause is how long it stays open before a request tries again. A database that has come back is
	// to be in use within 2 s.
	breakerPause = 500 * time.Millisecond
)

// errOpen says that the database was not even asked.
var errOpen = errors.New("the breaker is open")

func newBreaker(s database, log *slog.Logger) *breaker {
	b := &breaker{store: s}
	b.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name:         "database",
		Timeout:      breakerPause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakerFailures },
		IsSuccessful: func(err error) bool { return !errors.Is(err, order.ErrUnavailable) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			log.Warn("the breaker of the database changes", "state", to.String())
		},
	})
	return b
}

// guard calls the database unless the breaker is open.
func guard[T any](b *breaker, call func() (T, error)) (out T, err error) {
	_, opened := b.breaker.Execute(func() (struct{}, error) {
		out, err = call()
		return struct{}{}, err
	})
	if errors.Is(opened, gobreaker.ErrOpenState) || errors.Is(opened, gobreaker.ErrTooManyRequests) {
		return out, errOpen
	}
	if err == nil && b.breaker.State() == gobreaker.StateClosed {
		b.uneasy.Store(false)
	}
	return out, err
}

// Order reads an order. It is what is called most, so while all is well it asks nobody else.
func (b *breaker) Order(ctx context.Context, uid int64) (order.Order, error) {
	if b.uneasy.Load() {
		return guard(b, func() (order.Order, error) { return b.store.Order(ctx, uid) })
	}
	o, err := b.store.Order(ctx, uid)
	if errors.Is(err, order.ErrUnavailable) {
		b.uneasy.Store(true)
		b.breaker.Execute(func() (struct{}, error) { return struct{}{}, err })
	}
	return o, err
}

// OrderAtLeast reads an order where it has that version.
func (b *breaker) OrderAtLeast(ctx context.Context, uid, version int64) (order.Order, error) {
	return guard(b, func() (order.Order, error) { return b.store.OrderAtLeast(ctx, uid, version) })
}

// Orders reads a page.
func (b *breaker) Orders(ctx context.Context, f order.Filter) (order.Page, error) {
	return guard(b, func() (order.Page, error) { return b.store.Orders(ctx, f) })
}

// Submit makes an order.
func (b *breaker) Submit(ctx context.Context, account string, m *order.Submission) (order.Receipt, error) {
	return guard(b, func() (order.Receipt, error) { return b.store.Submit(ctx, account, m) })
}
