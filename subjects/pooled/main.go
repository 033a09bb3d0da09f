// Command pooled is a service whose requests wait for a database: each needs one of --connections
// for --query, and computes next to nothing. Its capacity is known, connections/query (4 of 5 ms:
// 800/s), and with few connections its CPU is mostly idle there, which misleads a CPU-based
// autoscaler.
//
//	pooled --connections 4 --query 5ms
//
// Its gauges are the ones that such an autoscaler should use: db_oldest_wait_age_seconds (waiting
// time of the request that has waited longest for a connection) and db_wait_depth (requests that
// wait for one).
//
// It does not model a database: queries take the same time at any concurrency. It starts no
// goroutines of its own.
package main

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"time"

	"dyno/agent"
	"dyno/subjects/bounds/memdb"
	"dyno/subjects/subject"
)

// Bounds of the flags, to catch typing errors.
const (
	maxConnections = 4096
	maxQuery       = time.Minute
)

func main() {
	var addresses subject.Flags
	fs := flag.NewFlagSet("pooled", flag.ContinueOnError)
	addresses.Declare(fs)
	connections := fs.Int("connections", 4, "`number` of connections to the database that may be open")
	query := fs.Duration("query", 5*time.Millisecond, "`time` of a query in the database")
	subject.Parse(fs, os.Args[1:])
	if *connections < 1 || *connections > maxConnections || *query <= 0 || *query > maxQuery {
		subject.Usage("pooled", fmt.Errorf("--connections is 1 to %d, --query above 0 and at most %v", maxConnections, maxQuery))
	}
	db := sql.OpenDB(memdb.Connector{Latency: *query})
	defer db.Close()
	db.SetMaxOpenConns(*connections)
	db.SetMaxIdleConns(*connections)
	page := &page{db: db}
	subject.Main(addresses, subject.Subject{Name: "pooled", Handler: page,
		Ready: map[string]any{"connections": *connections, "query_ns": *query},
		Gauges: func(a *agent.Agent) {
			a.DBStats("db", db.Stats)
			a.Gauge("db_oldest_wait_age_seconds", func() float64 { return page.line.oldest(time.Now()).Seconds() })
			a.Gauge("db_wait_depth", func() float64 { return float64(page.line.depth()) })
		}})
}
