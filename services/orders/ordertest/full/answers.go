package full

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

	"dyno/services/orders/ordertest"
)

// accepting asks for an order in a format.
func accepting(c *ordertest.Client, account, path, accept, encoding string) ordertest.Reply {
	c.T.Helper()
	q := ordertest.Request{Path: path, Token: c.Ring.Token(account), Header: map[string]string{}}
	if accept != "" {
		q.Header["Accept"] = accept
	}
	if encoding != "" {
		q.Header["Accept-Encoding"] = encoding
	}
	return c.Do(q)
}

// packed decodes msgpack.
func packed(c *ordertest.Client, data []byte) (v map[string]any) {
	c.T.Helper()
	if err := msgpack.Unmarshal(data, &v); err != nil {
		c.T.Fatalf("%q is no msgpack: %v", data, err)
	}
	return v
}

// answersMsgpack: the same members, numbers as numbers.
func answersMsgpack(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.One(me)
	want := map[string]string{
		"uid": fmt.Sprint(uid), "account": me, "symbol": "ACME", "side": "BUY", "price": "101.25", "qty": "100", "filled": "0",
		"status": "NEW", "version": "1", "updated_at": "2026-01-02T03:04:05.678901Z",
	}
	for _, kind := range []string{"application/msgpack", "application/x-msgpack", "application/vnd.msgpack"} {
		r := accepting(c, me, ordertest.OrderPath(uid), kind, "")
		if r.Status != http.StatusOK || !strings.Contains(r.Header.Get("Content-Type"), "msgpack") || r.Header.Get("ETag") != fmt.Sprintf(`"%d-1-msgpack"`, uid) {
			c.T.Fatalf("%s: %s", kind, r)
		}
		got := packed(c, r.Body)
		for name, text := range want {
			_, isText := got[name].(string)
			if fmt.Sprint(got[name]) != text || isText != (name != "uid" && name != "version") {
				c.T.Errorf("%s is %#v, want %s", name, got[name], text)
			}
		}
		if len(got) != len(want) {
			c.T.Errorf("%v", got)
		}
	}
	const kind = "application/msgpack"
	list := packed(c, accepting(c, me, "/api/v1/orders", kind, "").Body)
	if orders, ok := list["orders"].([]any); !ok || len(orders) != 1 || list["next"] != nil {
		c.T.Errorf("a list: %v", list)
	}
	if r := accepting(c, me, "/api/v1/order?uid=x", kind, ""); r.Status != http.StatusBadRequest || packed(c, r.Body)["field"] != "uid" {
		c.T.Errorf("an error: %s", r)
	}
	r := c.Do(ordertest.Request{Method: http.MethodPost, Path: "/api/v1/submit", Token: c.Ring.Token(me), Kind: ordertest.TypeJSON, Body: ordertest.MessageOf("packed", me).JSON(),
		Header: map[string]string{"Accept": kind}})
	if got := packed(c, r.Body); r.Status != http.StatusCreated || got["client_order_id"] != "packed" || got["status"] != "NEW" {
		c.T.Errorf("a receipt: %s", r)
	}
}

func negotiates(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.One(me)
	for accept, want := range map[string]string{
		"": "json", "*/*": "json", "application/*": "json", "application/json": "json", "text/html, */*;q=0.1": "json",
		"application/json;q=0.5, application/msgpack": "msgpack", "application/msgpack;q=0.5, application/json": "json",
		"application/msgpack;q=0, */*": "json", "text/html": "", "application/json;q=0": "", "image/*": "",
	} {
		c.T.Logf("Accept %q", accept)
		r := accepting(c, me, ordertest.OrderPath(uid), accept, "")
		if want == "" {
			c.Refused(r, http.StatusNotAcceptable, r.Field())
		} else if r.Status != http.StatusOK || !strings.Contains(r.Header.Get("Content-Type"), want) {
			c.T.Errorf("Accept %q: %s, want %s", accept, r, want)
		}
		vary := strings.Split(strings.ReplaceAll(strings.Join(r.Header.Values("Vary"), ","), " ", ""), ",")
		if !slices.Contains(vary, "Accept") || !slices.Contains(vary, "Accept-Encoding") {
			c.T.Errorf("Accept %q: Vary %q", accept, vary)
		}
	}
}

func compresses(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.Insert(me, 20)[0]
	plain := accepting(c, me, "/api/v1/orders", "", "")
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		c.T.Fatal(err)
	}
	defer d.Close()
	for encoding, want := range map[string]bool{"zstd": true, "gzip, zstd": true, "zstd;q=0": false, "gzip": false, "": false, "identity": false} {
		r := accepting(c, me, "/api/v1/orders", "", encoding)
		if (r.Header.Get("Content-Encoding") == "zstd") != want {
			c.T.Errorf("Accept-Encoding %q: %v", encoding, r.Header)
			continue
		}
		body := r.Body
		if want {
			if body, err = d.DecodeAll(r.Body, nil); err != nil || len(r.Body) >= len(body) {
				c.T.Errorf("Accept-Encoding %q: %d bytes for %d, %v", encoding, len(r.Body), len(body), err)
			}
		}
		if string(body) != string(plain.Body) {
			c.T.Errorf("Accept-Encoding %q: %s", encoding, body)
		}
	}
	if r := accepting(c, me, ordertest.OrderPath(uid), "", "zstd"); r.Header.Get("Content-Encoding") != "" {
		c.T.Errorf("%d bytes are not worth it: %v", len(r.Body), r.Header)
	}
}

// answersStale: while the database is away, a client that allows it gets what was last known,
// marked with its time; no other client does, and none gets another account's.
func answersStale(c *ordertest.Client) {
	link := c.RunLinked()
	me, other := c.Account(1), c.Account(2)
	uid, unread := c.One(me), c.One(me)
	fresh := c.Order(me, uid)
	ask := func(account string, uid int64, control string) ordertest.Reply {
		return c.Do(ordertest.Request{Path: ordertest.OrderPath(uid), Token: c.Ring.Token(account), Header: map[string]string{"Cache-Control": control}})
	}
	if r := ask(me, uid, "max-stale"); r.Status != http.StatusOK || r.Header.Get("Warning") != "" || strings.Contains(string(r.Body), "stale_since") {
		c.T.Fatalf("while the database answers: %s", r)
	}
	link.Refuse()
	for _, control := range []string{"max-stale", "max-stale=60", "no-transform, max-stale=60"} {
		r := ask(me, uid, control)
		stale := ordertest.Read[ordertest.Order](c, r, http.StatusOK)
		if !strings.HasPrefix(r.Header.Get("Warning"), "110 ") || stale.StaleSince == nil || !strings.Contains(string(r.Body), `"updated_at":"2026-01-02T03:04:05.678901Z","stale_since":"`) {
			c.T.Fatalf("%s: %s", control, r)
		}
		if stale.StaleSince = nil; stale != fresh {
			c.T.Fatalf("%s: %+v, want %+v", control, stale, fresh)
		}
	}
	for _, control := range []string{"", "no-cache", "max-age=60", "max-stale=0", "max-stale=x"} {
		c.Refused(ask(me, uid, control), http.StatusServiceUnavailable, "")
	}
	c.Refused(ask(me, unread, "max-stale"), http.StatusServiceUnavailable, "")
	if r := ask(other, uid, "max-stale"); r.Status == http.StatusOK || strings.Contains(string(r.Body), me) {
		c.T.Fatalf("another account's order: %s", r)
	}
	link.Pass()
	ordertest.Back(c, me, uid)
	if o := c.Order(me, uid); o.StaleSince != nil {
		c.T.Fatalf("%+v", o)
	}
}
