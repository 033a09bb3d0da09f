package core

import (
	"fmt"
	"net/http"
	"strings"

	"dyno/services/orders/ordertest"
)

// boundsHeaders: a megabyte of headers is refused or cut off, in one header or in many.
func boundsHeaders(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.One(me)
	many := strings.Builder{}
	for i := range 30_000 {
		fmt.Fprintf(&many, "X-%d: %s\r\n", i, "some thirty bytes of a header")
	}
	start := "GET " + ordertest.OrderPath(uid) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.Ring.Token(me) + "\r\n"
	for name, head := range map[string]string{
		"one header":   start + "X: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
		"many headers": start + many.String() + "\r\n",
		"one target":   "GET /api/v1/order?" + strings.Repeat("x", 1<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		w := c.Dial()
		w.Write(head)
		r, err := w.TryRead("GET")
		if err == nil && r.Status != http.StatusRequestHeaderFieldsTooLarge && !(name == "one target" && r.Status == http.StatusRequestURITooLong) {
			c.T.Errorf("%s: %s", name, r)
		}
		w.Ended()
	}
	c.Order(me, uid)
}

// answersPipelined: requests that were sent together are answered each, in order, of whatever
// accounts they are.
func answersPipelined(c *ordertest.Client) {
	const n = 64
	w := c.Dial()
	uids, text := make([]int64, n), strings.Builder{}
	for i := range n {
		uids[i] = c.One(c.Account(i % 7))
		text.WriteString(c.Ask(c.Account(i%7), uids[i]))
	}
	w.Write(text.String())
	for i, uid := range uids {
		if o := ordertest.Read[ordertest.Order](c, w.Read("GET"), http.StatusOK); o.UID != uid || o.Account != c.Account(i%7) {
			c.T.Fatalf("the answer to request %d, of %s for %d: %+v", i, c.Account(i%7), uid, o)
		}
	}
}

// keepsConnectionsApart: what is let in is each request, not the connection that it comes over:
// neither a good token, nor a body, nor an answer of one request serves the next.
func keepsConnectionsApart(c *ordertest.Client) {
	me, other := c.Account(1), c.Account(2)
	mine, theirs := c.One(me), c.One(other)
	w := c.Dial()
	submission := ordertest.MessageOf("apart", "").JSON()
	submit := func(account string) string {
		return fmt.Sprintf("POST /api/v1/submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nAuthorization: Bearer %s\r\n\r\n%s",
			len(submission), c.Ring.Token(account), submission)
	}
	for _, step := range []struct {
		text   string
		status int
		says   string // what the answer has
	}{
		{c.Ask(me, mine), http.StatusOK, `"account":"` + me + `"`},
		{c.Ask(me, theirs), http.StatusNotFound, `"error"`},
		{"GET " + ordertest.OrderPath(mine) + " HTTP/1.1\r\nHost: x\r\n\r\n", http.StatusUnauthorized, `"error"`},
		{c.Ask(other, theirs), http.StatusOK, `"account":"` + other + `"`},
		{c.Ask(other, mine), http.StatusNotFound, `"error"`},
		{submit(me), http.StatusCreated, `"client_order_id":"apart"`},
		{submit(other), http.StatusCreated, `"client_order_id":"apart"`}, // another account's id is its own
		{submit(me), http.StatusOK, `"duplicate":true`},
		{"GET /api/v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.Ring.Token(other) + "\r\n\r\n", http.StatusOK, `"account":"` + other + `"`},
		{"GET " + ordertest.OrderPath(mine) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.Ring.Token(me) + "x\r\n\r\n", http.StatusUnauthorized, `"error"`},
		{"GET " + ordertest.OrderPath(mine) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.Ring.Token(me) + "\r\nAuthorization: Bearer " + c.Ring.Token(other) + "\r\n\r\n", http.StatusUnauthorized, `"error"`},
		{c.Ask(me, mine), http.StatusOK, `"account":"` + me + `"`},
	} {
		if !c.Lists && strings.HasPrefix(step.text, "GET /api/v1/orders") {
			continue
		}
		w.Write(step.text)
		r := w.Read("")
		head, _, _ := strings.Cut(step.text, "\r\n")
		if r.Status != step.status || !strings.Contains(string(r.Body), step.says) {
			c.T.Fatalf("%s: %s, want %d with %s", head, r, step.status, step.says)
		}
		if r.Status != http.StatusOK && r.Header.Get("ETag") != "" {
			c.T.Fatalf("%s: the ETag of an answer before: %s", head, r)
		}
	}
}
