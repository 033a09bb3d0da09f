package main

import (
	"database/sql"
	"io"
	"net/http"

	"dyno/subjects/bounds/memdb"
)

var orders = entry{
	Name: "pool-sql", Family: "wait", Truth: "wait", Kind: "pool", Function: "main.(*orderbook).find",
	InWords: "each request needs a database connection for some ms, and at most one or two may be open",
	Method:  "GET", Path: "/order", Invisible: []string{"none"},
	plan: func(d *draw) func() (*service, error) {
		latency, open := d.micros("query_us", 2_000, 5_000), d.between("max_open", 1, 2)
		return func() (*service, error) {
			db := sql.OpenDB(memdb.Connector{Latency: latency})
			db.SetMaxOpenConns(open)
			return servingUntil("GET /order", (&orderbook{db}).find, func() { db.Close() }), nil
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
