package orders

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"dyno/services/orders/store"

	"go.opentelemetry.io/otel/trace"
)

// Config says what a Gateway is put together from. The names of implementations and what the settings mean are
// Assembly's.
type Config struct {
	DSNs             []string // of the database; several: one a shard, in this order for ever
	Owners           []string // the same as their owners, for the schema; none: DSNs do that
	Replica          string   // that reads with min_version may go to; "": none
	Keys             string   // JWKS file
	Audience, Issuer string   // that tokens must be for and from; "": any
	Foreign          string   // 404 or 403

	Web, Driver, Lookup, JSON, Tokens, Dispatch, Admission, Chain, Counters, Cache string

	Reads, Lists, Writes                   int // connections
	Batches, MaxBatch                      int
	Loops                                  int // 0: one for every two cores
	Workers, QueueCapacity, MaxConnections int
	MaxInFlight, MaxWaiting                int
	AdmitReads, AdmitLists, AdmitWrites    int
	MaxWait, TargetLatency                 time.Duration
	Timeout                                time.Duration
	Leeway, KeysReload                     time.Duration
	TokensKept, CacheSize                  int
	Filter                                 bool
	FilterEvery                            time.Duration
	LastKnown                              int
	AuditRetention                         time.Duration

	Logger *slog.Logger
	Tracer trace.Tracer // nil: none
}

// check refuses what cannot go together, in the words of the command line.
func (c Config) check() error {
	sharded := len(c.DSNs) > 1
	switch {
	case slices.Contains(c.DSNs, ""):
		return errors.New("--dsn is empty; give a URL such as postgres://user@host:5432/orders, or leave it out for a PostgreSQL of its own")
	case len(c.Owners) > 0 && len(c.Owners) != len(c.DSNs):
		return fmt.Errorf("--owner-dsn is given %d times and --dsn %d times; give both for each database, in the same order", len(c.Owners), len(c.DSNs))
	case sharded && c.Replica != "":
		return errors.New("--replica can only stand beside a single --dsn, not beside several shards")
	case sharded && c.Filter:
		return errors.New("filter=true knows the uids of one database; leave it off with several shards")
	}
	return nil
}

func (c Config) store(log *slog.Logger) store.Options {
	return store.Options{DSNs: c.DSNs, Owners: c.Owners, Replica: c.Replica, Driver: c.Driver, Lookup: c.Lookup,
		Reads: c.Reads, Lists: c.Lists, Writes: c.Writes, Batches: c.Batches, MaxBatch: c.MaxBatch, MaxWaiting: c.MaxWaiting,
		Timeout: c.Timeout, AuditRetention: c.AuditRetention, Log: log}
}
