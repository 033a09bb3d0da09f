package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dyno/parts/postgres/pgtest"
	"dyno/services/orders/order"

	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// table is a Source of orders in memory.
type table struct {
	mu    sync.Mutex
	rows  map[int64]order.Order
	err   error
	asked atomic.Int64
}

func newTable(orders ...order.Order) *table {
	t := &table{rows: make(map[int64]order.Order)}
	for _, o := range orders {
		t.rows[o.UID] = o
	}
	return t
}

func (t *table) Order(_ context.Context, uid int64) (order.Order, error) {
	t.asked.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return order.Order{}, t.err
	}
	o, ok := t.rows[uid]
	if !ok {
		return order.Order{}, fmt.Errorf("order %d: %w", uid, order.ErrNotFound)
	}
	return o, nil
}

// change creates the next version of an order.
func (t *table) change(uid int64, s order.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.rows[uid]
	o.UID, o.Status = uid, s
	o.Version++
	t.rows[uid] = o
}

func TestTerminalKeepsTerminalOrdersOnly(t *testing.T) {
	for s := order.New; s <= order.Cancelled; s++ {
		next := newTable(order.Order{UID: 1, Status: s, Version: 7})
		c := NewTerminal(next, 10)
		for range 3 {
			if o, err := c.Order(t.Context(), 1); err != nil || o != next.rows[1] {
				t.Fatalf("%s: %+v %v", s, o, err)
			}
		}
		want := int64(3)
		if s.Terminal() {
			want = 1
		}
		if got := next.asked.Load(); got != want {
			t.Errorf("%s, read 3 times: the source was asked %d times, want %d", s, got, want)
		}
	}
}

// TestTerminalShowsEveryChange reads and changes orders in random sequence: every answer is the
// current row.
func TestTerminalShowsEveryChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		next := newTable()
		c := NewTerminal(next, 4)
		uid := rapid.Int64Range(1, 6)
		t.Repeat(map[string]func(*rapid.T){
			"change": func(t *rapid.T) {
				id := uid.Draw(t, "uid")
				if !next.rows[id].Status.Terminal() {
					next.change(id, order.Status(rapid.IntRange(int(order.New), int(order.Cancelled)).Draw(t, "status")))
				}
			},
			"read": func(t *rapid.T) {
				id := uid.Draw(t, "uid")
				o, err := c.Order(context.Background(), id)
				if want, ok := next.rows[id]; o != want || ok != (err == nil) || !ok && !errors.Is(err, order.ErrNotFound) {
					t.Fatalf("%+v %v, want %+v", o, err, want)
				}
			},
		})
	})
}

func TestTerminalKeepsNoErrors(t *testing.T) {
	next := newTable(order.Order{UID: 1, Status: order.Filled})
	next.err = order.ErrUnavailable
	c := NewTerminal(next, 10)
	if _, err := c.Order(t.Context(), 1); !errors.Is(err, order.ErrUnavailable) {
		t.Fatal(err)
	}
	next.err = nil
	if o, err := c.Order(t.Context(), 1); err != nil || o.Status != order.Filled {
		t.Fatal(o, err)
	}
}

func TestMemoriesAreBounded(t *testing.T) {
	const size, many = 100, 10_000
	next := newTable()
	terminal, last := NewTerminal(next, size), NewLastKnown(size)
	for uid := int64(1); uid <= many; uid++ {
		o := order.Order{UID: uid, Status: order.Filled}
		next.rows[uid] = o
		if _, err := terminal.Order(t.Context(), uid); err != nil {
			t.Fatal(err)
		}
		last.Put(o, time.Unix(uid, 0))
	}
	terminal.orders.CleanUp()
	last.orders.CleanUp()
	if n := terminal.orders.EstimatedSize(); n > size {
		t.Errorf("Terminal keeps %d of at most %d", n, size)
	}
	if n := last.orders.EstimatedSize(); n > size {
		t.Errorf("LastKnown keeps %d of at most %d", n, size)
	}
}

func TestLastKnown(t *testing.T) {
	l := NewLastKnown(10)
	if o, at, ok := l.Get(1); ok {
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
		l.Put(order.Order{UID: 1, Version: step.version}, at(step.at))
		if o, when, ok := l.Get(1); !ok || o.Version != step.wantVersion || !when.Equal(at(step.wantAt)) {
			t.Errorf("step %d: version %d of %s, want %d of %s", i, o.Version, when, step.wantVersion, at(step.wantAt))
		}
	}
	if _, _, ok := l.Get(2); ok {
		t.Error("an order is known under another's uid")
	}
}
