package ordertest

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// runLinked starts the program with a link to its database.
func (c *client) runLinked() *link {
	c.t.Helper()
	direct := c.database(c.t)
	l, dsn := newLink(c.t, direct)
	c.env.DSN = dsn
	c.runOver(direct)
	return l
}

// ready is the status of /readyz.
func (c *client) ready() int {
	c.t.Helper()
	resp, err := c.http.Get(c.program.Debug + "/readyz")
	if err != nil {
		c.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// inFlight is how many requests a program says that it is answering; not all do.
func (c *client) inFlight() (requests int, told bool) {
	c.t.Helper()
	resp, err := c.http.Get(c.program.Debug + "/metrics")
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text(), "orders_inflight %d", &requests); err == nil {
			return requests, true
		}
	}
	return 0, false
}

// each is a request of each kind.
func (c *client) each(id, me string, uid int64) []request {
	all := []request{{path: orderPath(uid)}, {path: orderPath(uid + 1_000_000)},
		{method: http.MethodPost, path: "/api/v1/submit", kind: typeJSON, body: messageOf(id, me).json()}}
	if c.lists {
		all = append(all, request{path: "/api/v1/orders"})
	}
	return all
}

// away checks that a program whose database does not answer says so, of everything that needs it.
func (c *client) away(me string, uid int64) {
	c.t.Helper()
	var all sync.WaitGroup
	for _, q := range c.each("away", me, uid) {
		q.token = c.ring.token(me)
		all.Go(func() {
			r, err := c.try(q)
			if err != nil || r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" || !strings.HasPrefix(string(r.body), `{"error":`) {
				c.t.Errorf("%s %s: %s, %v; want 503", q.verb(), q.path, r, err)
			}
		})
	}
	all.Wait()
	await(c.t, "/readyz to say that the database is away", func() bool { return c.ready() == http.StatusServiceUnavailable })
	for _, r := range []reply{c.do(request{path: orderPath(uid)}), c.do(request{path: orderPath(uid), token: "x"})} {
		c.refused(r, http.StatusUnauthorized, "") // as before: tokens need no database
	}
	c.refused(c.get(me, "/api/v1/order?uid=x"), http.StatusBadRequest, "uid")
}

// back waits until a program has found its database again, and checks that it is as before.
func (c *client) back(me string, uid int64) {
	c.t.Helper()
	await(c.t, "the database to be found again", func() bool {
		return c.ready() == http.StatusOK && c.get(me, orderPath(uid)).status == http.StatusOK
	})
	c.exec("UPDATE orders SET filled = filled + 1 WHERE uid = $1", uid)
	version := value[int64](c, "SELECT version FROM orders WHERE uid = $1", uid)
	if o := c.order(me, uid); o.Version != version {
		c.t.Fatalf("version %d was committed, %d was read", version, o.Version)
	}
	body := messageOf("away", me).json()                      // which may have been committed without an answer
	await(c.t, "submissions to be taken again", func() bool { // by connections unused since
		r := c.submit(me, typeJSON, body)
		return r.status == http.StatusCreated || r.status == http.StatusOK
	})
	made := read[receipt](c, c.submit(me, typeJSON, body), http.StatusOK)
	if n := value[int](c, "SELECT count(*) FROM orders WHERE account = $1 AND client_order_id = 'away'", me); n != 1 || !made.Duplicate {
		c.t.Fatalf("%d orders by one submission, %+v", n, made)
	}
}

func saysAway(c *client) {
	l := c.runLinked()
	me := c.account(1)
	uid := c.one(me)
	if o := c.order(me, uid); o.UID != uid || c.ready() != http.StatusOK {
		c.t.Fatalf("at first: %+v, /readyz %d", o, c.ready())
	}
	for range 2 {
		l.set(cut)
		c.away(me, uid)
		l.set(joined)
		c.back(me, uid)
	}
}

func saysHanging(c *client) {
	c.env.Timeout = time.Second
	l := c.runLinked()
	me := c.account(1)
	uid := c.one(me)
	c.order(me, uid)
	l.set(hanging)
	c.away(me, uid)
	l.set(joined)
	c.back(me, uid)
}

// answersUnderWay: a program that receives SIGTERM takes no more connections, and answers what it
// was asked.
func answersUnderWay(c *client) {
	c.run()
	me := c.account(1)
	uid := c.one(me)
	release := c.lock(lockOrders)
	const each = 4
	replies := make(chan reply, 2*each)
	send := func(q request) {
		r, err := c.try(q)
		if err != nil {
			c.t.Errorf("%s %s: %v", q.verb(), q.path, err)
		}
		replies <- r
	}
	token := c.ring.token(me)
	for i := range each {
		go send(request{path: orderPath(uid), token: token})
		go send(request{method: http.MethodPost, path: "/api/v1/submit", token: token, kind: typeJSON, body: messageOf(fmt.Sprint("last", i), me).json()})
	}
	await(c.t, "requests to wait", func() bool {
		if n, told := c.inFlight(); told {
			return n == 2*each
		}
		return c.blocked() >= each // as many as there are connections
	})
	ended := make(chan struct{})
	go func() {
		c.stop()
		close(ended)
	}()
	await(c.t, "the program to take no more connections", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.program.URL, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	release()
	for range 2 * each {
		if r := <-replies; r.status != http.StatusOK && r.status != http.StatusCreated {
			c.t.Errorf("a request under way: %s", r)
		}
	}
	<-ended
	if orders, audits := c.count(me); orders != 1+each || audits != each {
		c.t.Fatalf("%d orders, %d audit records", orders, audits)
	}
}
