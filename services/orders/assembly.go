package orders

import (
	"dyno/parts/assembly"
	"dyno/services/orders/gateway"
)

// Assembly is the service's seams, settings and ladder. The first implementation of each seam and
// the defaults of the settings are those of the plain program.
func Assembly() assembly.Parts {
	return assembly.Parts{
		Seams: []assembly.Seam{
			{Name: "web", Doc: "reads HTTP", Impls: []assembly.Impl{
				{Name: "nethttp", Doc: "net/http: HTTP/2 over TLS, requests end with their clients"},
				{Name: "fasthttp", Doc: "fasthttp: HTTP/1.1 only, memory used again"},
				{Name: "loop", Doc: "event loops (Linux, parts/httploop): reads of all sockets that are ready join one batch"},
			}},
			{Name: "driver", Doc: "talks to PostgreSQL", Impls: []assembly.Impl{
				{Name: "sql", Doc: "database/sql over pgx"},
				{Name: "pgxpool", Doc: "pgx's own pool, rows decoded from the wire by hand"},
			}},
			{Name: "lookup", Doc: "finds an order", Impls: []assembly.Impl{
				{Name: "single", Doc: "a query for each request"},
				{Name: "batch", Doc: "one query for all requests that wait at the same moment (services/orders/batcher)"},
			}},
			{Name: "json", Doc: "writes answers", Impls: []assembly.Impl{
				{Name: "std", Doc: "encoding/json"},
				{Name: "append", Doc: "appends to a buffer by hand"},
			}},
			{Name: "tokens", Doc: "remembers tokens whose signature was good", Impls: []assembly.Impl{
				{Name: "none", Doc: "verifies every signature"},
				{Name: "digest", Doc: "by the SHA-256 of the whole token; times, audience and issuer are checked each time"},
			}},
		},
		Settings: assembly.Settings[gateway.Config](),
		Ladder: []assembly.Step{
			{Name: "pgxpool", Change: map[string]string{"driver": "pgxpool"},
				Why: "database/sql locks, converts and allocates for every row; pgx alone does not"},
			{Name: "fasthttp", Change: map[string]string{"web": "fasthttp"},
				Why: "net/http makes a request, its headers and a context anew each time"},
			{Name: "append", Change: map[string]string{"json": "append"},
				Why: "an order is ten fields: no need to look at its type each time"},
			{Name: "batch", Change: map[string]string{"lookup": "batch"},
				Why: "a query's cost is the round trip's and the statement's, not the row's: requests that wait together share one"},
			{Name: "tokens", Change: map[string]string{"tokens": "digest"},
				Why: "the same token comes again and again; its signature need be verified once"},
			{Name: "loop", Change: map[string]string{"web": "loop"},
				Why: "what is left of a read is two goroutine switches and a read of an empty socket: a loop that reads all sockets that are ready needs neither"},
		},
	}
}

// FromChoice reads a resolved assembly.
func FromChoice(c assembly.Choice) gateway.Config { return assembly.Bind[gateway.Config](c) }
