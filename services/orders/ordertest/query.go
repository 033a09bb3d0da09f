package ordertest

import (
	"fmt"
	"net/http"
	"strings"
)

// answersOrder: an answer has these members, in this order, of these types.
func answersOrder(c *client) {
	me := c.account(1)
	uid := c.one(me)
	r := c.get(me, orderPath(uid))
	want := fmt.Sprintf(`{"uid":%d,"account":"%s","symbol":"ACME","side":"BUY","price":"101.25","qty":"100","filled":"0",`+
		`"status":"NEW","version":1,"updated_at":"2026-01-02T03:04:05.678901Z"}`, uid, me)
	if r.status != http.StatusOK || string(r.body) != want {
		c.t.Fatalf("%s\nwant %s", r, want)
	}
	if kind, tag := r.header.Get("Content-Type"), r.header.Get("ETag"); kind != "application/json" || tag != fmt.Sprintf(`"%d-1"`, uid) {
		c.t.Fatalf("Content-Type %q, ETag %q", kind, tag)
	}
	c.exec("UPDATE orders SET status = 2, filled = 1250000000 WHERE uid = $1", uid)
	o := c.order(me, uid)
	if o.Status != "PARTIALLY_FILLED" || o.Filled != "12.5" || o.Version != 2 || o.UpdatedAt.Year() == 2026 && o.UpdatedAt.Month() == 1 {
		c.t.Fatalf("after a change: %+v", o)
	}
}

func writesDecimals(c *client) {
	me := c.account(1)
	for _, tt := range []struct {
		units int64
		text  string
	}{
		{1, "0.00000001"}, {100_000_000, "1"}, {150_000_000, "1.5"}, {1_000_000_000_00, "1000"},
		{9_223_372_036_854_775_807, "92233720368.54775807"}, {10, "0.0000001"},
	} {
		uid := value[int64](c, `INSERT INTO orders (account, client_order_id, symbol, side, status, price, qty, filled, digest)
			VALUES ($1, $2, 'EUR/USD', 2, 3, $3, $3, $3, sha256('none')) RETURNING uid`, me, tt.text, tt.units)
		if o := c.order(me, uid); o.Price != tt.text || o.Qty != tt.text || o.Filled != tt.text || o.Side != "SELL" || o.Status != "FILLED" || o.Symbol != "EUR/USD" {
			c.t.Errorf("%d units: %+v", tt.units, o)
		}
	}
}

func refusesQueries(c *client) {
	me := c.account(1)
	uid := c.one(me)
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
		c.t.Log(query)
		c.refused(c.get(me, "/api/v1/order"+query), http.StatusBadRequest, field)
	}
	if r := c.get(me, orderPath(uid)+"&trace=1"); r.status != http.StatusOK {
		c.t.Fatalf("with an unknown parameter: %s", r)
	}
}

func knowsNone(c *client) {
	me := c.account(1)
	uid := c.one(me)
	for _, none := range []int64{uid + 1_000_000, 9_223_372_036_854_775_807} {
		c.refused(c.get(me, orderPath(none)), http.StatusNotFound, "")
	}
}

// hidesForeign: the answers for another account's order and for none differ by the date only.
func hidesForeign(c *client) {
	me, other := c.account(1), c.account(2)
	theirs := c.one(other)
	for _, more := range []struct {
		path   string
		header map[string]string
	}{
		{"", nil}, {"&min_version=1", nil}, {"&min_version=99", nil},
		{"", map[string]string{"If-None-Match": fmt.Sprintf(`"%d-1"`, theirs)}}, {"", map[string]string{"If-None-Match": "*"}},
	} {
		ask := func(uid int64) reply {
			r := c.do(request{path: orderPath(uid) + more.path, token: c.ring.token(me), header: more.header})
			r.header.Del("Date")
			return r
		}
		c.t.Log(more)
		foreign, none := ask(theirs), ask(theirs+1_000_000)
		c.refused(foreign, http.StatusNotFound, "")
		if foreign.String() != none.String() {
			c.t.Fatalf("another account's order: %s\nno order: %s", foreign, none)
		}
	}
	if o := c.order(other, theirs); o.Account != other { // it was there all the time
		c.t.Fatalf("%+v", o)
	}
}

