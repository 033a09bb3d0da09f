package ordertest

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// lock locks a table until release is called, at the latest at the end of the test.
func (c *client) lock(statement string) (release func()) {
	c.t.Helper()
	ctx := context.Background()
	tx, err := c.db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	release = func() { tx.Rollback(ctx) } // again: it has ended
	c.t.Cleanup(release)
	if _, err := tx.Exec(ctx, statement); err != nil {
		c.t.Fatal(err)
	}
	return release
}

// Statements that lock.
const (
	lockOrders = "LOCK TABLE orders IN ACCESS EXCLUSIVE MODE" // no reads, no writes
	lockAudit  = "LOCK TABLE audit IN EXCLUSIVE MODE"         // no writes
)

// blocked counts the program's statements that wait for a lock.
func (c *client) blocked() int {
	c.t.Helper()
	return value[int](c, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
		AND application_name <> 'orders_filter'`)
}

// givesUp: what takes the database too long is answered in time, and does not go on there.
func givesUp(c *client) {
	c.env.Timeout = time.Second
	c.run()
	me := c.account(1)
	uid := c.one(me)
	release := c.lock(lockOrders)
	for _, q := range c.each("late", me, uid) {
		q.token = c.ring.token(me)
		c.refused(c.do(q), http.StatusServiceUnavailable, "")
	}
	await(c.t, "the database to drop statements that no request waits for", func() bool { return c.blocked() == 0 })
	release()
	await(c.t, "orders to be answered again", func() bool { return c.get(me, orderPath(uid)).status == http.StatusOK })
	if orders, audits := c.count(me); orders != 1 || audits != 0 {
		c.t.Fatalf("%d orders, %d audit records", orders, audits)
	}
}

// abandoned: a client that goes away in the middle leaves nothing behind: an order with its audit
// record or neither, and no transaction.
func abandoned(c *client) {
	c.run()
	me := c.account(1)
	release := c.lock(lockAudit)
	ctx, hangUp := context.WithCancel(c.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.program.URL+"/api/v1/submit", strings.NewReader(messageOf("left", me).json()))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.ring.token(me))
	req.Header.Set("Content-Type", typeJSON)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if resp, err := c.http.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	await(c.t, "the submission to wait", func() bool { return c.blocked() > 0 })
	hangUp()
	<-gone
	release()
	await(c.t, "its transaction to end", func() bool {
		return value[int](c, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
			AND backend_type = 'client backend' AND xact_start IS NOT NULL`) == 0
	})
	if orders, audits := c.count(me); orders != audits {
		c.t.Fatalf("%d orders, %d audit records", orders, audits)
	}
	again := c.submit(me, typeJSON, messageOf("left", me).json())
	if again.status != http.StatusCreated && again.status != http.StatusOK {
		c.t.Fatalf("sent again: %s", again)
	}
	if orders, audits := c.count(me); orders != 1 || audits < 1 {
		c.t.Fatalf("sent again: %d orders, %d audit records", orders, audits)
	}
}
