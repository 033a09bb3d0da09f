package notify

import (
	"time"

	"dyno/parts/daemon"
	"dyno/services/notify/delivery"
	"dyno/services/notify/store"
)

// Assembly is the service's seams, settings and ladder. The first implementation of a seam and the
// defaults of the settings are those of the plain program.
func Assembly() daemon.Assembly {
	return daemon.Assembly{
		Seams: []daemon.Seam{
			{Name: "ingest", Doc: "reads the requests that post one notice", Impls: []daemon.Impl{
				{Name: "handler", Doc: "net/http: a goroutine for each connection, as for all other requests"},
				{Name: "loop", Doc: "an event loop (Linux, parts/httploop): what has come meanwhile is stored together; behind TLS and with --otlp it is net/http"},
			}},
			{Name: "log", Doc: "keeps notices and the journal", Impls: []daemon.Impl{
				{Name: "segment", Doc: "files in the data folder (parts/wal/segment)"},
				{Name: "jetstream", Doc: "two streams of NATS JetStream, for more than one machine; see jetstream_url"},
				{Name: "memory", Doc: "not durable: what is pending when the process ends is lost"},
			}},
			{Name: "commit", Doc: "makes notices durable before they are acknowledged", Impls: []daemon.Impl{
				{Name: "each", Doc: "an fsync for each request"},
				{Name: "group", Doc: "one fsync for all requests that came while the last was under way"},
			}},
			{Name: "queue", Doc: "hands lanes that have work to the workers", Impls: []daemon.Impl{
				{Name: "buffered", Doc: "a channel of queue_capacity lanes"},
				{Name: "unbuffered", Doc: "a channel that hands a lane to a worker that waits"},
				{Name: "shards", Doc: "8 rings chosen by key; a worker serves its own first"},
				{Name: "round-robin", Doc: "the same rings filled in turn: even, but breaks the order of bare values of one key; lanes keep theirs"},
				{Name: "ring", Doc: "one ring that grows up to queue_capacity"},
				{Name: "swap", Doc: "a mutex and two slices; a worker takes a whole batch"},
			}},
			{Name: "client", Doc: "sends webhooks", Impls: []daemon.Impl{
				{Name: "default", Doc: "http.Client with the default transport's 2 idle connections per host"},
				{Name: "reuse", Doc: "as many idle connections per host as there are workers"},
				{Name: "direct", Doc: "a worker writes its webhook and reads the answer itself, by HTTP/1.1 (parts/http1)"},
			}},
			{Name: "encoding", Doc: "makes signed requests of notices", Impls: []daemon.Impl{
				{Name: "attempt", Doc: "encodes and signs afresh for every attempt"},
				{Name: "prepared", Doc: "encodes once, keeps keyed hashes and their buffers"},
			}},
			{Name: "batching", Doc: "chooses what goes into one webhook", Impls: []daemon.Impl{
				{Name: "single", Doc: "one notice"},
				{Name: "batch", Doc: "all that waits, for a subscriber that asked for batches"},
			}},
		},
		Settings: settings(),
		Ladder: []daemon.Step{
			{Name: "reuse", Change: map[string]string{"client": "reuse"},
				Why: "the default transport keeps 2 idle connections per host: 16 workers open and close the rest"},
			{Name: "workers", Change: map[string]string{"workers": "256"},
				Why: "Little's law: 16 workers carry 3,200/s to a receiver that answers in 5 ms; 256 carry 51,200/s, more than two cores send"},
			{Name: "prepared", Change: map[string]string{"encoding": "prepared"},
				Why: "a body is encoded once instead of at every attempt; keyed hashes and their buffers are used again"},
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

func settings() []daemon.Setting {
	return []daemon.Setting{
		daemon.Int("workers", 16, 1, delivery.MaxWorkers, "webhooks in flight, without those that hang"),
		daemon.Int("queue_capacity", 100_000, 1, 1<<24, "lanes that the queue to the workers holds"),
		daemon.Int("batch_inflight", 8, 1, 1024, "webhooks in flight to one subscriber that gets batches"),

		daemon.Int("max_pending", 10_000_000, 1, 1<<40, "deliveries owed, one for each notice and subscription, of all together; above it POST answers 429"),
		daemon.Bytes("max_log", 16<<30, 1<<10, 1<<50, "size of the log of notices; above it POST answers 429"),
		daemon.Duration("max_age", time.Minute, time.Millisecond, 24*time.Hour, "wait of the oldest notice for a worker; above it POST answers 429"),
		daemon.Int("window", 20_000, 1, 1<<24, "notices of one subscription in memory; more stay in the log"),
		daemon.Bytes("memory", 256<<20, 1<<10, 1<<40, "size of pending notices in memory, of all subscriptions together; more stay in the log; also the bound of what event loops have read and not stored"),

		daemon.Duration("keep_age", 24*time.Hour, time.Second, 365*24*time.Hour, "age at which an owed notice becomes a dead letter"),
		daemon.Bytes("keep_bytes", 1<<30, 1<<10, 1<<50, "size of what is owed to one subscription; above it the oldest notices become dead letters"),
		daemon.Duration("history", time.Hour, 0, 365*24*time.Hour, "time that delivered notices are kept for streams that resume"),
		daemon.Bytes("history_bytes", 1<<30, 0, 1<<50, "size of delivered notices that are kept"),
		daemon.Duration("dedup_window", 10*time.Minute, 0, 24*time.Hour, "time in which an id is accepted once"),
		daemon.Int("dedup_limit", 1_000_000, 0, 1<<26, "ids that are remembered"),
		daemon.Int("dead_letters", 10_000, 1, 1<<24, "dead letters of one subscription; above it the oldest are purged"),
		daemon.Bytes("dead_bytes", 64<<20, 1<<20, 1<<40, "size of one subscription's dead letters; above it the oldest are purged"),

		daemon.Int("max_attempts", 8, 1, 100, "attempts at one notice before it is a dead letter"),
		daemon.Duration("timeout", 10*time.Second, 10*time.Millisecond, 5*time.Minute, "time limit of one attempt"),
		daemon.Duration("backoff", 500*time.Millisecond, time.Millisecond, time.Hour, "pause before the second attempt, half of it random; it doubles"),
		daemon.Duration("max_backoff", time.Minute, time.Millisecond, 24*time.Hour, "longest pause between attempts"),
		daemon.Duration("secret_overlap", 24*time.Hour, 0, 30*24*time.Hour, "time that a replaced secret still signs"),
		daemon.Int("max_streams", 10_000, 1, 1<<20, "open streams, by server-sent events or WebSocket; above it 503"),

		daemon.Text("jetstream_url", "", nil, "comma-separated URLs of NATS servers for log=jetstream, such as nats://127.0.0.1:4222"),
		daemon.Text("jetstream_name", "notifyd", nil, "name of the streams: NAME_notices and NAME_journal"),
		daemon.Int("jetstream_replicas", 1, 1, 5, "replicas of each stream when it is made: 3 on a cluster"),
		daemon.Text("jetstream_credentials", "", nil, "file with credentials for NATS"),
	}
}

// FromChoice reads a resolved assembly.
func FromChoice(c daemon.Choice) Config {
	return Config{
		Ingest: c.Get("ingest"),
		Log:    c.Get("log"), Commit: c.Get("commit"), Queue: c.Get("queue"), Client: c.Get("client"), Encoding: c.Get("encoding"), Batching: c.Get("batching"),
		JetStream: store.JetStream{
			URL: c.Get("jetstream_url"), Name: c.Get("jetstream_name"), Replicas: c.Int("jetstream_replicas"), Credentials: c.Get("jetstream_credentials"),
		},
		Workers: c.Int("workers"), QueueCapacity: c.Int("queue_capacity"), BatchInflight: c.Int("batch_inflight"),
		MaxPending: c.Int("max_pending"), MaxLog: c.Bytes("max_log"), MaxAge: c.Duration("max_age"),
		Window: c.Int("window"), Memory: c.Bytes("memory"),
		KeepAge: c.Duration("keep_age"), KeepBytes: c.Bytes("keep_bytes"), History: c.Duration("history"), HistoryBytes: c.Bytes("history_bytes"),
		DedupWindow: c.Duration("dedup_window"), DedupLimit: c.Int("dedup_limit"), DeadLetters: c.Int("dead_letters"), DeadBytes: c.Bytes("dead_bytes"),
		MaxAttempts: c.Int("max_attempts"), Timeout: c.Duration("timeout"), Backoff: c.Duration("backoff"), MaxBackoff: c.Duration("max_backoff"),
		SecretOverlap: c.Duration("secret_overlap"), MaxStreams: c.Int("max_streams"),
	}
}
