package store

import (
	"context"
	"sync/atomic"
	"time"

	"dyno/parts/batcher"

	"github.com/jackc/pgx/v5"
)

// Stats are counts since the store was opened, over all its databases.
type Stats struct {
	Pools      map[string]Pool // reads, lists, writes, batches; those of a replica are "replica"
	Statements uint64          // sent
	Prepares   uint64          // statements that a connection did not know yet: the statement cache's misses
	Deadlines  uint64          // statements sent with a deadline
	Undated    uint64          // statements sent without
	Batch      batcher.Stats
}

// Pool is what became of a class's connections.
type Pool struct {
	Open, InUse, Max int
	Acquires         uint64
	Waits            uint64        // acquires that found none free
	Waited           time.Duration // in all
	Opened           uint64        // connections made; 1 - Opened/Acquires is how often one was used again
}

func (p Pool) plus(q Pool) Pool {
	return Pool{
		Open: p.Open + q.Open, InUse: p.InUse + q.InUse, Max: p.Max + q.Max,
		Acquires: p.Acquires + q.Acquires, Waits: p.Waits + q.Waits, Waited: p.Waited + q.Waited, Opened: p.Opened + q.Opened,
	}
}

// Stats returns them.
func (s *Store) Stats() Stats {
	all := Stats{Pools: map[string]Pool{}}
	for _, d := range s.shards {
		d.addTo(&all)
		for class, p := range d.driver.pools() {
			all.Pools[class] = all.Pools[class].plus(p)
		}
	}
	if s.replica != nil {
		s.replica.addTo(&all)
		for _, p := range s.replica.driver.pools() {
			all.Pools["replica"] = all.Pools["replica"].plus(p)
		}
	}
	return all
}

func (d *database) addTo(all *Stats) {
	all.Statements += d.tally.dated.Load() + d.tally.undated.Load()
	all.Prepares += d.tally.prepares.Load()
	all.Deadlines += d.tally.dated.Load()
	all.Undated += d.tally.undated.Load()
	b := d.lookup.stats()
	all.Batch.Calls += b.Calls
	all.Batch.Refused += b.Refused
	all.Batch.Fetches += b.Fetches
	all.Batch.Keys += b.Keys
	all.Batch.Waiting += b.Waiting
	all.Batch.Retries += b.Retries
}

// tally counts statements. As a tracer it does so for connections of pgx.
type tally struct {
	dated, undated, prepares atomic.Uint64
}

func (t *tally) sent(ctx context.Context) {
	asks(ctx)
	if _, ok := ctx.Deadline(); ok {
		t.dated.Add(1)
	} else {
		t.undated.Add(1)
	}
}

func (t *tally) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	t.sent(ctx)
	return ctx
}

func (t *tally) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (t *tally) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	return ctx
}

func (t *tally) TracePrepareEnd(_ context.Context, _ *pgx.Conn, data pgx.TracePrepareEndData) {
	if !data.AlreadyPrepared && data.Err == nil {
		t.prepares.Add(1)
	}
}
