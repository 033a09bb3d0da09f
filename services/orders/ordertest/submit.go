package ordertest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// receipt is the answer to a submission.
type receipt struct {
	UID           int64  `json:"uid"`
	ClientOrderID string `json:"client_order_id"`
	Status        string `json:"status"`
	Version       int64  `json:"version"`
	Duplicate     bool   `json:"duplicate"`
}

// submit sends a message as an account.
func (c *client) submit(account, kind, body string) reply {
	c.t.Helper()
	return c.do(request{method: http.MethodPost, path: "/api/v1/submit", token: c.ring.token(account), kind: kind, body: body})
}

// count counts an account's orders and its audit records, past the program.
func (c *client) count(account string) (orders, audits int) {
	c.t.Helper()
	both := value[[]int](c, "SELECT ARRAY[(SELECT count(*) FROM orders WHERE account = $1), (SELECT count(*) FROM audit WHERE account = $1)]", account)
	return both[0], both[1] // of one snapshot
}

// takesSubmissions: the order is there when the answer is, with the message as it came.
func takesSubmissions(c *client) {
	for kind, write := range c.formats {
		c.t.Log(kind)
		me := c.account(kind[12:])
		m := messageOf("order 1/"+kind[12:], me)
		r := c.submit(me, kind, write(m))
		made := read[receipt](c, r, http.StatusCreated)
		want := fmt.Sprintf(`{"uid":%d,"client_order_id":%q,"status":"NEW","version":1}`, made.UID, m.id)
		if string(r.body) != want || r.header.Get("Content-Type") != "application/json" {
			c.t.Fatalf("%s\nwant %s", r, want)
		}
		o := c.order(me, made.UID)
		want = "BUY at 101.25"
		if kind == typePacs {
			want = "PAY at 0"
		}
		if o.Side+" at "+o.Price != want || o.Qty != "100" || o.Symbol != "EUR" || o.Account != me || o.Filled != "0" || o.UpdatedAt.IsZero() {
			c.t.Fatalf("%+v, want %s", o, want)
		}
		if audited := value[string](c, "SELECT convert_from(message, 'UTF8') FROM audit WHERE uid = $1 AND account = $2 AND client_order_id = $3", made.UID, me, m.id); audited != write(m) {
			c.t.Fatalf("the audit has %q", audited)
		}
		if n := len(write(m)); n < 1100 || n > 1400 {
			c.t.Fatalf("the message has %d bytes; it should be like real ones", n)
		}
	}
	me := c.account(1)
	for _, kind := range []string{typeJSON + "; charset=utf-8", "Application/JSON"} { // without an account, it is the caller's
		m := messageOf(kind, "")
		if made := read[receipt](c, c.submit(me, kind, m.json()), http.StatusCreated); c.order(me, made.UID).Account != me {
			c.t.Fatalf("%+v", made)
		}
	}
}

// takesOnce: the same again is answered with the same order, as it is now.
func takesOnce(c *client) {
	for kind, write := range c.formats {
		c.t.Log(kind)
		me := c.account(kind[12:])
		body := write(messageOf("once", me))
		first := read[receipt](c, c.submit(me, kind, body), http.StatusCreated)
		r := c.submit(me, kind, body)
		if want := fmt.Sprintf(`{"uid":%d,"client_order_id":"once","status":"NEW","version":1,"duplicate":true}`, first.UID); r.status != http.StatusOK || string(r.body) != want {
			c.t.Fatalf("%s\nwant %s", r, want)
		}
		c.exec("UPDATE orders SET status = 3, filled = qty WHERE uid = $1", first.UID)
		if again := read[receipt](c, c.submit(me, kind, body), http.StatusOK); again.UID != first.UID || again.Status != "FILLED" || again.Version != 2 || !again.Duplicate {
			c.t.Fatalf("after a change: %+v", again)
		}
		if orders, audits := c.count(me); orders != 1 || audits < 1 {
			c.t.Fatalf("%d orders, %d audit records", orders, audits)
		}
	}
}

