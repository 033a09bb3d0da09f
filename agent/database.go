package agent

import (
	"database/sql"
	"time"
)

// DBStats adds the figures of a connection pool (the Stats method of *sql.DB) to every sample, as
// the gauges NAME_open and NAME_in_use (connections, now) and NAME_wait_count and
// NAME_wait_seconds (requests that found no free connection, and their total waiting time: sums
// since the pool was opened). Each takes the pool's lock once, for less than a microsecond.
func (a *Agent) DBStats(name string, stats func() sql.DBStats) {
	a.Gauge(name+"_open", func() float64 { return float64(stats().OpenConnections) })
	a.Gauge(name+"_in_use", func() float64 { return float64(stats().InUse) })
	a.Gauge(name+"_wait_count", func() float64 { return float64(stats().WaitCount) })
	a.Gauge(name+"_wait_seconds", func() float64 { return stats().WaitDuration.Seconds() })
}

// PoolStats is the state of a connection pool.
type PoolStats struct {
	Open  int // connections now, in use or idle
	InUse int
	Max   int // limit of open connections

	// Sums since the pool was opened.
	Waits    uint64        // requests that found no free connection
	Waited   time.Duration // total of all requests
	Acquires uint64        // connections handed out
	Opened   uint64        // connections made; few per acquire if they are reused
}

// Pool does for a pool of another kind what DBStats does for a *sql.DB: it adds the gauges
// NAME_open, NAME_in_use, NAME_max_open, NAME_wait_count, NAME_wait_seconds, NAME_acquires and
// NAME_opened. Each of them calls stats, ten times a second.
func (a *Agent) Pool(name string, stats func() PoolStats) {
	a.Gauge(name+"_open", func() float64 { return float64(stats().Open) })
	a.Gauge(name+"_in_use", func() float64 { return float64(stats().InUse) })
	a.Gauge(name+"_max_open", func() float64 { return float64(stats().Max) })
	a.Gauge(name+"_wait_count", func() float64 { return float64(stats().Waits) })
	a.Gauge(name+"_wait_seconds", func() float64 { return stats().Waited.Seconds() })
	a.Gauge(name+"_acquires", func() float64 { return float64(stats().Acquires) })
	a.Gauge(name+"_opened", func() float64 { return float64(stats().Opened) })
}

// StatementStats counts the statements that a database client sent: sums since the start.
type StatementStats struct {
	Statements uint64 // sent
	Prepares   uint64 // the statements that had to be prepared first, because no cache held them
	Deadlines  uint64 // the statements with a deadline, which end at the end of the request's time
	Undated    uint64 // the statements without a deadline
}

// Statements adds the gauges NAME_statements, NAME_prepares, NAME_deadlines and NAME_undated. The
// name may be that of the pool that sends all of them.
func (a *Agent) Statements(name string, stats func() StatementStats) {
	a.Gauge(name+"_statements", func() float64 { return float64(stats().Statements) })
	a.Gauge(name+"_prepares", func() float64 { return float64(stats().Prepares) })
	a.Gauge(name+"_deadlines", func() float64 { return float64(stats().Deadlines) })
	a.Gauge(name+"_undated", func() float64 { return float64(stats().Undated) })
}
