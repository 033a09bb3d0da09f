package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"dyno/services/orders/database"
	"dyno/services/orders/order"

	"github.com/sony/gobreaker/v2"
)

// breaker rejects requests for a database that does not answer, so that they fail immediately
// instead of each after its time-out. Each class of requests has its own circuit for each shard: a
// failure of one class does not imply that the others fail.
type breaker struct {
	store    orderStore
	shards   int
	circuits [classes][]*circuit
}

// circuit is a breaker, and why it opened.
type circuit struct {
	*gobreaker.CircuitBreaker[struct{}]
	refused atomic.Bool // by what the database said last: it is there, and lets the gateway in for nothing
}

// orderStore is a store.Store.
type orderStore interface {
	Order(ctx context.Context, uid int64) (order.Order, error)
	OrderAtLeast(ctx context.Context, uid, version int64) (order.Order, error)
	Orders(ctx context.Context, f order.Filter) (order.Page, error)
	Submit(ctx context.Context, account string, m *order.Submission) (order.Receipt, error)
}

const (
	// breakerFailures in a row open it: more than the handful of connections that break when one
	// database process dies, fewer than a moment's requests.
	breakerFailures = 20

	// breakerPause is how long a circuit stays open before a request tries again. A recovered database
	// must be in use within 2 s.
	breakerPause = 500 * time.Millisecond
)

// errOpen says that the database was not even asked.
var errOpen = errors.New("the breaker is open")

func newBreaker(s orderStore, shards int, log *slog.Logger) *breaker {
	b := &breaker{store: s, shards: shards}
	for class := range classes {
		for shard := range shards {
			name := fmt.Sprintf("%s of shard %d", classNames[class], shard)
			b.circuits[class] = append(b.circuits[class], &circuit{CircuitBreaker: gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
				Name:        name,
				Timeout:     breakerPause,
				ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakerFailures },
				IsSuccessful: func(err error) bool {
					return !errors.Is(err, order.ErrUnavailable) && !errors.Is(err, order.ErrRefused)
				},
				IsExcluded: inconclusive,
				OnStateChange: func(name string, _, to gobreaker.State) {
					log.Warn("a breaker changes", "of", name, "state", to.String())
				},
			})})
		}
	}
	return b
}

// inconclusive reports whether an error implies nothing about the database: the caller went away,
// or its time was over before the database was asked.
func inconclusive(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, order.ErrBusy)
}

// open counts the circuits of a class that are not closed.
func (b *breaker) open(class int) (n int) {
	for _, c := range b.circuits[class] {
		if c.State() != gobreaker.StateClosed {
			n++
		}
	}
	return n
}

// guard calls the database unless the circuit is open.
func guard[T any](c *circuit, call func() (T, error)) (out T, err error) {
	_, refused := c.Execute(func() (struct{}, error) {
		out, err = call()
		return struct{}{}, c.noted(err)
	})
	if errors.Is(refused, gobreaker.ErrOpenState) || errors.Is(refused, gobreaker.ErrTooManyRequests) {
		if c.refused.Load() {
			return out, order.ErrRefused
		}
		return out, errOpen
	}
	return out, err
}

// noted remembers why the circuit may be about to open.
func (c *circuit) noted(err error) error {
	if refused := errors.Is(err, order.ErrRefused); refused != c.refused.Load() && !inconclusive(err) {
		c.refused.Store(refused)
	}
	return err
}

func (b *breaker) ofUID(uid int64) *circuit {
	return b.circuits[classRead][database.UIDShard(uid, b.shards)]
}

func (b *breaker) ofAccount(class int, account string) *circuit {
	return b.circuits[class][database.AccountShard(account, b.shards)]
}

// Order reads an order.
func (b *breaker) Order(ctx context.Context, uid int64) (order.Order, error) {
	return guard(b.ofUID(uid), func() (order.Order, error) { return b.store.Order(ctx, uid) })
}

// closed reports whether the database is asked for an order without further ado.
func (b *breaker) closed(uid int64) bool { return b.ofUID(uid).State() == gobreaker.StateClosed }

// learn takes in how a read ended that began when the breaker was closed.
func (b *breaker) learn(uid int64, err error) {
	c := b.ofUID(uid)
	c.Execute(func() (struct{}, error) { return struct{}{}, c.noted(err) })
}

// OrderAtLeast reads an order where it has that version.
func (b *breaker) OrderAtLeast(ctx context.Context, uid, version int64) (order.Order, error) {
	return guard(b.ofUID(uid), func() (order.Order, error) { return b.store.OrderAtLeast(ctx, uid, version) })
}

// Orders reads a page.
func (b *breaker) Orders(ctx context.Context, f order.Filter) (order.Page, error) {
	return guard(b.ofAccount(classList, f.Account), func() (order.Page, error) { return b.store.Orders(ctx, f) })
}

// Submit makes an order.
func (b *breaker) Submit(ctx context.Context, account string, m *order.Submission) (order.Receipt, error) {
	return guard(b.ofAccount(classWrite, account), func() (order.Receipt, error) { return b.store.Submit(ctx, account, m) })
}
