package agent

import "database/sql"

// DBStats adds what a connection pool says of itself (the Stats method of *sql.DB) to every sample, as the
// gauges NAME_open and NAME_in_use (connections, now) and NAME_wait_count and NAME_wait_seconds (requests
// that found no free connection, and how long they waited in all: sums since the pool was opened). Each
// takes the pool's lock once, for less than a microsecond.
func (a *Agent) DBStats(name string, stats func() sql.DBStats) {
	a.Gauge(name+"_open", func() float64 { return float64(stats().OpenConnections) })
	a.Gauge(name+"_in_use", func() float64 { return float64(stats().InUse) })
	a.Gauge(name+"_wait_count", func() float64 { return float64(stats().WaitCount) })
	a.Gauge(name+"_wait_seconds", func() float64 { return stats().WaitDuration.Seconds() })
}
