package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A uid is decided when it is certain for good whether an order has it. Uids come from an identity
// column that is GENERATED ALWAYS, so every INSERT takes the next value of one sequence. A value is
// never returned twice, and a value whose transaction was rolled back remains a gap. So all values
// up to the sequence's last one are decided as soon as every transaction that took one of them has
// ended. An INSERT locks the table (ROW EXCLUSIVE) before it takes a value, and keeps the lock
// until its transaction ends and its rows are visible. Hence:
//
//  1. read the sequence's last value: the watermark;
//  2. list the transactions that hold that lock now: every open transaction that took a value up to
//     the watermark is among them;
//  3. wait until each of these has ended. CREATE INDEX CONCURRENTLY waits in the same way. (LOCK
//     TABLE ... IN SHARE MODE would wait as well, but all later writers would queue behind it, for
//     as long as one transaction stays open.)
//  4. make it durable. Values of rolled back transactions are not flushed to the WAL: after
//     a crash, or on a standby that takes over, the sequence could return them again. A commit of
//     our own, later in the WAL, flushes them.
//
// This does not hold for uids assigned in other ways: by OVERRIDING SYSTEM VALUE, by COPY with uids
// below the watermark (as in a restored dump), by setting the sequence back, or by sessions that
// preallocate values (a sequence with CACHE above 1, which is refused).

// sequence is the input of the checks and of the first step.
type sequence struct {
	line  string // lineage of the database
	table uint32 // the oid of orders
	last  int64  // 0 means that no value was taken
}

var errRules = errors.New("the uids of orders are not made as the filter needs it")

func readSequence(ctx context.Context, conn *pgx.Conn) (s sequence, err error) {
	if s.line, err = lineage(ctx, conn); err != nil {
		return s, err
	}
	var always, single, rising bool
	err = conn.QueryRow(ctx, `SELECT a.attrelid, a.attidentity = 'a', s.seqcache = 1, s.seqincrement > 0 AND NOT s.seqcycle,
			coalesce(pg_sequence_last_value(s.seqrelid), 0)
		FROM pg_attribute a JOIN pg_sequence s ON s.seqrelid = pg_get_serial_sequence('orders', 'uid')::regclass
		WHERE a.attrelid = 'orders'::regclass AND a.attname = 'uid'`).Scan(&s.table, &always, &single, &rising, &s.last)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return s, fmt.Errorf("%w: orders.uid has no sequence; it must be GENERATED ALWAYS AS IDENTITY", errRules)
	case err != nil:
		return s, fmt.Errorf("reading the sequence of orders.uid: %w", err)
	case !always:
		return s, fmt.Errorf("%w: uids can be given by hand; ALTER TABLE orders ALTER uid SET GENERATED ALWAYS", errRules)
	case !single:
		return s, fmt.Errorf("%w: sessions keep some in stock; ALTER TABLE orders ALTER uid SET CACHE 1, and reconnect all writers", errRules)
	case !rising:
		return s, fmt.Errorf("%w: they fall or start over; ALTER TABLE orders ALTER uid SET INCREMENT BY 1 SET NO CYCLE", errRules)
	}
	return s, nil
}

// Times between two polls for transactions that still hold the lock.
const (
	firstPoll = 2 * time.Millisecond
	maxPoll   = time.Second
)

// decide waits until all uids up to the sequence's last one are decided, without a time limit.
func decide(ctx context.Context, conn *pgx.Conn, s sequence) error {
	pending, err := writers(ctx, conn, s.table)
	for wait := firstPoll; err == nil && len(pending) > 0; wait = min(2*wait, maxPoll) {
		if err = pause(ctx, wait); err != nil {
			break
		}
		var now map[string]bool
		now, err = writers(ctx, conn, s.table)
		for w := range pending {
			if !now[w] {
				delete(pending, w)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("waiting for transactions that may have taken a uid: %w", err)
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// This commit must be as durable as the strictest writer's, whatever the default is.
		_, err := tx.Exec(ctx, `SET LOCAL synchronous_commit = on; SELECT pg_logical_emit_message(true, 'orders_filter', '')`)
		return err
	})
	if err != nil {
		return fmt.Errorf("making sure that no uid is given twice: %w", err)
	}
	return nil
}

// writers returns the transactions that hold the lock of an INSERT now.
func writers(ctx context.Context, conn *pgx.Conn, table uint32) (map[string]bool, error) {
	rows, err := conn.Query(ctx, `SELECT l.virtualtransaction FROM pg_locks l JOIN pg_database d ON d.oid = l.database
		WHERE d.datname = current_database() AND l.locktype = 'relation' AND l.relation = $1 AND l.mode = 'RowExclusiveLock' AND l.granted`, table)
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	held := make(map[string]bool, len(names))
	for _, name := range names {
		held[name] = true
	}
	return held, err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
