// Package cache keeps orders in memory between the gateway and its database, without ever answering with less
// than the caller may rely on: a read that begins after a commit was acknowledged sees that commit, whoever wrote.
//
//   - Terminal keeps orders that can never change again.
//   - Filter knows which uids do not exist, and says so without asking.
//   - LastKnown keeps answers that may be outdated, under the time of their reading, for who accepts that.
//
// Terminal and Filter are Sources over a Source, and can be stacked. Each is for one database; several shards take one
// of each per shard. They hold as long as the schema's rules do: terminal orders do not change, and no uid is
// given by hand (see each for what else it rests on). None is for pages of orders, or for anything of who may see
// an order: that is checked on what they return.
//
// Terminal and LastKnown start no goroutines. Filter owns one, which ends with Close.
package cache

import (
	"context"

	"dyno/services/orders/order"

	"github.com/maypok86/otter/v2"
)

// Source finds an order by its uid, as the primary has it when the call begins or later. It returns an error that
// wraps order.ErrNotFound when there is none. Any goroutine may call it.
type Source interface {
	Order(ctx context.Context, uid int64) (order.Order, error)
}

// bounded makes a memory of at most size entries, about; which of them stay depends on how often and how lately
// they were wanted. Its upkeep is done by the goroutines that call it.
func bounded[V any](size int) *otter.Cache[int64, V] {
	return otter.Must(&otter.Options[int64, V]{
		MaximumSize: max(size, 1),
		Executor:    func(do func()) { do() },
	})
}
