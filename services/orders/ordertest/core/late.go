package core

import (
	"context"
	"net/http"
	"strings"
	"time"

	"dyno/services/orders/ordertest"
)

// Statements that lock.
const (
	lockOrders = "LOCK TABLE orders IN ACCESS EXCLUSIVE MODE" // no reads, no writes
	lockAudit  = "LOCK TABLE audit IN EXCLUSIVE MODE"         // no writes
)

// givesUp: what takes the database too long is answered in time, and does not go on there.
func givesUp(c *ordertest.Client) {
	c.Env.Timeout = time.Second
	c.Run()
	me := c.Account(1)
	uid := c.One(me)
	release := c.Lock(lockOrders)
	for _, q := range each(c, "late", me, uid) {
		q.Token = c.Ring.Token(me)
		c.Refused(c.Do(q), http.StatusServiceUnavailable, "")
	}
	ordertest.Await(c.T, "the database to drop statements that no request waits for", func() bool { return c.Blocked() == 0 })
	release()
	ordertest.Await(c.T, "orders to be answered again", func() bool { return c.Get(me, ordertest.OrderPath(uid)).Status == http.StatusOK })
	if orders, audits := c.Count(me); orders != 1 || audits != 0 {
		c.T.Fatalf("%d orders, %d audit records", orders, audits)
	}
}

// abandoned: a client that goes away in the middle leaves nothing behind: an order with its audit
// record or neither, and no transaction.
func abandoned(c *ordertest.Client) {
	c.Run()
	me := c.Account(1)
	release := c.Lock(lockAudit)
	ctx, hangUp := context.WithCancel(c.T.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Program.URL+"/api/v1/submit", strings.NewReader(ordertest.MessageOf("left", me).JSON()))
	if err != nil {
		c.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Ring.Token(me))
	req.Header.Set("Content-Type", ordertest.TypeJSON)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if resp, err := c.HTTP.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	ordertest.Await(c.T, "the submission to wait", func() bool { return c.Blocked() > 0 })
	hangUp()
	<-gone
	release()
	ordertest.Await(c.T, "its transaction to end", func() bool {
		return ordertest.Value[int](c, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
			AND backend_type = 'client backend' AND xact_start IS NOT NULL`) == 0
	})
	if orders, audits := c.Count(me); orders != audits {
		c.T.Fatalf("%d orders, %d audit records", orders, audits)
	}
	again := c.Submit(me, ordertest.TypeJSON, ordertest.MessageOf("left", me).JSON())
	if again.Status != http.StatusCreated && again.Status != http.StatusOK {
		c.T.Fatalf("sent again: %s", again)
	}
	if orders, audits := c.Count(me); orders != 1 || audits < 1 {
		c.T.Fatalf("sent again: %d orders, %d audit records", orders, audits)
	}
}
