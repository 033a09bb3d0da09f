package core

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"dyno/services/orders/ordertest"
)

// takesSubmissions: the order is there when the answer is, with the message as it came.
func takesSubmissions(c *ordertest.Client) {
	for kind, write := range c.Formats {
		c.T.Log(kind)
		me := c.Account(kind[12:])
		m := ordertest.MessageOf("order 1/"+kind[12:], me)
		r := c.Submit(me, kind, write(m))
		made := ordertest.Read[ordertest.Receipt](c, r, http.StatusCreated)
		want := fmt.Sprintf(`{"uid":%d,"client_order_id":%q,"status":"NEW","version":1}`, made.UID, m.ID)
		if string(r.Body) != want || r.Header.Get("Content-Type") != "application/json" {
			c.T.Fatalf("%s\nwant %s", r, want)
		}
		o := c.Order(me, made.UID)
		want = "BUY at 101.25"
		if kind == ordertest.TypePacs {
			want = "PAY at 0"
		}
		if o.Side+" at "+o.Price != want || o.Qty != "100" || o.Symbol != "EUR" || o.Account != me || o.Filled != "0" || o.UpdatedAt.IsZero() {
			c.T.Fatalf("%+v, want %s", o, want)
		}
		if audited := ordertest.Value[string](c, "SELECT convert_from(message, 'UTF8') FROM audit WHERE uid = $1 AND account = $2 AND client_order_id = $3", made.UID, me, m.ID); audited != write(m) {
			c.T.Fatalf("the audit has %q", audited)
		}
		if n := len(write(m)); n < 1100 || n > 1400 {
			c.T.Fatalf("the message has %d bytes; it should be like real ones", n)
		}
	}
	me := c.Account(1)
	for _, kind := range []string{ordertest.TypeJSON + "; charset=utf-8", "Application/JSON"} { // without an account, it is the caller's
		m := ordertest.MessageOf(kind, "")
		if made := ordertest.Read[ordertest.Receipt](c, c.Submit(me, kind, m.JSON()), http.StatusCreated); c.Order(me, made.UID).Account != me {
			c.T.Fatalf("%+v", made)
		}
	}
}

// takesOnce: the same again is answered with the same order, as it is now.
func takesOnce(c *ordertest.Client) {
	for kind, write := range c.Formats {
		c.T.Log(kind)
		me := c.Account(kind[12:])
		body := write(ordertest.MessageOf("once", me))
		first := ordertest.Read[ordertest.Receipt](c, c.Submit(me, kind, body), http.StatusCreated)
		r := c.Submit(me, kind, body)
		if want := fmt.Sprintf(`{"uid":%d,"client_order_id":"once","status":"NEW","version":1,"duplicate":true}`, first.UID); r.Status != http.StatusOK || string(r.Body) != want {
			c.T.Fatalf("%s\nwant %s", r, want)
		}
		c.Exec("UPDATE orders SET status = 3, filled = qty WHERE uid = $1", first.UID)
		if again := ordertest.Read[ordertest.Receipt](c, c.Submit(me, kind, body), http.StatusOK); again.UID != first.UID || again.Status != "FILLED" || again.Version != 2 || !again.Duplicate {
			c.T.Fatalf("after a change: %+v", again)
		}
		if orders, audits := c.Count(me); orders != 1 || audits < 1 {
			c.T.Fatalf("%d orders, %d audit records", orders, audits)
		}
	}
}

// takesOnceFromMany: of the same message sent by many concurrently, one makes the order.
func takesOnceFromMany(c *ordertest.Client) {
	me := c.Account(1)
	const senders, ids = 8, 10
	for i := range ids {
		body := ordertest.MessageOf(fmt.Sprint("id", i), me).JSON()
		replies := make([]ordertest.Reply, senders)
		var all sync.WaitGroup
		for s := range senders {
			all.Go(func() { replies[s] = c.Submit(me, ordertest.TypeJSON, body) })
		}
		all.Wait()
		made, uid := 0, int64(0)
		for _, r := range replies {
			if r.Status == http.StatusCreated {
				made++
			}
			got := ordertest.Read[ordertest.Receipt](c, r, r.Status)
			if uid == 0 {
				uid = got.UID
			}
			if r.Status != http.StatusCreated && r.Status != http.StatusOK || got.UID != uid || got.Duplicate != (r.Status == http.StatusOK) {
				c.T.Fatalf("%s, want order %d", r, uid)
			}
		}
		if made != 1 {
			c.T.Fatalf("made %d times", made)
		}
	}
	if orders, audits := c.Count(me); orders != ids || audits < ids {
		c.T.Fatalf("%d orders, %d audit records, want %d", orders, audits, ids)
	}
}

