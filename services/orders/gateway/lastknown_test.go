package gateway

import (
	"testing"
	"time"

	"dyno/services/orders/order"
)

func TestLastKnownIsBounded(t *testing.T) {
	const size, many = 100, 10_000
	last := newLastKnown(size)
	for uid := int64(1); uid <= many; uid++ {
		last.put(order.Order{UID: uid}, time.Unix(uid, 0))
	}
	last.orders.CleanUp()
	if n := last.orders.EstimatedSize(); n > size {
		t.Errorf("it keeps %d of at most %d", n, size)
	}
}

func TestLastKnown(t *testing.T) {
	l := newLastKnown(10)
	if o, at, ok := l.get(1); ok {
		t.Fatal(o, at)
	}
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	for i, step := range []struct{ version, at, wantVersion, wantAt int64 }{
		{version: 2, at: 10, wantVersion: 2, wantAt: 10},
		{version: 1, at: 9, wantVersion: 2, wantAt: 10},  // read later
		{version: 2, at: 20, wantVersion: 2, wantAt: 20}, // unchanged, but confirmed later
		{version: 1, at: 20, wantVersion: 2, wantAt: 20}, // at the same moment
		{version: 3, at: 20, wantVersion: 3, wantAt: 20}, //
		{version: 1, at: 30, wantVersion: 1, wantAt: 30}, // the database was restored to an earlier state
		{version: 9, at: 29, wantVersion: 1, wantAt: 30}, //
	} {
		l.put(order.Order{UID: 1, Version: step.version}, at(step.at))
		if o, when, ok := l.get(1); !ok || o.Version != step.wantVersion || !when.Equal(at(step.wantAt)) {
			t.Errorf("step %d: version %d of %s, want %d of %s", i, o.Version, when, step.wantVersion, at(step.wantAt))
		}
	}
	if _, _, ok := l.get(2); ok {
		t.Error("an order is known under another's uid")
	}
}
