package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"dyno/services/orders/cache/feed"

	"github.com/jackc/pgx/v5"
)

// The waits between attempts to follow the database again.
const (
	firstRetry = 50 * time.Millisecond
	longRetry  = 5 * time.Second
)

// run follows the database, one session after the other, until ctx ends.
func (l *Live) run(ctx context.Context) {
	retry := firstRetry
	for {
		lasted, err := l.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if lasted {
			retry = firstRetry
		}
		l.o.Log.Warn("changes of orders are not followed; all reads go to the database", "err", err, "retry_in", retry)
		if pause(ctx, retry/2+rand.N(retry/2)) != nil {
			return
		}
		retry = min(2*retry, longRetry)
		l.reconnects.Add(1)
	}
}

// follow has one session. lasted: it got as far as following.
func (l *Live) follow(ctx context.Context) (lasted bool, err error) {
	s, err := l.openSession(ctx)
	if err != nil {
		return false, err
	}
	defer s.hangUp()
	stop := context.AfterFunc(ctx, func() { s.fail(context.Cause(ctx)) })
	defer stop()

	l.session.Store(s)
	defer func() {
		l.session.Store(nil)
		l.memory.reset(false, 0)
	}()
	for {
		e, err := s.feed.Next()
		if err != nil {
			s.fail(err)
			return true, s.cause
		}
		switch e.Kind {
		case feed.Moved:
			s.move(e.At)
		case feed.Changed:
			l.memory.changed(e.Key, e.XID)
		case feed.Truncated:
			l.memory.truncated(e.XID)
		}
	}
}

// openSession connects. What the memory holds from its end on is told of by the session's feed.
func (l *Live) openSession(ctx context.Context) (s *session, err error) {
	s = &session{fences: make(chan *pgx.Conn, concurrentFences)}
	defer func() {
		if err != nil {
			s.hangUp()
		}
	}()
	for range concurrentFences {
		conn, err := pgx.ConnectConfig(ctx, l.config)
		if err != nil {
			return s, err
		}
		s.fences <- conn
		s.conns++
		ground, err := prepare(ctx, conn)
		if err != nil {
			return s, err
		}
		if s.ground.line != "" && s.ground != ground {
			return s, fmt.Errorf("connections lead to different servers: %v and %v", s.ground, ground)
		}
		s.ground = ground
	}
	s.feed, err = feed.Open(ctx, feed.Config{
		Postgres: &l.config.Config, Publication: publication, Table: s.ground.table, Key: "uid",
	})
	if err != nil {
		return s, err
	}
	if s.feed.Lineage != s.ground.line {
		return s, fmt.Errorf("connections lead to different servers: %s and %s", s.ground.line, s.feed.Lineage)
	}
	// The feed does not tell of what was committed before it began, and some of that may not be visible yet: all
	// transactions that have begun by now are to end before anything is kept.
	f, err := s.ask(ctx)
	if err != nil {
		return s, err
	}
	s.epoch = l.memory.reset(true, uint32(f.snapshot.xmax-1))
	return s, nil
}

// hangUp closes what the session has. Who asks it at the moment has a second at most (fenceTimeout).
func (s *session) hangUp() {
	if s.feed != nil {
		s.feed.Close()
	}
	for range s.conns {
		hangUp(<-s.fences)
	}
	close(s.fences)
}
