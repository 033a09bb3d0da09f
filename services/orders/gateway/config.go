package gateway

import (
	"errors"
	"fmt"
	"slices"

	"dyno/services/orders/auth"
	"dyno/services/orders/encode"
	"dyno/services/orders/store"
	"dyno/services/orders/web"

	"go.opentelemetry.io/otel/trace"
)

// Config says what a Gateway is put together from: an assembly's seams and settings, and flags.
type Config struct {
	store.Options
	Auth auth.Config

	Web  string `seam:"web"`
	JSON string `seam:"json"`

	Loops          int `set:"loops" default:"0" min:"0" max:"256" tune:"true" doc:"event loops (web=loop); 0: one for every two cores"`
	MaxConnections int `set:"max_connections" default:"65536" min:"1" max:"16777216" doc:"concurrent clients (web=fasthttp, web=loop); above it 503"`
	MaxInFlight    int `set:"max_inflight" default:"16384" min:"1" max:"16777216" doc:"requests being answered; above it 503"`

	Foreign   string `set:"foreign" values:"404,403" doc:"status for another account's order; 403 reveals that it exists"`
	LastKnown int    `set:"last_known" default:"0" min:"0" max:"16777216" doc:"answers kept for callers that allow stale ones (Cache-Control: max-stale) while the database does not answer"`

	Tracer trace.Tracer // nil: none

	Encoder encode.Encoder // of answers in JSON, instead of the seam's; nil: the seam's

	// Around is put around each route's handler, inside authentication. It may answer in
	// another goroutine. Nil: nothing is.
	Around func(web.Handler) web.Handler
}

// Check refuses what cannot go together, in the words of the command line.
func (c Config) Check() error {
	sharded := len(c.DSNs) > 1
	switch {
	case slices.Contains(c.DSNs, ""):
		return errors.New("--dsn is empty; give a URL such as postgres://user@host:5432/orders, or leave it out for a PostgreSQL of its own")
	case len(c.Owners) > 0 && len(c.Owners) != len(c.DSNs):
		return fmt.Errorf("--owner-dsn is given %d times and --dsn %d times; give both for each database, in the same order", len(c.Owners), len(c.DSNs))
	case sharded && c.Replica != "":
		return errors.New("--replica can only stand beside a single --dsn, not beside several shards")
	}
	return nil
}

// Begins reports whether order queries can be begun by a loop (see Beginner): nothing is in their
// chain that beginning one does not do.
func (c Config) Begins() bool {
	return c.Lookup == "batch" && c.Replica == "" && c.Around == nil && c.Tracer == nil
}
