package notify

import (
	"time"

	"dyno/parts/daemon"
)

// Assembly is the service's seams, settings and ladder. The first implementation of a seam and the
// defaults of the settings are those of the plain program.
func Assembly() daemon.Assembly {
	return daemon.Assembly{
		Seams: []daemon.Seam{
			{Name: "queue", Doc: "hands lanes that have work to workers", Impls: []daemon.Impl{
				{Name: "buffered", Doc: "a channel of queue_capacity lanes"},
				{Name: "unbuffered", Doc: "a channel that hands a lane to a worker that waits"},
				{Name: "shards", Doc: "8 rings chosen by key; a worker serves its own first"},
				{Name: "ring", Doc: "one ring that grows up to queue_capacity"},
				{Name: "swap", Doc: "a mutex and two slices; a whole batch changes hands at once"},
			}},
			{Name: "client", Doc: "sends webhooks", Impls: []daemon.Impl{
				{Name: "default", Doc: "http.Client with the default transport's 2 idle connections per host"},
				{Name: "reuse", Doc: "as many idle connections per host as there are workers"},
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
		Settings: []daemon.Setting{
			daemon.Int("workers", 16, 1, 4096, "webhooks in flight at once"),
			daemon.Int("queue_capacity", 100_000, 1, 1<<24, "lanes that the queue holds"),
			daemon.Int("batch_inflight", 8, 1, 1024, "webhooks in flight to one subscriber that gets batches"),
			daemon.Int("max_pending", 100_000, 1, 1<<24, "deliveries owed, one per notice and subscription, of all together; beyond: 429"),
			daemon.Bytes("max_pending_bytes", 256<<20, 1<<10, 1<<40, "bytes of these; beyond: 429"),
			daemon.Int("max_attempts", 8, 1, 100, "attempts at one notice before it is given up"),
			daemon.Duration("timeout", 10*time.Second, 10*time.Millisecond, 5*time.Minute, "of an attempt"),
			daemon.Duration("backoff", 500*time.Millisecond, time.Millisecond, time.Hour, "before the second attempt, half of it random; doubles"),
			daemon.Duration("max_backoff", time.Minute, time.Millisecond, 24*time.Hour, "bound of the doubling"),
			daemon.Bool("allow_private", false, "webhooks may go to private, loopback and link-local addresses"),
		},
		Ladder: []daemon.Step{
			{Name: "reuse", Change: map[string]string{"client": "reuse"},
				Why: "the default transport keeps 2 idle connections per host: 16 workers open and close the rest"},
			{Name: "workers", Change: map[string]string{"workers": "256"},
				Why: "Little's law: 16 workers carry 3,200/s to a receiver that answers in 5 ms; 256 carry 51,200/s, more than two cores send"},
			{Name: "prepared", Change: map[string]string{"encoding": "prepared"},
				Why: "a body is encoded once instead of at every attempt; keyed hashes and their buffers are used again"},
			{Name: "batch", Change: map[string]string{"batching": "batch"},
				Why: "a webhook's cost is the request's, not the notice's: who asks for batches shares one among many"},
		},
	}
}

// FromChoice reads a resolved assembly.
func FromChoice(c daemon.Choice) Config {
	return Config{
		Queue: c.Get("queue"), Client: c.Get("client"), Encoding: c.Get("encoding"), Batching: c.Get("batching"),
		Workers:       c.Int("workers"),
		QueueCapacity: c.Int("queue_capacity"),
		BatchInflight: c.Int("batch_inflight"),
		MaxPending:    c.Int("max_pending"),
		MaxBytes:      c.Bytes("max_pending_bytes"),
		MaxAttempts:   c.Int("max_attempts"),
		Timeout:       c.Duration("timeout"),
		Backoff:       c.Duration("backoff"),
		MaxBackoff:    c.Duration("max_backoff"),
		AllowPrivate:  c.Bool("allow_private"),
	}
}
