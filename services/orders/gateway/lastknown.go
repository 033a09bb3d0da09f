package gateway

import (
	"time"

	"dyno/services/orders/order"

	"github.com/maypok86/otter/v2"
)

// lastKnown keeps orders with the time of their reading, for answers while the database does not
// answer: they are marked as stale. It checks no rights.
type lastKnown struct {
	orders *otter.Cache[int64, reading]
}

// reading is the state of an order at a time.
type reading struct {
	order order.Order
	at    time.Time
}

// newLastKnown returns a store for about size orders of some 300 bytes each.
func newLastKnown(size int) *lastKnown {
	return &lastKnown{orders: otter.Must(&otter.Options[int64, reading]{
		MaximumSize: max(size, 1),
		Executor:    func(do func()) { do() }, // without a goroutine of its own
	})}
}

// put stores an order from a read that began at a time. Of several readings the one that began last
// is kept, in any order of arrival; of two with the same time, the higher version.
func (l *lastKnown) put(o order.Order, at time.Time) {
	l.orders.Compute(o.UID, func(old reading, found bool) (reading, otter.ComputeOp) {
		if found && (old.at.After(at) || old.at.Equal(at) && old.order.Version >= o.Version) {
			return old, otter.CancelOp
		}
		return reading{order: o, at: at}, otter.WriteOp
	})
}

// get returns the last known state of the order and its time: later changes are missing.
func (l *lastKnown) get(uid int64) (o order.Order, at time.Time, ok bool) {
	r, ok := l.orders.GetIfPresent(uid)
	return r.order, r.at, ok
}
