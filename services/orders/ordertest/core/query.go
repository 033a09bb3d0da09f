package core

import (
	"fmt"
	"net/http"
	"strings"

	"dyno/services/orders/ordertest"
)

// answersOrder: an answer has these members, in this order, of these types.
func answersOrder(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.One(me)
	r := c.Get(me, ordertest.OrderPath(uid))
	want := fmt.Sprintf(`{"uid":%d,"account":"%s","symbol":"ACME","side":"BUY","price":"101.25","qty":"100","filled":"0",`+
		`"status":"NEW","version":1,"updated_at":"2026-01-02T03:04:05.678901Z"}`, uid, me)
	if r.Status != http.StatusOK || string(r.Body) != want {
		c.T.Fatalf("%s\nwant %s", r, want)
	}
	if kind, tag := r.Header.Get("Content-Type"), r.Header.Get("ETag"); kind != "application/json" || tag != fmt.Sprintf(`"%d-1"`, uid) {
		c.T.Fatalf("Content-Type %q, ETag %q", kind, tag)
	}
	c.Exec("UPDATE orders SET status = 2, filled = 1250000000 WHERE uid = $1", uid)
	o := c.Order(me, uid)
	if o.Status != "PARTIALLY_FILLED" || o.Filled != "12.5" || o.Version != 2 || o.UpdatedAt.Year() == 2026 && o.UpdatedAt.Month() == 1 {
		c.T.Fatalf("after a change: %+v", o)
	}
}

func writesDecimals(c *ordertest.Client) {
	me := c.Account(1)
	for _, tt := range []struct {
		units int64
		text  string
	}{
		{1, "0.00000001"}, {100_000_000, "1"}, {150_000_000, "1.5"}, {1_000_000_000_00, "1000"},
		{9_223_372_036_854_775_807, "92233720368.54775807"}, {10, "0.0000001"},
	} {
		uid := ordertest.Value[int64](c, `INSERT INTO orders (account, client_order_id, symbol, side, status, price, qty, filled, digest)
			VALUES ($1, $2, 'EUR/USD', 2, 3, $3, $3, $3, sha256('none')) RETURNING uid`, me, tt.text, tt.units)
		if o := c.Order(me, uid); o.Price != tt.text || o.Qty != tt.text || o.Filled != tt.text || o.Side != "SELL" || o.Status != "FILLED" || o.Symbol != "EUR/USD" {
			c.T.Errorf("%d units: %+v", tt.units, o)
		}
	}
}

func refusesQueries(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.One(me)
	for query, field := range map[string]string{
		"":                         "uid",
		"?uid=":                    "uid",
		"?uid=0":                   "uid",
		"?uid=-1":                  "uid",
		"?uid=%2B1":                "uid",
		"?uid=1.5":                 "uid",
		"?uid=1e3":                 "uid",
		"?uid=0x10":                "uid",
		"?uid=one":                 "uid",
		"?uid=1%00":                "uid",
		"?uid=9223372036854775808": "uid",
		"?uid=1&uid=1":             "uid",
		"?uid=1%20OR%201=1":        "uid",
		"?UID=1":                   "uid",
		fmt.Sprintf("?uid=%d&min_version=0", uid):               "min_version",
		fmt.Sprintf("?uid=%d&min_version=x", uid):               "min_version",
		fmt.Sprintf("?uid=%d&min_version=1&min_version=1", uid): "min_version",
	} {
		c.T.Log(query)
		c.Refused(c.Get(me, "/api/v1/order"+query), http.StatusBadRequest, field)
	}
	if r := c.Get(me, ordertest.OrderPath(uid)+"&trace=1"); r.Status != http.StatusOK {
		c.T.Fatalf("with an unknown parameter: %s", r)
	}
}

func knowsNone(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.One(me)
	for _, none := range []int64{uid + 1_000_000, 9_223_372_036_854_775_807} {
		c.Refused(c.Get(me, ordertest.OrderPath(none)), http.StatusNotFound, "")
	}
}

