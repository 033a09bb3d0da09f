package main

import (
	"database/sql"
	"io"
	"net/http"

	"dyno/subjects/bounds/memdb"
	"dyno/subjects/bounds/suite"
)

var orders = suite.Entry{
	Name: "pool-sql", Family: "wait", Truth: "wait", Kind: "pool", Function: "main.(*orderbook).find",
	InWords: "each request needs a database connection for some ms, and at most one or two may be open",
	Method:  "GET", Path: "/order", Invisible: []string{"none"},
	Remedies: []suite.Remedy{{InWords: "twice as many connections", Scale: map[string]float64{"max_open": 2}, Bound: 0.5}},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		latency, open := d.Micros("query_us", 2_000, 5_000), d.Between("max_open", 1, 2)
		return func() (*suite.Service, error) {
			db := sql.OpenDB(memdb.Connector{Latency: latency})
			db.SetMaxOpenConns(open)
			return suite.ServingUntil("GET /order", (&orderbook{db}).find, func() { db.Close() }), nil
		}
	},
}

// orderbook answers from a database.
type orderbook struct{ db *sql.DB }

func (o *orderbook) find(w http.ResponseWriter, r *http.Request) {
	var name string
	if err := o.db.QueryRowContext(r.Context(), memdb.Query, 42).Scan(&name); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	io.WriteString(w, name)
}
