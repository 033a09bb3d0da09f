// Package cache keeps answers in memory for the time when the database does not answer. They may be
// outdated, so each has the time of its reading.
//
// It is not for pages of orders, nor for access control: the caller checks that on the results. It
// starts no goroutines.
package cache

import (
	"time"

	"dyno/services/orders/order"

	"github.com/maypok86/otter/v2"
)

// LastKnown stores orders with the time of their reading, for answers marked as stale.
type LastKnown struct {
	orders *otter.Cache[int64, reading]
}

// reading is the state of an order at a time.
type reading struct {
	order order.Order
	at    time.Time
}

// NewLastKnown returns a store for about size orders of some 300 bytes each.
func NewLastKnown(size int) *LastKnown {
	return &LastKnown{orders: otter.Must(&otter.Options[int64, reading]{
		MaximumSize: max(size, 1),
		Executor:    func(do func()) { do() }, // without a goroutine of its own
	})}
}

// Put stores an order from a read that began at a time. Of several readings the one that began last
// is kept, in any order of arrival; of two with the same time, the higher version.
func (l *LastKnown) Put(o order.Order, at time.Time) {
	l.orders.Compute(o.UID, func(old reading, found bool) (reading, otter.ComputeOp) {
		if found && (old.at.After(at) || old.at.Equal(at) && old.order.Version >= o.Version) {
			return old, otter.CancelOp
		}
		return reading{order: o, at: at}, otter.WriteOp
	})
}

// Get returns the last known state of the order and its time: later changes are missing.
func (l *LastKnown) Get(uid int64) (o order.Order, at time.Time, ok bool) {
	r, ok := l.orders.GetIfPresent(uid)
	return r.order, r.at, ok
}