// tellsForeign: with Foreign "403" a program says that there is an order, and nothing of it.
func tellsForeign(c *client) {
	c.env.Foreign = "403"
	c.run()
	me, other := c.account(1), c.account(2)
	theirs := c.one(other)
	c.refused(c.get(me, orderPath(theirs)), http.StatusForbidden, "")
	c.refused(c.get(me, orderPath(theirs+1_000_000)), http.StatusNotFound, "")
	if r := c.get(me, orderPath(theirs)); r.header.Get("ETag") != "" || strings.Contains(string(r.body), other) {
		c.t.Fatalf("it shows another account's order: %s", r)
	}
	c.order(other, theirs)
}

func tellsVersions(c *client) {
	me := c.account(1)
	uid := c.one(me)
	now := fmt.Sprintf(`"%d-1"`, uid)
	ask := func(tag string) reply {
		return c.do(request{path: orderPath(uid), token: c.ring.token(me), header: map[string]string{"If-None-Match": tag}})
	}
	for _, tag := range []string{now, "W/" + now, `"x", ` + now, `"x",` + now + `,"y"`, "*"} {
		if r := ask(tag); r.status != http.StatusNotModified || len(r.body) > 0 || r.header.Get("ETag") != now {
			c.t.Errorf("If-None-Match %s: %s", tag, r)
		}
	}
	for _, tag := range []string{`"x"`, fmt.Sprintf(`"%d-2"`, uid), fmt.Sprintf("%d-1", uid)} {
		if r := ask(tag); r.status != http.StatusOK || len(r.body) == 0 {
			c.t.Errorf("If-None-Match %s: %s", tag, r)
		}
	}
	c.exec("UPDATE orders SET filled = 1 WHERE uid = $1", uid)
	if r := ask(now); r.status != http.StatusOK || r.header.Get("ETag") != fmt.Sprintf(`"%d-2"`, uid) {
		c.t.Errorf("after a change: %s", r)
	}
}

func refusesVersionsToCome(c *client) {
	me := c.account(1)
	uid := c.one(me)
	if r := c.get(me, orderPath(uid)+"&min_version=1"); r.status != http.StatusOK {
		c.t.Fatalf("the version that it has: %s", r)
	}
	r := c.get(me, orderPath(uid)+"&min_version=2")
	c.refused(r, http.StatusConflict, r.field())
	c.exec("UPDATE orders SET filled = 1 WHERE uid = $1", uid)
	if o := read[order](c, c.get(me, orderPath(uid)+"&min_version=2"), http.StatusOK); o.Version != 2 {
		c.t.Fatalf("%+v", o)
	}
}

// answersHead: HEAD is GET without the body, or refused, and leaves the connection in order.
func answersHead(c *client) {
	me := c.account(1)
	uid := c.one(me)
	w := c.dial()
	for range 2 {
		w.write("HEAD " + orderPath(uid) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.ring.token(me) + "\r\n\r\n")
		if r := w.read("HEAD"); r.status != http.StatusOK && (r.status != http.StatusMethodNotAllowed || r.header.Get("Allow") == "") {
			c.t.Fatalf("HEAD: %s", r)
		}
		w.write("GET " + orderPath(uid) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.ring.token(me) + "\r\n\r\n")
		if o := read[order](c, w.read("GET"), http.StatusOK); o.UID != uid {
			c.t.Fatalf("after HEAD: %+v", o)
		}
	}
}

func refusesMethods(c *client) {
	me := c.account(1)
	for _, tt := range []struct{ method, path, allow string }{
		{"POST", "/api/v1/order", "GET"}, {"DELETE", "/api/v1/order", "GET"}, {"PUT", "/api/v1/orders", "GET"},
		{"PATCH", "/api/v1/orders", "GET"}, {"GET", "/api/v1/submit", "POST"}, {"DELETE", "/api/v1/submit", "POST"},
	} {
		r := c.do(request{method: tt.method, path: tt.path, token: c.ring.token(me)})
		c.refused(r, http.StatusMethodNotAllowed, "")
		if !strings.Contains(r.header.Get("Allow"), tt.allow) {
			c.t.Errorf("%s %s: Allow %q", tt.method, tt.path, r.header.Get("Allow"))
		}
	}
	for _, path := range []string{"/", "/api/v1", "/api/v1/order/", "/api/v1/ordersx", "/api/v2/order", "/readyz", "/metrics", "/debug/pprof/", "/api/v1/%2e%2e/order"} {
		c.t.Log(path)
		c.refused(c.get(me, path), http.StatusNotFound, "")
	}
}