// hidesForeign: the answers for another account's order and for none differ by the date only.
func hidesForeign(c *ordertest.Client) {
	me, other := c.Account(1), c.Account(2)
	theirs := c.One(other)
	for _, more := range []struct {
		path   string
		header map[string]string
	}{
		{"", nil}, {"&min_version=1", nil}, {"&min_version=99", nil},
		{"", map[string]string{"If-None-Match": fmt.Sprintf(`"%d-1"`, theirs)}}, {"", map[string]string{"If-None-Match": "*"}},
	} {
		ask := func(uid int64) ordertest.Reply {
			r := c.Do(ordertest.Request{Path: ordertest.OrderPath(uid) + more.path, Token: c.Ring.Token(me), Header: more.header})
			r.Header.Del("Date")
			return r
		}
		c.T.Log(more)
		foreign, none := ask(theirs), ask(theirs+1_000_000)
		c.Refused(foreign, http.StatusNotFound, "")
		if foreign.String() != none.String() {
			c.T.Fatalf("another account's order: %s\nno order: %s", foreign, none)
		}
	}
	if o := c.Order(other, theirs); o.Account != other { // it was there all the time
		c.T.Fatalf("%+v", o)
	}
}

// tellsForeign: with Foreign "403" a program says that there is an order, and nothing of it.
func tellsForeign(c *ordertest.Client) {
	c.Env.Foreign = "403"
	c.Run()
	me, other := c.Account(1), c.Account(2)
	theirs := c.One(other)
	c.Refused(c.Get(me, ordertest.OrderPath(theirs)), http.StatusForbidden, "")
	c.Refused(c.Get(me, ordertest.OrderPath(theirs+1_000_000)), http.StatusNotFound, "")
	if r := c.Get(me, ordertest.OrderPath(theirs)); r.Header.Get("ETag") != "" || strings.Contains(string(r.Body), other) {
		c.T.Fatalf("it shows another account's order: %s", r)
	}
	c.Order(other, theirs)
}

func tellsVersions(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.One(me)
	now := fmt.Sprintf(`"%d-1"`, uid)
	ask := func(tag string) ordertest.Reply {
		return c.Do(ordertest.Request{Path: ordertest.OrderPath(uid), Token: c.Ring.Token(me), Header: map[string]string{"If-None-Match": tag}})
	}
	for _, tag := range []string{now, "W/" + now, `"x", ` + now, `"x",` + now + `,"y"`, "*"} {
		if r := ask(tag); r.Status != http.StatusNotModified || len(r.Body) > 0 || r.Header.Get("ETag") != now {
			c.T.Errorf("If-None-Match %s: %s", tag, r)
		}
	}
	for _, tag := range []string{`"x"`, fmt.Sprintf(`"%d-2"`, uid), fmt.Sprintf("%d-1", uid)} {
		if r := ask(tag); r.Status != http.StatusOK || len(r.Body) == 0 {
			c.T.Errorf("If-None-Match %s: %s", tag, r)
		}
	}
	c.Exec("UPDATE orders SET filled = 1 WHERE uid = $1", uid)
	if r := ask(now); r.Status != http.StatusOK || r.Header.Get("ETag") != fmt.Sprintf(`"%d-2"`, uid) {
		c.T.Errorf("after a change: %s", r)
	}
}

func refusesVersionsToCome(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.One(me)
	if r := c.Get(me, ordertest.OrderPath(uid)+"&min_version=1"); r.Status != http.StatusOK {
		c.T.Fatalf("the version that it has: %s", r)
	}
	r := c.Get(me, ordertest.OrderPath(uid)+"&min_version=2")
	c.Refused(r, http.StatusConflict, r.Field())
	c.Exec("UPDATE orders SET filled = 1 WHERE uid = $1", uid)
	if o := ordertest.Read[ordertest.Order](c, c.Get(me, ordertest.OrderPath(uid)+"&min_version=2"), http.StatusOK); o.Version != 2 {
		c.T.Fatalf("%+v", o)
	}
}

// answersHead: HEAD is GET without the body, or refused, and leaves the connection in order.
func answersHead(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.One(me)
	w := c.Dial()
	for range 2 {
		w.Write("HEAD " + ordertest.OrderPath(uid) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.Ring.Token(me) + "\r\n\r\n")
		if r := w.Read("HEAD"); r.Status != http.StatusOK && (r.Status != http.StatusMethodNotAllowed || r.Header.Get("Allow") == "") {
			c.T.Fatalf("HEAD: %s", r)
		}
		w.Write("GET " + ordertest.OrderPath(uid) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.Ring.Token(me) + "\r\n\r\n")
		if o := ordertest.Read[ordertest.Order](c, w.Read("GET"), http.StatusOK); o.UID != uid {
			c.T.Fatalf("after HEAD: %+v", o)
		}
	}
}