// takesOnceFromMany: of the same message sent by many concurrently, one makes the order.
func takesOnceFromMany(c *client) {
	me := c.account(1)
	const senders, ids = 8, 10
	for i := range ids {
		body := messageOf(fmt.Sprint("id", i), me).json()
		replies := make([]reply, senders)
		var all sync.WaitGroup
		for s := range senders {
			all.Go(func() { replies[s] = c.submit(me, typeJSON, body) })
		}
		all.Wait()
		made, uid := 0, int64(0)
		for _, r := range replies {
			if r.status == http.StatusCreated {
				made++
			}
			got := read[receipt](c, r, r.status)
			if uid == 0 {
				uid = got.UID
			}
			if r.status != http.StatusCreated && r.status != http.StatusOK || got.UID != uid || got.Duplicate != (r.status == http.StatusOK) {
				c.t.Fatalf("%s, want order %d", r, uid)
			}
		}
		if made != 1 {
			c.t.Fatalf("made %d times", made)
		}
	}
	if orders, audits := c.count(me); orders != ids || audits < ids {
		c.t.Fatalf("%d orders, %d audit records, want %d", orders, audits, ids)
	}
}

func keepsAccountsApart(c *client) {
	one, two := c.account(1), c.account(2)
	first := read[receipt](c, c.submit(one, typeJSON, messageOf("same", "").json()), http.StatusCreated)
	second := read[receipt](c, c.submit(two, typeJSON, messageOf("same", "").json()), http.StatusCreated)
	if first.UID == second.UID || c.order(two, second.UID).Account != two {
		c.t.Fatalf("%+v and %+v", first, second)
	}
}

func refusesOtherContent(c *client) {
	me := c.account(1)
	first := messageOf("taken", me)
	uid := read[receipt](c, c.submit(me, typeJSON, first.json()), http.StatusCreated).UID
	for _, change := range []func(*message){
		func(m *message) { m.qty = "101" }, func(m *message) { m.price = "101.26" },
		func(m *message) { m.side = "SELL" }, func(m *message) { m.symbol = "USD" },
	} {
		other := first
		change(&other)
		for kind, write := range c.formats {
			if kind != typePacs { // whose price and side are fixed
				r := c.submit(me, kind, write(other))
				c.refused(r, http.StatusConflict, r.field())
			}
		}
	}
	if orders, _ := c.count(me); orders != 1 {
		c.t.Fatalf("%d orders", orders)
	}
	if o := c.order(me, uid); o.Version != 1 || o.Qty != "100" {
		c.t.Fatalf("%+v", o)
	}
}

func refusesForeignMessages(c *client) {
	me, other := c.account(1), c.account(2)
	for kind, write := range c.formats {
		r := c.submit(me, kind, write(messageOf("foreign", other)))
		c.refused(r, http.StatusForbidden, r.field())
	}
	for _, account := range []string{me, other} {
		if orders, audits := c.count(account); orders+audits != 0 {
			c.t.Fatalf("%s has %d orders, %d audit records", account, orders, audits)
		}
	}
}

func refusesMessages(c *client) {
	me := c.account(1)
	good := messageOf("good", me)
	for field, bad := range map[string][]string{
		"client_order_id": {with(good, "client_order_id", `""`), with(good, "client_order_id", `"a\nb"`), with(good, "client_order_id", `"é"`), with(good, "client_order_id", `"`+strings.Repeat("x", 65)+`"`)},
		"symbol":          {with(good, "symbol", `""`), with(good, "symbol", `"eur"`), with(good, "symbol", `"A B"`), with(good, "symbol", `"`+strings.Repeat("X", 33)+`"`), with(good, "symbol", `7`)},
		"side":            {with(good, "side", `""`), with(good, "side", `"buy"`), with(good, "side", `"PAY"`)},
		"price":           {with(good, "price", `"-1"`), with(good, "price", `"1e3"`), with(good, "price", `"0.000000001"`), with(good, "price", `"NaN"`), with(good, "price", `"92233720368.54775808"`)},
		"qty":             {with(good, "qty", `""`), with(good, "qty", `"0"`), with(good, "qty", `"-5"`), with(good, "qty", `"1,5"`), with(good, "qty", `"0x10"`), with(good, "qty", `"100000000000"`)},
		"account":         {with(good, "account", `"a b"`), with(good, "account", `"`+strings.Repeat("x", 65)+`"`)},
	} {
		for _, body := range bad {
			c.t.Log(body[:200])
			c.refused(c.submit(me, typeJSON, body), http.StatusBadRequest, field)
		}
	}
	deep := strings.Repeat(`[`, 15_000)
	for _, body := range []string{
		"", " ", "null", "[]", "7", `"x"`, "{", good.json()[:600], good.json() + "x", good.json() + good.json(), "\x00", "{}",
		`{"metadata":` + deep, `{"metadata":{"a":` + deep + strings.Repeat(`]`, 15_000) + `}}`, strings.Repeat(`{"a":`, 10_000),
	} {
		r := c.submit(me, typeJSON, body)
		c.refused(r, http.StatusBadRequest, r.field())
	}
	if orders, audits := c.count(me); orders+audits != 0 {
		c.t.Fatalf("%d orders, %d audit records of what was refused", orders, audits)
	}
}

