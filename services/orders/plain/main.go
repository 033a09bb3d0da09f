// Orders-plain is the order gateway as one writes it on the first day: net/http, encoding/json and
// a pool of database/sql; every query asks the database for one row, every token is verified when
// it comes. It is step 0 of ordersd's ladder and passes the part of ordersd's black-box suite that
// the ladder's load needs (ordertest/core): queries of one order, and submissions in JSON, so that
// the cost of ordersd's seams can be measured against it.
//
// It is not for production: it needs a database that has ordersd's tables, knows no lists and no
// other formats, caches nothing, and answers 503 while the database is away.
package main

import (
	"context"
	"errors"
	"flag"
	"net/http"

	"dyno/agent"
	"dyno/parts/standalone"
)

func main() {
	c := defaults
	flag.StringVar(&c.dsn, "dsn", "postgres://localhost/orders", "`URL` of the database")
	flag.StringVar(&c.keys, "jwt-keys", "keys.json", "`file` with the keys (JWKS) that tokens may be signed with; read again when it changes")
	flag.StringVar(&c.audience, "jwt-audience", "", "audience that a token must name; empty: any")
	flag.StringVar(&c.issuer, "jwt-issuer", "", "issuer that a token must name; empty: any")
	flag.IntVar(&c.foreign, "foreign", c.foreign, "`status` of the answer for another account's order: 404, as if it did not exist, or 403")
	flag.IntVar(&c.connections, "connections", c.connections, "highest number of connections to the database")
	standalone.Main("orders-plain", func(ctx context.Context, inside *agent.Agent) (standalone.Service, error) {
		if c.foreign != http.StatusNotFound && c.foreign != http.StatusForbidden {
			return standalone.Service{}, errors.New("--foreign is 404 or 403")
		}
		s, err := newServer(ctx, c)
		if err != nil {
			return standalone.Service{}, err
		}
		inside.DBStats("db", s.db.Stats)
		return standalone.Service{Server: s.web(), Ready: s.ready, Close: s.close}, nil
	})
}
