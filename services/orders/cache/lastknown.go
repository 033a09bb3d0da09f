package cache

import (
	"time"

	"dyno/services/orders/order"

	"github.com/maypok86/otter/v2"
)

// LastKnown remembers orders and when they were so. What it returns may be outdated, and is only for answers that
// say so.
type LastKnown struct {
	orders *otter.Cache[int64, reading]
}

// reading is an order as it was at a time.
type reading struct {
	order order.Order
	at    time.Time
}

// NewLastKnown makes a memory of about size orders, some 300 bytes each.
func NewLastKnown(size int) *LastKnown { return &LastKnown{orders: bounded[reading](size)} }

// Put remembers an order that a read found which began at that time. Of several readings the one that began last
// stays, in whatever order they come; of two at the same time, the higher version.
func (l *LastKnown) Put(o order.Order, at time.Time) {
	l.orders.Compute(o.UID, func(old reading, found bool) (reading, otter.ComputeOp) {
		if found && (old.at.After(at) || old.at.Equal(at) && old.order.Version >= o.Version) {
			return old, otter.CancelOp
		}
		return reading{order: o, at: at}, otter.WriteOp
	})
}

// Get returns the order as it was last known, and when that was: every change since is missing.
func (l *LastKnown) Get(uid int64) (o order.Order, at time.Time, ok bool) {
	r, ok := l.orders.GetIfPresent(uid)
	return r.order, r.at, ok
}
