package notify

import "dyno/parts/assembly"

// Assembly is the service's seams, settings and ladder. The first implementation of a seam and the
// defaults of the settings are those of the plain program.
func Assembly() assembly.Parts {
	return assembly.Parts{
		Seams: []assembly.Seam{
			{Name: "ingest", Doc: "reads the requests that post one notice", Impls: []assembly.Impl{
				{Name: "handler", Doc: "net/http: a goroutine for each connection, as for all other requests"},
				{Name: "loop", Doc: "an event loop (Linux, parts/httploop): what has come meanwhile is stored together; clients that offer HTTP/2 are net/http's"},
			}},
			{Name: "commit", Doc: "makes notices durable before they are acknowledged", Impls: []assembly.Impl{
				{Name: "each", Doc: "an fsync for each request"},
				{Name: "group", Doc: "one fsync for all requests that came while the last was under way"},
			}},
			{Name: "client", Doc: "sends webhooks", Impls: []assembly.Impl{
				{Name: "default", Doc: "http.Client with the default transport's 2 idle connections per host"},
				{Name: "reuse", Doc: "as many idle connections per host as there are workers"},
				{Name: "direct", Doc: "a worker writes its webhook and reads the answer itself, by HTTP/1.1 (services/notify/http1)"},
			}},
			{Name: "batching", Doc: "chooses what goes into one webhook", Impls: []assembly.Impl{
				{Name: "single", Doc: "one notice"},
				{Name: "batch", Doc: "all that waits, for a subscriber that asked for batches"},
			}},
		},
		Settings: assembly.Settings[Config](),
		Ladder: []assembly.Step{
			{Name: "reuse", Change: map[string]string{"client": "reuse"},
				Why: "the default transport keeps 2 idle connections per host: 16 workers open and close the rest"},
			{Name: "workers", Change: map[string]string{"workers": "256"},
				Why: "Little's law: 16 workers carry 3,200/s to a receiver that answers in 5 ms; 256 carry 51,200/s, more than two cores send"},
			{Name: "batch", Change: map[string]string{"batching": "batch"},
				Why: "a webhook's cost is the request's, not the notice's: a subscriber that asks for batches shares one among many"},
			{Name: "group", Change: map[string]string{"commit": "group"},
				Why: "an fsync costs the same for one notice and for a hundred: those that wait for the disk share it"},
			{Name: "direct", Change: map[string]string{"client": "direct"},
				Why: "net/http passes a webhook through two goroutines of its connection; a worker that writes and reads itself wakes up once"},
			{Name: "loop", Change: map[string]string{"ingest": "loop"},
				Why: "a request of net/http costs more than its notice, and wakes up for its own fsync; a loop reads all that has come and wakes up once for all"},
		},
	}
}

// FromChoice reads a resolved assembly.
func FromChoice(c assembly.Choice) Config { return assembly.Bind[Config](c) }
