package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/services/orders/order"
	"dyno/services/orders/pgtest"

	"github.com/jackc/pgx/v5"
)

// poolers are ways to put PgBouncer between.
var poolers = map[string]map[string]string{
	"session":     {"pool_mode": "session", "default_pool_size": "60"},
	"transaction": {"pool_mode": "transaction", "default_pool_size": "3"},
	"ignoring": {"pool_mode": "transaction", "default_pool_size": "3",
		"ignore_startup_parameters": "statement_timeout,plan_cache_mode,enable_seqscan,enable_bitmapscan,enable_sort,enable_incremental_sort"},
}

// behind runs a test for every driver, lookup and pooler. Its store opens an empty database through
// the pooler, and conn is a connection past it.
func behind(t *testing.T, timeout time.Duration, test func(t *testing.T, s *Store, conn *pgx.Conn, log *bytes.Buffer)) {
	for name, settings := range poolers {
		t.Run(name, func(t *testing.T) {
			inTurn(t, func(t *testing.T, o Options) {
				direct := pgtest.Database(t)
				var log bytes.Buffer
				o.Log = slog.New(slog.NewTextHandler(&log, nil))
				o.DSNs = pgtest.PgBouncer(t, settings, direct)
				o.Timeout = timeout
				s, err := Open(t.Context(), completed(o))
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				test(t, s, connect(t, direct), &log)
			})
		})
	}
}

// Behind a pooler all goes as without, for more clients than it has sessions.
func TestPooler(t *testing.T) {
	behind(t, time.Minute, func(t *testing.T, s *Store, conn *pgx.Conn, log *bytes.Buffer) {
		var all sync.WaitGroup
		for g := range 12 {
			all.Go(func() {
				account := fmt.Sprint("A", g)
				for n := range 5 {
					made := submit(t, s, account, buy(n))
					if r, err := s.Submit(t.Context(), account, buy(n)); err != nil || !r.Duplicate || r.Order.UID != made.UID {
						t.Errorf("again: %+v, %v", r, err)
					}
					if got, err := s.Order(t.Context(), made.UID); err != nil || got != made {
						t.Errorf("%v, %v, want %v", got, err, made)
					}
					if _, err := s.Order(t.Context(), made.UID+1_000_000); err != order.ErrNotFound {
						t.Errorf("no order: %v", err)
					}
				}
				if page, err := s.Orders(t.Context(), order.Filter{Account: account, Limit: 4}); err != nil || len(page.Orders) != 4 || page.Next == 0 {
					t.Errorf("%+v, %v", page, err)
				}
				if page, err := s.Orders(t.Context(), order.Filter{Account: account, Limit: 9, Status: order.New}); err != nil || len(page.Orders) != 5 {
					t.Errorf("%+v, %v", page, err)
				}
			})
		}
		all.Wait()
		if err := s.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		if n := get[int](t, conn, "SELECT count(*) FROM orders JOIN audit USING (uid)"); n != 60 {
			t.Errorf("%d orders and audit records", n)
		}
		says := strings.Contains(log.String(), "a pooler is before the database")
		warns := strings.Contains(log.String(), "the server does not end statements after the time-out")
		if !says || warns != (s.options.Driver == "sql") {
			t.Errorf("the log says %s", log)
		}
		if n := get[int](t, conn, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"); n != 0 {
			t.Errorf("%d advisory locks are left in the pooler's sessions", n)
		}
	})
}

// What the server ends by the time-out is ended behind a pooler, too, while its caller would wait;
// sessions that it shares stay as they are for other clients.
func TestPoolerTimeout(t *testing.T) {
	behind(t, time.Second, func(t *testing.T, s *Store, conn *pgx.Conn, log *bytes.Buffer) {
		if s.options.Driver == "sql" {
			return // of which the log warns
		}
		until(t, "an order", func() bool { _, err := s.Submit(t.Context(), "A1", buy(1)); return err == nil })
		watch := connect(t, conn.Config().ConnString())
		for name, call := range calls(s, 1) {
			unlock := locked(t, conn)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := call(ctx); !errors.Is(err, order.ErrUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
			cancel()
			until(t, name+": the end of the statement", func() bool { return get[int](t, watch, waiting) == 0 })
			unlock()
			until(t, name+" after it", func() bool { return call(t.Context()) == nil })
		}
		other := connect(t, s.options.DSNs[0]+"&default_query_exec_mode=exec")
		for range 5 {
			if got := get[string](t, other, "SELECT current_setting('statement_timeout') || current_setting('enable_seqscan')"); got != "0on" {
				t.Errorf("another client of the pooler has %s", got)
			}
		}
	})
}
