package gateway

import (
	"dyno/parts/tracing"
	"dyno/services/orders/auth"
	"dyno/services/orders/encode"
	"dyno/services/orders/store"
	"dyno/services/orders/web"
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

	Tracer *tracing.Tracer // nil: none

	// The hooks of orders.ServiceWith, which no command sets.
	//
	// Encoder writes answers in JSON instead of the seam's; nil: the seam's. Around is put around each
	// route's handler, inside authentication, and may answer in another goroutine; nil: nothing is.
	Encoder encode.Encoder
	Around  func(web.Handler) web.Handler
}

// Begins reports whether order queries can be begun by a loop (see Beginner): nothing is in their
// chain that beginning one does not do.
func (c Config) Begins() bool {
	return c.Lookup == "batch" && c.Around == nil
}
