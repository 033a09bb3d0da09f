package agent

import (
	"database/sql"
	"maps"
	"testing"
	"testing/synctest"
	"time"
)

func TestDBStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{})
		defer a.Close()
		a.DBStats("orders", func() sql.DBStats {
			return sql.DBStats{OpenConnections: 8, InUse: 5, Idle: 3, WaitCount: 40, WaitDuration: 1500 * time.Millisecond}
		})
		want := map[string]float64{"orders_open": 8, "orders_in_use": 5, "orders_wait_count": 40, "orders_wait_seconds": 1.5}
		if s := next(t, join(t, a)); !maps.Equal(s.Gauges, want) {
			t.Errorf("gauges %v, want %v", s.Gauges, want)
		}
	})
}

func TestPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{})
		defer a.Close()
		a.Pool("reads", func() PoolStats {
			return PoolStats{Open: 4, InUse: 3, Max: 6, Waits: 40, Waited: 1500 * time.Millisecond, Acquires: 900, Opened: 5}
		})
		a.Statements("orders", func() StatementStats {
			return StatementStats{Statements: 1000, Prepares: 7, Deadlines: 998, Undated: 2}
		})
		want := map[string]float64{"reads_open": 4, "reads_in_use": 3, "reads_max_open": 6, "reads_wait_count": 40, "reads_wait_seconds": 1.5,
			"reads_acquires": 900, "reads_opened": 5,
			"orders_statements": 1000, "orders_prepares": 7, "orders_deadlines": 998, "orders_undated": 2}
		if s := next(t, join(t, a)); !maps.Equal(s.Gauges, want) {
			t.Errorf("gauges %v, want %v", s.Gauges, want)
		}
	})
}
