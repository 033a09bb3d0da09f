// Package cache keeps orders in memory between the gateway and its database, never stale: a read
// that begins after an acknowledged commit sees that commit, whichever process wrote it.
//
//   - Terminal keeps orders that can never change again.
//   - Filter knows uids that do not exist, and answers for them without a query.
//   - LastKnown keeps answers that may be outdated, with the time of their reading.
//
// Terminal and Filter are Sources over a Source, and can be stacked. Each is for one database; a
// gateway with several shards needs one of each per shard. They are correct as long as the schema's
// rules hold: terminal orders do not change, and no uid is chosen by a client (each type documents
// what else it relies on). None is for pages of orders, nor for access control: the caller checks
// that on the results.
//
// Terminal and LastKnown start no goroutines. Filter owns one, which ends with Close.
package cache

import (
	"context"

	"dyno/services/orders/order"

	"github.com/maypok86/otter/v2"
)

// Source returns an order by its uid, in the primary's state when the call begins or later. It
// returns an error that wraps order.ErrNotFound when there is none. Any goroutine may call it.
type Source interface {
	Order(ctx context.Context, uid int64) (order.Order, error)
}

// bounded returns a cache of about size entries without a goroutine of its own.
func bounded[V any](size int) *otter.Cache[int64, V] {
	return otter.Must(&otter.Options[int64, V]{
		MaximumSize: max(size, 1),
		Executor:    func(do func()) { do() },
	})
}
