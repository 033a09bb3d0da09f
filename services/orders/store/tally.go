package store

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pool is what became of a class's connections.
type Pool struct {
	Open, InUse, Max int
	Acquires         uint64
	Waits            uint64        // acquires that found none free
	Waited           time.Duration // in all
	Opened           uint64        // connections made; 1 - Opened/Acquires is how often one was used again
}

// plus adds the counts of two pools.
func (p Pool) plus(q Pool) Pool {
	return Pool{
		Open: p.Open + q.Open, InUse: p.InUse + q.InUse, Max: p.Max + q.Max,
		Acquires: p.Acquires + q.Acquires, Waits: p.Waits + q.Waits, Waited: p.Waited + q.Waited, Opened: p.Opened + q.Opened,
	}
}

// tally counts statements. As a tracer it does so for connections of pgx.
type tally struct {
	dated, undated atomic.Uint64 // statements sent with a deadline, and without
	prepares       atomic.Uint64 // statements that their connection did not know
}

func (t *tally) sent(ctx context.Context) {
	asks(ctx)
	if _, ok := ctx.Deadline(); ok {
		t.dated.Add(1)
	} else {
		t.undated.Add(1)
	}
}

// TraceQueryStart is of pgx.QueryTracer.
func (t *tally) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	t.sent(ctx)
	return ctx
}

// TraceQueryEnd is of pgx.QueryTracer.
func (t *tally) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TracePrepareStart is of pgx.PrepareTracer.
func (t *tally) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	return ctx
}

// TracePrepareEnd is of pgx.PrepareTracer.
func (t *tally) TracePrepareEnd(_ context.Context, _ *pgx.Conn, data pgx.TracePrepareEndData) {
	if !data.AlreadyPrepared && data.Err == nil {
		t.prepares.Add(1)
	}
}

// health knows when a connection was last found broken.
type health struct {
	at atomic.Int64 // nanoseconds since epoch; 0: never
}

var epoch = time.Now()

// broke says that one was found broken just now.
func (h *health) broke() { h.at.Store(int64(time.Since(epoch))) }

// doubtful reports whether a connection that was idle for this time must be checked before use:
// another has broken since, so that the server may have restarted; or a second has passed, as in
// both libraries.
func (h *health) doubtful(idle time.Duration) bool {
	if idle > time.Second {
		return true
	}
	at := h.at.Load()
	return at != 0 && idle >= time.Since(epoch)-time.Duration(at)
}
