package soak

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"dyno/services/orders/soak/history"

	"github.com/jackc/pgx/v5"
)

// writer changes orders by SQL, in sequential transactions.
type writer struct {
	*run
	random *rand.Rand
	conn   *pgx.Conn // nil means not connected
}

// writers is the first writer's stream of random numbers; lower ones are the clients'.
const writers = 1 << 32

func newWriter(r *run, i int) *writer {
	return &writer{run: r, random: rand.New(rand.NewPCG(r.Seed, writers+uint64(i)))}
}

// change is a random transaction.
type change struct {
	orders   []history.Known
	rollback bool
}

// work writes until stop.
func (w *writer) work(ctx context.Context, stop <-chan struct{}) error {
	defer func() {
		if w.conn != nil {
			w.conn.Close(context.WithoutCancel(ctx))
		}
	}()
	worked := time.Now()
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(time.Duration(w.random.Int64N(int64(2 * time.Millisecond)))):
		}
		switch err := w.write(ctx, w.draw()); {
		case err == nil:
			worked = time.Now()
			continue
		case ctx.Err() != nil:
			return nil
		case w.conn != nil && !w.conn.IsClosed() || time.Since(worked) > timeout:
			return fmt.Errorf("writing: %w", err) // the database is up and refuses a valid statement
		}
		w.conn = nil // the database is down; the transaction may be committed or not
		w.broken.Add(1)
	}
}

func (w *writer) draw() change {
	c := change{rollback: w.random.IntN(8) == 0}
	n := 1
	if w.random.IntN(8) == 0 {
		n += w.random.IntN(5)
	}
	for range n {
		if w.random.IntN(3) > 0 {
			c.orders = append(c.orders, w.history.Hot(w.random.IntN(w.Hot)))
		} else {
			c.orders = append(c.orders, w.history.Tail(w.random.IntN(math.MaxInt32)))
		}
	}
	return c
}

// write runs one transaction. It reports the commits that it begins, and the acknowledged ones, to
// the history.
func (w *writer) write(ctx context.Context, c change) (err error) {
	if w.conn == nil {
		if w.conn, err = w.connect(ctx); err != nil {
			return err
		}
	}
	tx, err := w.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) // an error after a commit does not matter
	changed, err := w.lock(ctx, tx, c.orders)
	if err != nil {
		return err
	}
	for i := range changed {
		if err := changed[i].update(ctx, tx, c.rollback); err != nil {
			return err
		}
	}
	if c.rollback {
		w.rollbacks.Add(1)
		return tx.Rollback(ctx)
	}
	for _, o := range changed {
		w.history.Committing(o.uid, o.version)
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	for _, o := range changed {
		w.history.Committed(o.uid, o.version, o.updated)
	}
	w.commits.Add(1)
	return nil
}

// changed is an order that a transaction changes.
type changed struct {
	uid     int64
	key     history.Key
	version int64 // new version
	updated time.Time
}

// lock locks those orders that have not ended, always in the same sequence to avoid deadlocks.
func (w *writer) lock(ctx context.Context, tx pgx.Tx, orders []history.Known) (out []changed, err error) {
	uids, keys := []int64{}, map[int64]history.Key{}
	for _, o := range orders {
		uids = append(uids, o.UID)
		keys[o.UID] = o.Key
	}
	rows, err := tx.Query(ctx, `SELECT uid, version FROM orders WHERE uid = ANY ($1) AND status < 3 ORDER BY uid FOR UPDATE`, uids)
	if err != nil {
		return nil, err
	}
	var c changed
	_, err = pgx.ForEachRow(rows, []any{&c.uid, &c.version}, func() error {
		c.key = keys[c.uid]
		c.version++
		out = append(out, c)
		return nil
	})
	return out, err
}

var errVersion = errors.New("the database does not count versions as it must")

// update writes the contents of the new version; a ghost has contents that no client may ever see.
func (c *changed) update(ctx context.Context, tx pgx.Tx, ghost bool) error {
	row := c.key.Derive(c.version)
	if ghost {
		row = c.key.Ghost(c.version)
	}
	var version int64
	err := tx.QueryRow(ctx, `UPDATE orders SET symbol = $2, side = $3, status = $4, price = $5, qty = $6, filled = $7
		WHERE uid = $1 RETURNING version, updated_at`,
		c.uid, row.Symbol, number(sides, row.Side), number(statuses, row.Status), row.Price, row.Qty, row.Filled).Scan(&version, &c.updated)
	if err == nil && version != c.version {
		err = fmt.Errorf("%w: order %d has %d after %d", errVersion, c.uid, version, c.version-1)
	}
	return err
}