func keepsAccountsApart(c *ordertest.Client) {
	one, two := c.Account(1), c.Account(2)
	first := ordertest.Read[ordertest.Receipt](c, c.Submit(one, ordertest.TypeJSON, ordertest.MessageOf("same", "").JSON()), http.StatusCreated)
	second := ordertest.Read[ordertest.Receipt](c, c.Submit(two, ordertest.TypeJSON, ordertest.MessageOf("same", "").JSON()), http.StatusCreated)
	if first.UID == second.UID || c.Order(two, second.UID).Account != two {
		c.T.Fatalf("%+v and %+v", first, second)
	}
}

func refusesOtherContent(c *ordertest.Client) {
	me := c.Account(1)
	first := ordertest.MessageOf("taken", me)
	uid := ordertest.Read[ordertest.Receipt](c, c.Submit(me, ordertest.TypeJSON, first.JSON()), http.StatusCreated).UID
	for _, change := range []func(*ordertest.Message){
		func(m *ordertest.Message) { m.Qty = "101" }, func(m *ordertest.Message) { m.Price = "101.26" },
		func(m *ordertest.Message) { m.Side = "SELL" }, func(m *ordertest.Message) { m.Symbol = "USD" },
	} {
		other := first
		change(&other)
		for kind, write := range c.Formats {
			if kind != ordertest.TypePacs { // whose price and side are fixed
				r := c.Submit(me, kind, write(other))
				c.Refused(r, http.StatusConflict, r.Field())
			}
		}
	}
	if orders, _ := c.Count(me); orders != 1 {
		c.T.Fatalf("%d orders", orders)
	}
	if o := c.Order(me, uid); o.Version != 1 || o.Qty != "100" {
		c.T.Fatalf("%+v", o)
	}
}

func refusesForeignMessages(c *ordertest.Client) {
	me, other := c.Account(1), c.Account(2)
	for kind, write := range c.Formats {
		r := c.Submit(me, kind, write(ordertest.MessageOf("foreign", other)))
		c.Refused(r, http.StatusForbidden, r.Field())
	}
	for _, account := range []string{me, other} {
		if orders, audits := c.Count(account); orders+audits != 0 {
			c.T.Fatalf("%s has %d orders, %d audit records", account, orders, audits)
		}
	}
}

func refusesMessages(c *ordertest.Client) {
	me := c.Account(1)
	good := ordertest.MessageOf("good", me)
	for field, bad := range map[string][]string{
		"client_order_id": {with(good, "client_order_id", `""`), with(good, "client_order_id", `"a\nb"`), with(good, "client_order_id", `"é"`), with(good, "client_order_id", `"`+strings.Repeat("x", 65)+`"`)},
		"symbol":          {with(good, "symbol", `""`), with(good, "symbol", `"eur"`), with(good, "symbol", `"A B"`), with(good, "symbol", `"`+strings.Repeat("X", 33)+`"`), with(good, "symbol", `7`)},
		"side":            {with(good, "side", `""`), with(good, "side", `"buy"`), with(good, "side", `"PAY"`)},
		"price":           {with(good, "price", `"-1"`), with(good, "price", `"1e3"`), with(good, "price", `"0.000000001"`), with(good, "price", `"NaN"`), with(good, "price", `"92233720368.54775808"`)},
		"qty":             {with(good, "qty", `""`), with(good, "qty", `"0"`), with(good, "qty", `"-5"`), with(good, "qty", `"1,5"`), with(good, "qty", `"0x10"`), with(good, "qty", `"100000000000"`)},
		"account":         {with(good, "account", `"a b"`), with(good, "account", `"`+strings.Repeat("x", 65)+`"`)},
	} {
		for _, body := range bad {
			c.T.Log(body[:200])
			c.Refused(c.Submit(me, ordertest.TypeJSON, body), http.StatusBadRequest, field)
		}
	}
	deep := strings.Repeat(`[`, 15_000)
	for _, body := range []string{
		"", " ", "null", "[]", "7", `"x"`, "{", good.JSON()[:600], good.JSON() + "x", good.JSON() + good.JSON(), "\x00", "{}",
		`{"metadata":` + deep, `{"metadata":{"a":` + deep + strings.Repeat(`]`, 15_000) + `}}`, strings.Repeat(`{"a":`, 10_000),
	} {
		r := c.Submit(me, ordertest.TypeJSON, body)
		c.Refused(r, http.StatusBadRequest, r.Field())
	}
	if orders, audits := c.Count(me); orders+audits != 0 {
		c.T.Fatalf("%d orders, %d audit records of what was refused", orders, audits)
	}
}

