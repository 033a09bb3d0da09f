package orders

import (
	"runtime"
	"time"

	"dyno/parts/daemon"
)

// Assembly is the service's seams, settings and ladder. The first implementation of a seam and the defaults of
// the settings are those of the plain program.
func Assembly() daemon.Assembly {
	return daemon.Assembly{
		Seams: []daemon.Seam{
			{Name: "web", Doc: "reads HTTP", Impls: []daemon.Impl{
				{Name: "nethttp", Doc: "net/http: HTTP/2 over TLS, requests end with their clients"},
				{Name: "fasthttp", Doc: "fasthttp: HTTP/1.1 only, memory used again"},
				{Name: "loop", Doc: "event loops (Linux, parts/httploop): reads of all sockets that are ready join one batch; behind TLS it is fasthttp"},
			}},
			{Name: "driver", Doc: "talks to PostgreSQL", Impls: []daemon.Impl{
				{Name: "sql", Doc: "database/sql over pgx"},
				{Name: "pgxpool", Doc: "pgx's own pool, rows decoded from the wire by hand"},
			}},
			{Name: "lookup", Doc: "finds an order", Impls: []daemon.Impl{
				{Name: "single", Doc: "a query for each request"},
				{Name: "batch", Doc: "one query for all requests that wait at the same moment (parts/batcher)"},
			}},
			{Name: "json", Doc: "writes answers", Impls: []daemon.Impl{
				{Name: "std", Doc: "encoding/json"},
				{Name: "v2", Doc: "json/v2"},
				{Name: "append", Doc: "appends to a buffer by hand"},
			}},
			{Name: "tokens", Doc: "remembers tokens whose signature was good", Impls: []daemon.Impl{
				{Name: "none", Doc: "verifies every signature"},
				{Name: "digest", Doc: "by the SHA-256 of the whole token; times, audience and issuer are checked each time"},
			}},
			{Name: "dispatch", Doc: "who answers a request that was read", Impls: []daemon.Impl{
				{Name: "direct", Doc: "the connection's own goroutine"},
				{Name: "channel", Doc: "a pool of workers behind a channel"},
				{Name: "ring", Doc: "a pool of workers behind a ring"},
			}},
			{Name: "admission", Doc: "keeps each class of requests (reads, lists, writes) within bounds", Impls: []daemon.Impl{
				{Name: "none", Doc: "max_inflight alone"},
				{Name: "fixed", Doc: "a weighted semaphore a class"},
				{Name: "aimd", Doc: "a limit a class that adapts to the latency it sees"},
			}},
			{Name: "chain", Doc: "what is around the handlers", Impls: []daemon.Impl{
				{Name: "uniform", Doc: "the same for every route: a log line, a deadline of its own"},
				{Name: "fitted", Doc: "what each route needs: batched reads share deadlines and write no log line"},
			}},
			{Name: "counters", Doc: "counts requests", Impls: []daemon.Impl{
				{Name: "packed", Doc: "side by side in memory"},
				{Name: "padded", Doc: "a cache line each"},
			}},
			{Name: "cache", Doc: "answers without the database what cannot be out of date", Impls: []daemon.Impl{
				{Name: "off", Doc: "nothing is kept"},
				{Name: "terminal", Doc: "orders that are filled or cancelled, which never change again"},
			}},
		},
		Settings: settings(),
		Ladder: []daemon.Step{
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
			{Name: "fitted", Change: map[string]string{"chain": "fitted"},
				Why: "a timer and a context for each read cost more than what they guard, once reads are batched"},
			{Name: "loop", Change: map[string]string{"web": "loop"},
				Why: "what is left of a read is two goroutine switches and a read of an empty socket: a loop that reads all sockets that are ready needs neither"},
		},
	}
}

