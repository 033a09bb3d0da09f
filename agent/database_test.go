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
