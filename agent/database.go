package agent

import (
	"database/sql"
	"time"
)

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

// PoolStats is what any pool of connections may tell of itself.
type PoolStats struct {
	Open  int // connections, now: those in use and those that are idle
	InUse int
	Max   int // that may be open

	// Sums since the pool was opened.
	Waits    uint64        // requests that found no free connection
	Waited   time.Duration // by all of them together
	Acquires uint64        // connections handed out
	Opened   uint64        // connections made; few to an acquire when they are used again
}

// Pool does for a pool of another kind what DBStats does for a *sql.DB: it adds the gauges NAME_open,
// NAME_in_use, NAME_max_open, NAME_wait_count, NAME_wait_seconds, NAME_acquires and NAME_opened. stats is
// called for each of them, ten times a second.
func (a *Agent) Pool(name string, stats func() PoolStats) {
	a.Gauge(name+"_open", func() float64 { return float64(stats().Open) })
	a.Gauge(name+"_in_use", func() float64 { return float64(stats().InUse) })
	a.Gauge(name+"_max_open", func() float64 { return float64(stats().Max) })
	a.Gauge(name+"_wait_count", func() float64 { return float64(stats().Waits) })
	a.Gauge(name+"_wait_seconds", func() float64 { return stats().Waited.Seconds() })
	a.Gauge(name+"_acquires", func() float64 { return float64(stats().Acquires) })
	a.Gauge(name+"_opened", func() float64 { return float64(stats().Opened) })
}

// StatementStats is what a database's client may tell of the statements that it sent: sums since the start.
type StatementStats struct {
	Statements uint64 // sent
	Prepares   uint64 // of these: had to be prepared first, as no cache held them
	Deadlines  uint64 // of these: with a deadline, so that the end of a request's time ends its statement
	Undated    uint64 // of these: without one
}

// Statements adds the gauges NAME_statements, NAME_prepares, NAME_deadlines and NAME_undated. The name may be
// that of a pool, when it sends them all.
func (a *Agent) Statements(name string, stats func() StatementStats) {
	a.Gauge(name+"_statements", func() float64 { return float64(stats().Statements) })
	a.Gauge(name+"_prepares", func() float64 { return float64(stats().Prepares) })
	a.Gauge(name+"_deadlines", func() float64 { return float64(stats().Deadlines) })
	a.Gauge(name+"_undated", func() float64 { return float64(stats().Undated) })
}