// with is a message in JSON with another value for one member.
func with(m ordertest.Message, member, value string) string {
	fields := map[string]string{"client_order_id": m.ID, "symbol": m.Symbol, "side": m.Side, "price": m.Price, "qty": m.Qty, "account": m.Account}
	was := fmt.Sprintf("%q:%q", member, fields[member])
	return strings.Replace(m.JSON(), was, fmt.Sprintf("%q:%s", member, value), 1)
}

func refusesFormats(c *ordertest.Client) {
	me := c.Account(1)
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/jsonx", "application/json, application/fix", "*/*", ";"} {
		r := c.Submit(me, kind, ordertest.MessageOf("x", me).JSON())
		c.Refused(r, http.StatusUnsupportedMediaType, r.Field())
	}
}

// refusesLong: more than 64 KiB is refused, with a length in front or without.
func refusesLong(c *ordertest.Client) {
	me := c.Account(1)
	m := ordertest.MessageOf("long", me)
	body := m.JSON() + strings.Repeat(" ", 64<<10+1-len(m.JSON()))
	c.Refused(c.Submit(me, ordertest.TypeJSON, body), http.StatusRequestEntityTooLarge, c.Submit(me, ordertest.TypeJSON, body).Field())
	head := "POST /api/v1/submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + c.Ring.Token(me) + "\r\n"
	chunked := c.Dial()
	chunked.Write(head + "Transfer-Encoding: chunked\r\n\r\n")
	chunked.Write(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body))
	if r := chunked.Read("POST"); r.Status != http.StatusRequestEntityTooLarge {
		c.T.Fatalf("in chunks: %s", r)
	}
	huge := c.Dial() // which says so, and need not send it all
	huge.Write(head + "Content-Length: 1000000000000\r\n\r\n")
	go huge.Write(strings.Repeat(body, 4)) // until the connection is closed, at the latest after the test
	if r, err := huge.TryRead("POST"); err == nil && r.Status != http.StatusRequestEntityTooLarge {
		c.T.Fatalf("a terabyte: %s", r)
	}
	if orders, audits := c.Count(me); orders+audits != 0 {
		c.T.Fatalf("%d orders, %d audit records of what was refused", orders, audits)
	}
}

// auditsOrNot: when the audit record cannot be written there is no order, and no answer says that
// there is.
func auditsOrNot(c *ordertest.Client) {
	c.Run()
	me := c.Account(1)
	c.Exec(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room for audits'; END $$`)
	c.Exec(`CREATE TRIGGER fail BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION fail()`)
	for kind, write := range c.Formats {
		r := c.Submit(me, kind, write(ordertest.MessageOf("audited", me)))
		if r.Status < 500 || strings.Contains(string(r.Body), "no room") {
			c.T.Fatalf("without an audit record: %s", r)
		}
		if orders, audits := c.Count(me); orders+audits != 0 {
			c.T.Fatalf("%d orders, %d audit records", orders, audits)
		}
	}
	c.Exec("DROP TRIGGER fail ON audit")
	ordertest.Read[ordertest.Receipt](c, c.Submit(me, ordertest.TypeJSON, ordertest.MessageOf("audited", me).JSON()), http.StatusCreated)

	// No query sees the order before its audit record: both come with one commit.
	release := c.Lock(lockAudit)
	answered := make(chan ordertest.Reply, 1)
	go func() {
		r, _ := c.Try(ordertest.Request{Method: http.MethodPost, Path: "/api/v1/submit", Token: c.Ring.Token(me), Kind: ordertest.TypeJSON, Body: ordertest.MessageOf("held", me).JSON()})
		answered <- r
	}()
	ordertest.Await(c.T, "the submission to wait", func() bool { return c.Blocked() > 0 })
	if orders, _ := c.Count(me); orders != 1 {
		c.T.Fatalf("%d orders are visible while the audit record waits", orders)
	}
	select {
	case r := <-answered:
		c.T.Fatalf("answered before the audit record was written: %s", r)
	default:
	}
	release()
	ordertest.Read[ordertest.Receipt](c, <-answered, http.StatusCreated)
	if orders, audits := c.Count(me); orders != 2 || audits != 2 {
		c.T.Fatalf("%d orders, %d audit records", orders, audits)
	}
}
