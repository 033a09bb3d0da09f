package cache

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"dyno/parts/batcher"
	"dyno/services/orders/cache/pgoutput"
	"dyno/services/orders/order"

	"github.com/jackc/pgx/v5"
)

// Live keeps orders that may still change, and takes one out when PostgreSQL's logical replication tells that it
// did. That comes a moment later than the commit, so it alone would be stale by that moment. Hence the fence: when
// an order is in memory, the primary is asked how far its log is, by a question that is sent after the call began
// and is shared by all calls that wait then. Only if the feed has been applied up to there within Patience is the
// answer from memory; else, and whenever the feed is broken, next is asked.
//
// Is it worth it? Seldom. A fence is a round trip like a batched read, and is shared by as many calls; what is saved
// is the looking up and the rows. BenchmarkLive (64 callers, 1,000 orders, PostgreSQL 15 on the same two cores, which
// others were using too) printed 5-10 us an answer against 8-12 us for batched reads (services/orders/store) while
// nobody wrote, and no difference that could be told from noise while two writers changed orders: a call that
// bypasses has paid for the fence as well. It takes load off the database where reads go one by one, or where
// rows are hot and seldom change; behind batched reads, measure before you switch it on.
//
// It rests on next and DSN meaning the same primary. While two servers take themselves for the primary (a failover
// that leaves the old one running), it is as wrong as a connection to the old one is. A publication that is
// altered while a feed runs is not noticed either.
//
// A slot holds back the server's log while a feed is connected and slow; it is temporary, and goes with it.
type Live struct {
	next   Source
	o      LiveOptions
	config *pgx.ConnConfig
	memory *memory
	fences *batcher.Batcher[struct{}, struct{}]

	session atomic.Pointer[session] // nil: nothing is followed

	missed  atomic.Uint64 // the place of the last fence that the feed did not reach in time
	retryAt atomic.Int64  // when another may be tried though it is still behind that; UnixNano
	lag     atomic.Uint64

	hits, misses, bypasses, asked, reconnects atomic.Uint64

	stop context.CancelFunc
	done sync.WaitGroup
}

// LiveOptions say what to follow.
type LiveOptions struct {
	DSN      string        // of the primary that next reads; not through a pooler; the user needs REPLICATION
	Size     int           // orders kept, about, some 300 bytes each; 0: 100,000
	Patience time.Duration // that a fence gives the feed; 0: 2 ms
	Log      *slog.Logger  // nil: the default
}

// LiveStats counts since NewLive.
type LiveStats struct {
	Hits       uint64 // calls answered from memory
	Misses     uint64 // calls for what is not in memory
	Bypasses   uint64 // calls that found it there, and asked next because the feed was behind or broken
	Fences     uint64 // questions to the primary
	Lag        uint64 // bytes of log that the feed was behind the last fence when that came
	Reconnects uint64 // attempts to follow again
	Following  bool   // now
	Kept       int    // orders in memory now
}

const (
	concurrentFences = 2                     // so that a call need not wait for a whole one before its own
	fenceTimeout     = time.Second           // a primary that takes longer is not worth following
	lagRetry         = 20 * time.Millisecond // between fences while the feed is behind
)

// NewLive looks whether changes can be followed, makes the publication, and begins to follow. Until that works,
// which takes as long as transactions are open that wrote before, all calls go to next. Close ends it.
func NewLive(next Source, o LiveOptions) (*Live, error) {
	o.Size = cmp.Or(max(o.Size, 0), 100_000)
	o.Patience = cmp.Or(max(o.Patience, 0), 2*time.Millisecond)
	o.Log = cmp.Or(o.Log, slog.Default())
	config, err := primary(o.DSN, "orders_cache")
	if err != nil {
		return nil, fmt.Errorf("opening the cache of live orders: %w", err)
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, connectTimeout)
	l := &Live{next: next, o: o, config: config, memory: newMemory(o.Size)}
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	if err := l.check(ctx); err != nil {
		return nil, fmt.Errorf("opening the cache of live orders: %w", err)
	}
	l.fences = batcher.New(batcher.Config[struct{}, struct{}]{Fetch: l.fence, Concurrent: concurrentFences, Timeout: fenceTimeout})
	ctx, l.stop = context.WithCancel(context.Background())
	l.done.Go(func() { l.run(ctx) })
	return l, nil
}

func (l *Live) check(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	_, err = prepare(ctx, conn)
	return err
}

// Order returns the order as it is when the call begins or later.
func (l *Live) Order(ctx context.Context, uid int64) (order.Order, error) {
	if _, there := l.memory.get(uid); !there {
		l.misses.Add(1)
		return l.read(ctx, uid)
	}
	if l.current(ctx) {
		// Only now: what the feed told meanwhile may have taken it out.
		if o, there := l.memory.get(uid); there {
			l.hits.Add(1)
			return o, nil
		}
	}
	l.bypasses.Add(1)
	return l.read(ctx, uid)
}

// current reports whether the memory is right as of now or later.
func (l *Live) current(ctx context.Context) bool {
	s := l.session.Load()
	if s == nil || s.lag(pgoutput.LSN(l.missed.Load())) > 0 && time.Now().UnixNano() < l.retryAt.Load() {
		return false
	}
	_, reached, err := l.fences.Do(ctx, struct{}{})
	return reached && err == nil
}

// fence is the Fetch of l.fences: found means that the memory is right as of its beginning or later. It never
// fails: nothing is gained by a second attempt.
func (l *Live) fence(ctx context.Context, _ []struct{}, answers []batcher.Answer[struct{}]) error {
	s := l.session.Load()
	if s == nil {
		return nil
	}
	l.asked.Add(1)
	f, err := s.ask(ctx)
	if err != nil {
		return nil
	}
	l.memory.settle(&f.snapshot, s.epoch)
	l.lag.Store(s.lag(f.at))
	answers[0].Found = l.catchUp(s, f.at)
	return nil
}

// catchUp waits, for Patience at most, until the feed has come to the place.
func (l *Live) catchUp(s *session, at pgoutput.LSN) bool {
	if yes, more := s.reached(at); more == nil {
		return yes
	}
	// The log up to there may hold nothing for the feed: the server says so only when asked.
	if err := s.feed.Ask(); err != nil {
		s.fail(err)
		return false
	}
	if s.wait(at, l.o.Patience) {
		return true
	}
	l.missed.Store(uint64(at))
	l.retryAt.Store(time.Now().Add(lagRetry).UnixNano())
	return false
}

// read asks next, and keeps what it finds if that is right.
func (l *Live) read(ctx context.Context, uid int64) (o order.Order, err error) {
	r, unsettled := l.memory.begin(uid)
	if unsettled && l.session.Load() != nil {
		l.current(ctx) // for its snapshot
		r, _ = l.memory.begin(uid)
	}
	err = order.ErrUnavailable // unless next returns
	defer func() { l.memory.end(r, o, err == nil) }()
	return l.next.Order(ctx, uid)
}

// Stats counts what happened so far.
func (l *Live) Stats() LiveStats {
	return LiveStats{
		Hits: l.hits.Load(), Misses: l.misses.Load(), Bypasses: l.bypasses.Load(), Fences: l.asked.Load(), Lag: l.lag.Load(),
		Reconnects: l.reconnects.Load(), Following: l.session.Load() != nil, Kept: l.memory.kept(),
	}
}

// Close stops following and waits for that. Calls go on, all to next.
func (l *Live) Close() {
	l.stop()
	l.done.Wait()
	l.fences.Close()
}