// with is a message in JSON with another value for one member.
func with(m message, member, value string) string {
	fields := map[string]string{"client_order_id": m.id, "symbol": m.symbol, "side": m.side, "price": m.price, "qty": m.qty, "account": m.account}
	was := fmt.Sprintf("%q:%q", member, fields[member])
	return strings.Replace(m.json(), was, fmt.Sprintf("%q:%s", member, value), 1)
}

func refusesFormats(c *client) {
	me := c.account(1)
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/jsonx", "application/json, application/fix", "*/*", ";"} {
		r := c.submit(me, kind, messageOf("x", me).json())
		c.refused(r, http.StatusUnsupportedMediaType, r.field())
	}
}

// refusesLong: more than 64 KiB is refused, with a length in front or without.
func refusesLong(c *client) {
	me := c.account(1)
	m := messageOf("long", me)
	body := m.json() + strings.Repeat(" ", 64<<10+1-len(m.json()))
	c.refused(c.submit(me, typeJSON, body), http.StatusRequestEntityTooLarge, c.submit(me, typeJSON, body).field())
	head := "POST /api/v1/submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + c.ring.token(me) + "\r\n"
	chunked := c.dial()
	chunked.write(head + "Transfer-Encoding: chunked\r\n\r\n")
	chunked.write(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body))
	if r := chunked.read("POST"); r.status != http.StatusRequestEntityTooLarge {
		c.t.Fatalf("in chunks: %s", r)
	}
	huge := c.dial() // which says so, and need not send it all
	huge.write(head + "Content-Length: 1000000000000\r\n\r\n")
	go huge.write(strings.Repeat(body, 4)) // until the connection is closed, at the latest after the test
	if r, err := huge.tryRead("POST"); err == nil && r.status != http.StatusRequestEntityTooLarge {
		c.t.Fatalf("a terabyte: %s", r)
	}
	if orders, audits := c.count(me); orders+audits != 0 {
		c.t.Fatalf("%d orders, %d audit records of what was refused", orders, audits)
	}
}

// auditsOrNot: when the audit record cannot be written there is no order, and no answer says that
// there is.
func auditsOrNot(c *client) {
	c.run()
	me := c.account(1)
	c.exec(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room for audits'; END $$`)
	c.exec(`CREATE TRIGGER fail BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION fail()`)
	for kind, write := range c.formats {
		r := c.submit(me, kind, write(messageOf("audited", me)))
		if r.status < 500 || strings.Contains(string(r.body), "no room") {
			c.t.Fatalf("without an audit record: %s", r)
		}
		if orders, audits := c.count(me); orders+audits != 0 {
			c.t.Fatalf("%d orders, %d audit records", orders, audits)
		}
	}
	c.exec("DROP TRIGGER fail ON audit")
	read[receipt](c, c.submit(me, typeJSON, messageOf("audited", me).json()), http.StatusCreated)

	// No query sees the order before its audit record: both come with one commit.
	release := c.lock(lockAudit)
	answered := make(chan reply, 1)
	go func() {
		r, _ := c.try(request{method: http.MethodPost, path: "/api/v1/submit", token: c.ring.token(me), kind: typeJSON, body: messageOf("held", me).json()})
		answered <- r
	}()
	await(c.t, "the submission to wait", func() bool { return c.blocked() > 0 })
	if orders, _ := c.count(me); orders != 1 {
		c.t.Fatalf("%d orders are visible while the audit record waits", orders)
	}
	select {
	case r := <-answered:
		c.t.Fatalf("answered before the audit record was written: %s", r)
	default:
	}
	release()
	read[receipt](c, <-answered, http.StatusCreated)
	if orders, audits := c.count(me); orders != 2 || audits != 2 {
		c.t.Fatalf("%d orders, %d audit records", orders, audits)
	}
}