func settings() []daemon.Setting {
	return []daemon.Setting{
		daemon.Int("reads", 16, 1, 1000, "connections to the database for order queries (lookup=single)"),
		daemon.Int("lists", 4, 1, 1000, "connections for lists"),
		daemon.Int("writes", 8, 1, 1000, "connections for submits"),
		daemon.Int("batches", 0, 0, 64, "connections for batched order queries (lookup=batch), each for a batch under way; 0: one for each core, 2 to 16"),
		daemon.Int("max_batch", 256, 1, 10_000, "order queries in one batch"),
		daemon.Duration("timeout", 2*time.Second, 10*time.Millisecond, time.Minute, "of a request; the database is told"),

		daemon.Int("loops", 0, 0, 256, "event loops (web=loop); 0: one for every two cores, as the others answer"),
		daemon.Int("workers", 0, 0, 10_000, "of the pool that answers requests (dispatch); 0: two for each core"),
		daemon.Int("queue_capacity", 65_536, 1, 1<<24, "requests that wait for a worker (dispatch); beyond: 503"),
		daemon.Int("max_connections", 65_536, 1, 1<<24, "clients at once (web=fasthttp); beyond: 503"),
		daemon.Int("max_inflight", 16_384, 1, 1<<24, "requests that are being answered; beyond: 503"),
		daemon.Int("max_waiting", 8192, 1, 1<<24, "order queries that wait for a batch, or requests of a class for their admission; beyond: 503"),
		daemon.Int("admit_reads", 1024, 1, 1<<20, "order queries at once (admission)"),
		daemon.Int("admit_lists", 16, 1, 1<<20, "lists at once (admission)"),
		daemon.Int("admit_writes", 64, 1, 1<<20, "submits at once (admission)"),
		daemon.Duration("max_wait", 200*time.Millisecond, time.Millisecond, time.Minute, "for which a request waits for its admission; beyond: 503"),
		daemon.Duration("target_latency", 50*time.Millisecond, time.Millisecond, time.Minute, "above which a class is let to do less (admission=aimd)"),

		daemon.OneOf("foreign", []string{"404", "403"}, "status for another account's order; 403 tells that there is one"),
		daemon.Duration("leeway", 0, 0, time.Minute, "by which clocks may differ when tokens are checked"),
		daemon.Duration("keys_reload", 5*time.Second, 10*time.Millisecond, time.Hour, "how often the file of keys is looked at"),
		daemon.Int("tokens_kept", 100_000, 1, 1<<24, "tokens that are remembered (tokens=digest)"),

		daemon.Int("cache_size", 100_000, 1, 1<<24, "orders that are kept (cache)"),
		daemon.Bool("filter", false, "answer 404 without the database for uids that surely do not exist, by a Bloom filter"),
		daemon.Duration("filter_every", time.Minute, time.Second, time.Hour, "how often the filter takes in new uids"),
		daemon.Int("last_known", 0, 0, 1<<24, "answers kept for callers that allow stale ones (Cache-Control: max-stale) while the database does not answer"),
		daemon.Duration("audit_retention", 0, 0, 100*365*24*time.Hour, "for which audit records are kept, in whole months; 0: for ever"),

		daemon.Int("gogc", 0, 0, 10_000, "percent by which the heap may grow before it is collected; 0: as GOGC says"),
		daemon.Bytes("memory_limit", 0, 0, 1<<50, "that the runtime is to stay within; 0: as GOMEMLIMIT says"),
	}
}

// batches is how many batches are under way together: PostgreSQL works on each with a core of its own, and with more than
// one, another waits in it while the answers to one are read.
func batches(set int) int {
	if set > 0 {
		return set
	}
	return min(max(2, runtime.GOMAXPROCS(0)), 16)
}

// FromChoice reads a resolved assembly.
func FromChoice(c daemon.Choice) Config {
	return Config{
		Web: c.Get("web"), Driver: c.Get("driver"), Lookup: c.Get("lookup"), JSON: c.Get("json"), Tokens: c.Get("tokens"),
		Dispatch: c.Get("dispatch"), Admission: c.Get("admission"), Chain: c.Get("chain"), Counters: c.Get("counters"), Cache: c.Get("cache"),
		Reads: c.Int("reads"), Lists: c.Int("lists"), Writes: c.Int("writes"), Batches: batches(c.Int("batches")), MaxBatch: c.Int("max_batch"),
		Timeout: c.Duration("timeout"), Loops: c.Int("loops"), Workers: c.Int("workers"), QueueCapacity: c.Int("queue_capacity"), MaxConnections: c.Int("max_connections"),
		MaxInFlight: c.Int("max_inflight"), MaxWaiting: c.Int("max_waiting"),
		AdmitReads: c.Int("admit_reads"), AdmitLists: c.Int("admit_lists"), AdmitWrites: c.Int("admit_writes"),
		MaxWait: c.Duration("max_wait"), TargetLatency: c.Duration("target_latency"),
		Foreign: c.Get("foreign"), Leeway: c.Duration("leeway"), KeysReload: c.Duration("keys_reload"), TokensKept: c.Int("tokens_kept"),
		CacheSize: c.Int("cache_size"), Filter: c.Bool("filter"), FilterEvery: c.Duration("filter_every"), LastKnown: c.Int("last_known"),
		AuditRetention: c.Duration("audit_retention"),
	}
}
