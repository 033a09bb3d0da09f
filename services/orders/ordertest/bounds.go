package ordertest

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// ask writes a query as it goes over the wire.
func (c *client) ask(account string, uid int64) string {
	return "GET " + orderPath(uid) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.ring.token(account) + "\r\n\r\n"
}

// boundsHeaders: a megabyte of headers is refused or cut off, in one header or in many.
func boundsHeaders(c *client) {
	me := c.account(1)
	uid := c.one(me)
	many := strings.Builder{}
	for i := range 30_000 {
		fmt.Fprintf(&many, "X-%d: %s\r\n", i, "some thirty bytes of a header")
	}
	start := "GET " + orderPath(uid) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.ring.token(me) + "\r\n"
	for name, head := range map[string]string{
		"one header":   start + "X: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
		"many headers": start + many.String() + "\r\n",
		"one target":   "GET /api/v1/order?" + strings.Repeat("x", 1<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		w := c.dial()
		w.write(head)
		r, err := w.tryRead("GET")
		if err == nil && r.status != http.StatusRequestHeaderFieldsTooLarge && !(name == "one target" && r.status == http.StatusRequestURITooLong) {
			c.t.Errorf("%s: %s", name, r)
		}
		w.ended()
	}
	c.order(me, uid)
}

// answersPipelined: requests that were sent together are answered each, in order, of whatever
// accounts they are.
func answersPipelined(c *client) {
	const n = 64
	w := c.dial()
	uids, text := make([]int64, n), strings.Builder{}
	for i := range n {
		uids[i] = c.one(c.account(i % 7))
		text.WriteString(c.ask(c.account(i%7), uids[i]))
	}
	w.write(text.String())
	for i, uid := range uids {
		if o := read[order](c, w.read("GET"), http.StatusOK); o.UID != uid || o.Account != c.account(i%7) {
			c.t.Fatalf("the answer to request %d, of %s for %d: %+v", i, c.account(i%7), uid, o)
		}
	}
}

// keepsConnectionsApart: what is let in is each request, not the connection that it comes over:
// neither a good token, nor a body, nor an answer of one request serves the next.
func keepsConnectionsApart(c *client) {
	me, other := c.account(1), c.account(2)
	mine, theirs := c.one(me), c.one(other)
	w := c.dial()
	submission := messageOf("apart", "").json()
	submit := func(account string) string {
		return fmt.Sprintf("POST /api/v1/submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nAuthorization: Bearer %s\r\n\r\n%s",
			len(submission), c.ring.token(account), submission)
	}
	for _, step := range []struct {
		text   string
		status int
		says   string // what the answer has
	}{
		{c.ask(me, mine), http.StatusOK, `"account":"` + me + `"`},
		{c.ask(me, theirs), http.StatusNotFound, `"error"`},
		{"GET " + orderPath(mine) + " HTTP/1.1\r\nHost: x\r\n\r\n", http.StatusUnauthorized, `"error"`},
		{c.ask(other, theirs), http.StatusOK, `"account":"` + other + `"`},
		{c.ask(other, mine), http.StatusNotFound, `"error"`},
		{submit(me), http.StatusCreated, `"client_order_id":"apart"`},
		{submit(other), http.StatusCreated, `"client_order_id":"apart"`}, // another account's id is its own
		{submit(me), http.StatusOK, `"duplicate":true`},
		{"GET /api/v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.ring.token(other) + "\r\n\r\n", http.StatusOK, `"account":"` + other + `"`},
		{"GET " + orderPath(mine) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.ring.token(me) + "x\r\n\r\n", http.StatusUnauthorized, `"error"`},
		{"GET " + orderPath(mine) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.ring.token(me) + "\r\nAuthorization: Bearer " + c.ring.token(other) + "\r\n\r\n", http.StatusUnauthorized, `"error"`},
		{c.ask(me, mine), http.StatusOK, `"account":"` + me + `"`},
	} {
		if !c.lists && strings.HasPrefix(step.text, "GET /api/v1/orders") {
			continue
		}
		w.write(step.text)
		r := w.read("")
		head, _, _ := strings.Cut(step.text, "\r\n")
		if r.status != step.status || !strings.Contains(string(r.body), step.says) {
			c.t.Fatalf("%s: %s, want %d with %s", head, r, step.status, step.says)
		}
		if r.status != http.StatusOK && r.header.Get("ETag") != "" {
			c.t.Fatalf("%s: the ETag of an answer before: %s", head, r)
		}
	}
}

// boundsSlow: a client that sends a byte now and then, of a header or a body, is cut off, and other
// clients do not wait meanwhile.
func boundsSlow(c *client) {
	c.env.Client = time.Second
	c.run()
	me := c.account(1)
	uid := c.one(me)
	const clients = 200
	slow := make([]*wire, clients)
	for i := range slow {
		slow[i] = c.dial()
		head := "POST /api/v1/submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + c.ring.token(me) + "\r\n"
		switch i % 3 {
		case 0:
			slow[i].write(head + "X: ")
		case 1:
			slow[i].write(head + "Content-Length: 1000\r\n\r\n{")
		case 2: // nothing at all until the first byte
		}
	}
	stop, dripped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(dripped)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				for _, w := range slow {
					w.write("x") // an error means that it was cut off, which is what is waited for
				}
			}
		}
	}()
	for range 50 {
		c.order(me, uid)
	}
	for _, w := range slow {
		w.ended()
	}
	close(stop)
	<-dripped
	c.order(me, uid)
	if orders, audits := c.count(me); orders != 1 || audits != 0 {
		c.t.Fatalf("%d orders, %d audit records", orders, audits)
	}
}

// boundsUnread: a client that asks and does not read the answers is cut off.
func boundsUnread(c *client) {
	c.env.Client, c.env.Timeout = time.Second, time.Second
	c.run()
	me := c.account(1)
	c.insert(me, 500) // an answer has some 100 KB
	w := c.dial()
	ask := "GET /api/v1/orders?limit=500 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.ring.token(me) + "\r\n\r\n"
	err := w.write(strings.Repeat(ask, 32<<20/len(ask))) // more bytes than sockets hold
	if timeout, ok := err.(net.Error); err == nil || ok && timeout.Timeout() {
		c.t.Fatalf("the connection was open for %v: %v", patience, err)
	}
	c.get(me, "/api/v1/orders")
}
