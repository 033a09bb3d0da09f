package cache

import (
	"context"

	"dyno/services/orders/order"

	"github.com/maypok86/otter/v2"
)

// Terminal keeps orders that are filled or cancelled. The database refuses to change or delete such
// an order, so an order that was read once stays correct and needs no invalidation.
//
// It relies on durable commits: a database that loses commits that were visible (synchronous_commit
// off and a crash, or a standby that takes over without the last commits) can make such an order
// open again, and Terminal does not notice.
type Terminal struct {
	next   Source
	orders *otter.Cache[int64, order.Order]
}

// NewTerminal returns a cache of about size of next's terminal orders, some 250 bytes each.
func NewTerminal(next Source, size int) *Terminal {
	return &Terminal{next: next, orders: bounded[order.Order](size)}
}

// Order returns the order, from memory if it is terminal and cached.
func (t *Terminal) Order(ctx context.Context, uid int64) (order.Order, error) {
	if o, ok := t.orders.GetIfPresent(uid); ok {
		return o, nil
	}
	o, err := t.next.Order(ctx, uid)
	if err == nil && o.Status.Terminal() {
		t.orders.Set(uid, o)
	}
	return o, err
}
