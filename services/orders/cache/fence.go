package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"dyno/services/orders/cache/feed"
	"dyno/services/orders/cache/pgoutput"

	"github.com/jackc/pgx/v5"
)

// fence is what the primary says at one moment. Every commit that was acknowledged before lies before its place.
type fence struct {
	at       pgoutput.LSN
	snapshot snapshot
	shape    string
}

// The place is that of insertion, not of flushing: a commit with synchronous_commit off is acknowledged, and seen
// by others, before it is flushed. The feed tells only what was flushed; until then it does not reach the fence.
const fenceSQL = `SELECT pg_current_wal_insert_lsn()::text, pg_current_snapshot()::text,
	coalesce((SELECT ` + shapeOf + ` FROM pg_class c WHERE c.oid = to_regclass('orders')), '')`

func readFence(ctx context.Context, conn *pgx.Conn, g geometry) (f fence, err error) {
	var at, snap string
	if err = conn.QueryRow(ctx, fenceSQL).Scan(&at, &snap, &f.shape); err != nil {
		return f, fmt.Errorf("asking the primary how far it is: %w", err)
	}
	if f.at, err = pgoutput.ParseLSN([]byte(at)); err != nil {
		return f, err
	}
	f.at = g.end(f.at)
	f.snapshot, err = parseSnapshot(snap)
	return f, err
}

// geometry is how the write-ahead log is divided, in bytes.
type geometry struct{ page, segment uint64 }

// The headers of a page and of a segment's first page.
const (
	pageHeader    = 24
	segmentHeader = 40
)

// end gives where the last record before an insert position ends. Where a record ends with its page, the position
// is already behind the next page's header, and the feed, which tells ends of records, would not get there until
// something else is written.
func (g geometry) end(at pgoutput.LSN) pgoutput.LSN {
	switch {
	case g.page == 0 || g.segment == 0:
		return at
	case uint64(at)%g.segment == segmentHeader:
		return at - segmentHeader
	case uint64(at)%g.page == pageHeader && uint64(at)%g.segment > g.page:
		return at - pageHeader
	}
	return at
}

// session is one feed with the connections for fences beside it: all to the same server, or there is none. It ends
// as a whole, with its first error.
type session struct {
	ground ground
	feed   *feed.Feed
	conns  int
	fences chan *pgx.Conn // the conns of them that are free; closed when all are gone
	epoch  uint64         // of the memory
	progress

	ending sync.Once
	cause  error
}

var errShape = errors.New("the table orders was altered or replaced")

// fail ends the session. Its follower notices and cleans up.
func (s *session) fail(cause error) {
	s.ending.Do(func() {
		s.cause = cause
		s.end()
		s.feed.Close()
	})
}

// ask reads a fence on one of the connections.
func (s *session) ask(ctx context.Context) (fence, error) {
	var conn *pgx.Conn
	select {
	case conn = <-s.fences:
		if conn == nil {
			return fence{}, errors.New("the session is over")
		}
	case <-ctx.Done():
		return fence{}, ctx.Err()
	}
	defer func() { s.fences <- conn }()
	f, err := readFence(ctx, conn, s.ground.log)
	if err == nil && f.shape != s.ground.shape {
		err = errShape
	}
	if err != nil {
		s.fail(err)
	}
	return f, err
}
