package core

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"dyno/services/orders/ordertest"
)

// inFlight is how many requests a program says that it is answering; not all do.
func inFlight(c *ordertest.Client) (requests int, told bool) {
	c.T.Helper()
	resp, err := c.HTTP.Get(c.Program.Debug + "/metrics")
	if err != nil {
		c.T.Fatal(err)
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
func each(c *ordertest.Client, id, me string, uid int64) []ordertest.Request {
	all := []ordertest.Request{{Path: ordertest.OrderPath(uid)}, {Path: ordertest.OrderPath(uid + 1_000_000)},
		{Method: http.MethodPost, Path: "/api/v1/submit", Kind: ordertest.TypeJSON, Body: ordertest.MessageOf(id, me).JSON()}}
	if c.Lists {
		all = append(all, ordertest.Request{Path: "/api/v1/orders"})
	}
	return all
}

// away checks that a program whose database does not answer says so, of everything that needs it.
func away(c *ordertest.Client, me string, uid int64) {
	c.T.Helper()
	var all sync.WaitGroup
	for _, q := range each(c, "away", me, uid) {
		q.Token = c.Ring.Token(me)
		all.Go(func() {
			r, err := c.Try(q)
			if err != nil || r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || !strings.HasPrefix(string(r.Body), `{"error":`) {
				c.T.Errorf("%s %s: %s, %v; want 503", q.Verb(), q.Path, r, err)
			}
		})
	}
	all.Wait()
	ordertest.Await(c.T, "/readyz to say that the database is away", func() bool { return c.Ready() == http.StatusServiceUnavailable })
	for _, r := range []ordertest.Reply{c.Do(ordertest.Request{Path: ordertest.OrderPath(uid)}), c.Do(ordertest.Request{Path: ordertest.OrderPath(uid), Token: "x"})} {
		c.Refused(r, http.StatusUnauthorized, "") // as before: tokens need no database
	}
	c.Refused(c.Get(me, "/api/v1/order?uid=x"), http.StatusBadRequest, "uid")
}

func saysAway(c *ordertest.Client) {
	link := c.RunLinked()
	me := c.Account(1)
	uid := c.One(me)
	if o := c.Order(me, uid); o.UID != uid {
		c.T.Fatalf("at first: %+v", o)
	}
	ready := func() bool { return c.Ready() == http.StatusOK }
	ordertest.Await(c.T, "/readyz to say that the database is there", ready)
	for range 2 {
		link.Refuse()
		away(c, me, uid)
		link.Pass()
		ordertest.Back(c, me, uid)
	}
}

func saysHanging(c *ordertest.Client) {
	c.Env.Timeout = time.Second
	link := c.RunLinked()
	me := c.Account(1)
	uid := c.One(me)
	// A busy machine takes longer than that to connect.
	ordertest.Await(c.T, "the order", func() bool { return c.Get(me, ordertest.OrderPath(uid)).Status == http.StatusOK })
	link.Hold()
	away(c, me, uid)
	link.Pass()
	ordertest.Back(c, me, uid)
}

// answersUnderWay: a program that receives SIGTERM takes no more connections, and answers what it
// was asked.
func answersUnderWay(c *ordertest.Client) {
	c.Run()
	me := c.Account(1)
	uid := c.One(me)
	release := c.Lock(lockOrders)
	const each = 4
	replies := make(chan ordertest.Reply, 2*each)
	send := func(q ordertest.Request) {
		r, err := c.Try(q)
		if err != nil {
			c.T.Errorf("%s %s: %v", q.Verb(), q.Path, err)
		}
		replies <- r
	}
	token := c.Ring.Token(me)
	for i := range each {
		go send(ordertest.Request{Path: ordertest.OrderPath(uid), Token: token})
		go send(ordertest.Request{Method: http.MethodPost, Path: "/api/v1/submit", Token: token, Kind: ordertest.TypeJSON, Body: ordertest.MessageOf(fmt.Sprint("last", i), me).JSON()})
	}
	ordertest.Await(c.T, "requests to wait", func() bool {
		if n, told := inFlight(c); told {
			return n == 2*each
		}
		return c.Blocked() >= each // as many as there are connections
	})
	ended := make(chan struct{})
	go func() {
		c.Stop()
		close(ended)
	}()
	ordertest.Await(c.T, "the program to take no more connections", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.Program.URL, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	release()
	for range 2 * each {
		if r := <-replies; r.Status != http.StatusOK && r.Status != http.StatusCreated {
			c.T.Errorf("a request under way: %s", r)
		}
	}
	<-ended
	if orders, audits := c.Count(me); orders != 1+each || audits != each {
		c.T.Fatalf("%d orders, %d audit records", orders, audits)
	}
}
