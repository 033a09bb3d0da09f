// Command pooled is a service whose requests wait for a database: each needs one of --connections for
// --query, and computes next to nothing. What it can carry is known, connections/query (4 of 5 ms: 800/s),
// and until the connections are many its CPU idles there: an autoscaler that goes by CPU is wrong about it.
//
//	pooled --connections 4 --query 5ms
//
// Its gauges say what such an autoscaler should look at: db_oldest_wait_age_seconds (how long the request
// has waited that has waited longest for a connection) and db_wait_depth (requests that wait for one).
//
// It is not a database's model: queries take the same time however many run at once. It starts no
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

// Bounds of the flags: a slip of the finger shows.
const (
	maxConnections = 4096
	maxQuery       = time.Minute
)

func main() {
	var addresses subject.Flags
	fs := flag.NewFlagSet("pooled", flag.ContinueOnError)
	addresses.Declare(fs)
	connections := fs.Int("connections", 4, "how many connections to the database may be open")
	query := fs.Duration("query", 5*time.Millisecond, "how long the database takes for a query")
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
