package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A uid is decided when it is certain for good whether an order has it. Uids come from an identity column that is
// GENERATED ALWAYS, so every INSERT takes the next value of one sequence. A value is never handed out twice, and
// one whose transaction was rolled back stays a hole. So all values up to the sequence's last one are decided as
// soon as every transaction that took one of them has ended. An INSERT locks the table (ROW EXCLUSIVE) before it
// takes a value, and keeps the lock until its transaction ends and others see its rows. Hence:
//
//  1. read the sequence's last value: the mark;
//  2. see who holds that lock now: whoever took a value up to the mark and has not ended is among them;
//  3. wait until each of these has ended. CREATE INDEX CONCURRENTLY waits in the same way. (LOCK TABLE ... IN
//     SHARE MODE would wait as well, but all writers that come later would queue behind it, for as long as
//     one transaction stays open.)
//  4. make it durable. The log does not wait for values of transactions that are rolled back: after a crash, or on a
//     standby that takes over, the sequence could hand them out again. A commit of our own behind them in the
//     log carries them along.
//
// It does not hold if uids are made otherwise: by OVERRIDING SYSTEM VALUE, by COPY with uids (as a restored dump
// has them) below the mark, by setting the sequence back, or by sessions that keep values in stock (a sequence
// with CACHE above 1: refused).

// sequence is what the rules and the first step need.
type sequence struct {
	line  string // the lineage
	table uint32 // the oid of orders
	last  int64  // 0: none was handed out
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

// The waits between looks at who still holds the lock.
const (
	firstLook = 2 * time.Millisecond
	longLook  = time.Second
)

// decide waits until all uids up to the sequence's last are decided, however long that takes.
func decide(ctx context.Context, conn *pgx.Conn, s sequence) error {
	pending, err := writers(ctx, conn, s.table)
	for wait := firstLook; err == nil && len(pending) > 0; wait = min(2*wait, longLook) {
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
	_, err = conn.Exec(ctx, `SELECT pg_logical_emit_message(true, 'orders_filter', '')`)
	if err != nil {
		return fmt.Errorf("making sure that no uid is given twice: %w", err)
	}
	return nil
}

// writers are the transactions that hold the lock of an INSERT now.
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
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
