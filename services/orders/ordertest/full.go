package ordertest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"
)

// accept asks for an order in a format.
func (c *client) accept(account, path, accept, encoding string) reply {
	c.t.Helper()
	q := request{path: path, token: c.ring.token(account), header: map[string]string{}}
	if accept != "" {
		q.header["Accept"] = accept
	}
	if encoding != "" {
		q.header["Accept-Encoding"] = encoding
	}
	return c.do(q)
}

// packed decodes msgpack.
func packed(c *client, data []byte) (v map[string]any) {
	c.t.Helper()
	if err := msgpack.Unmarshal(data, &v); err != nil {
		c.t.Fatalf("%q is no msgpack: %v", data, err)
	}
	return v
}

// answersMsgpack: the same members, numbers as numbers.
func answersMsgpack(c *client) {
	me := c.account(1)
	uid := c.one(me)
	want := map[string]string{
		"uid": fmt.Sprint(uid), "account": me, "symbol": "ACME", "side": "BUY", "price": "101.25", "qty": "100", "filled": "0",
		"status": "NEW", "version": "1", "updated_at": "2026-01-02T03:04:05.678901Z",
	}
	for _, kind := range []string{"application/msgpack", "application/x-msgpack", "application/vnd.msgpack"} {
		r := c.accept(me, orderPath(uid), kind, "")
		if r.status != http.StatusOK || !strings.Contains(r.header.Get("Content-Type"), "msgpack") || r.header.Get("ETag") != fmt.Sprintf(`"%d-1-msgpack"`, uid) {
			c.t.Fatalf("%s: %s", kind, r)
		}
		got := packed(c, r.body)
		for name, text := range want {
			_, isText := got[name].(string)
			if fmt.Sprint(got[name]) != text || isText != (name != "uid" && name != "version") {
				c.t.Errorf("%s is %#v, want %s", name, got[name], text)
			}
		}
		if len(got) != len(want) {
			c.t.Errorf("%v", got)
		}
	}
	const kind = "application/msgpack"
	list := packed(c, c.accept(me, "/api/v1/orders", kind, "").body)
	if orders, ok := list["orders"].([]any); !ok || len(orders) != 1 || list["next"] != nil {
		c.t.Errorf("a list: %v", list)
	}
	if r := c.accept(me, "/api/v1/order?uid=x", kind, ""); r.status != http.StatusBadRequest || packed(c, r.body)["field"] != "uid" {
		c.t.Errorf("an error: %s", r)
	}
	r := c.do(request{method: http.MethodPost, path: "/api/v1/submit", token: c.ring.token(me), kind: typeJSON, body: messageOf("packed", me).json(),
		header: map[string]string{"Accept": kind}})
	if got := packed(c, r.body); r.status != http.StatusCreated || got["client_order_id"] != "packed" || got["status"] != "NEW" {
		c.t.Errorf("a receipt: %s", r)
	}
}

func negotiates(c *client) {
	me := c.account(1)
	uid := c.one(me)
	for accept, want := range map[string]string{
		"": "json", "*/*": "json", "application/*": "json", "application/json": "json", "text/html, */*;q=0.1": "json",
		"application/json;q=0.5, application/msgpack": "msgpack", "application/msgpack;q=0.5, application/json": "json",
		"application/msgpack;q=0, */*": "json", "text/html": "", "application/json;q=0": "", "image/*": "",
	} {
		c.t.Logf("Accept %q", accept)
		r := c.accept(me, orderPath(uid), accept, "")
		if want == "" {
			c.refused(r, http.StatusNotAcceptable, r.field())
		} else if r.status != http.StatusOK || !strings.Contains(r.header.Get("Content-Type"), want) {
			c.t.Errorf("Accept %q: %s, want %s", accept, r, want)
		}
		vary := strings.Split(strings.ReplaceAll(strings.Join(r.header.Values("Vary"), ","), " ", ""), ",")
		if !slices.Contains(vary, "Accept") || !slices.Contains(vary, "Accept-Encoding") {
			c.t.Errorf("Accept %q: Vary %q", accept, vary)
		}
	}
}

func compresses(c *client) {
	me := c.account(1)
	uid := c.insert(me, 20)[0]
	plain := c.accept(me, "/api/v1/orders", "", "")
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		c.t.Fatal(err)
	}
	defer d.Close()
	for encoding, want := range map[string]bool{"zstd": true, "gzip, zstd": true, "zstd;q=0": false, "gzip": false, "": false, "identity": false} {
		r := c.accept(me, "/api/v1/orders", "", encoding)
		if (r.header.Get("Content-Encoding") == "zstd") != want {
			c.t.Errorf("Accept-Encoding %q: %v", encoding, r.header)
			continue
		}
		body := r.body
		if want {
			if body, err = d.DecodeAll(r.body, nil); err != nil || len(r.body) >= len(body) {
				c.t.Errorf("Accept-Encoding %q: %d bytes for %d, %v", encoding, len(r.body), len(body), err)
			}
		}
		if string(body) != string(plain.body) {
			c.t.Errorf("Accept-Encoding %q: %s", encoding, body)
		}
	}
	if r := c.accept(me, orderPath(uid), "", "zstd"); r.header.Get("Content-Encoding") != "" {
		c.t.Errorf("%d bytes are not worth it: %v", len(r.body), r.header)
	}
}

// answersStale: while the database is away, a client that allows it gets what was last known,
// marked with its time; no other client does, and none gets another account's.
func answersStale(c *client) {
	l := c.runLinked()
	me, other := c.account(1), c.account(2)
	uid, unread := c.one(me), c.one(me)
	fresh := c.order(me, uid)
	ask := func(account string, uid int64, control string) reply {
		return c.do(request{path: orderPath(uid), token: c.ring.token(account), header: map[string]string{"Cache-Control": control}})
	}
	if r := ask(me, uid, "max-stale"); r.status != http.StatusOK || r.header.Get("Warning") != "" || strings.Contains(string(r.body), "stale_since") {
		c.t.Fatalf("while the database answers: %s", r)
	}
	l.set(cut)
	for _, control := range []string{"max-stale", "max-stale=60", "no-transform, max-stale=60"} {
		r := ask(me, uid, control)
		stale := read[order](c, r, http.StatusOK)
		if !strings.HasPrefix(r.header.Get("Warning"), "110 ") || stale.StaleSince == nil || !strings.Contains(string(r.body), `"updated_at":"2026-01-02T03:04:05.678901Z","stale_since":"`) {
			c.t.Fatalf("%s: %s", control, r)
		}
		if stale.StaleSince = nil; stale != fresh {
			c.t.Fatalf("%s: %+v, want %+v", control, stale, fresh)
		}
	}
	for _, control := range []string{"", "no-cache", "max-age=60", "max-stale=0", "max-stale=x"} {
		c.refused(ask(me, uid, control), http.StatusServiceUnavailable, "")
	}
	c.refused(ask(me, unread, "max-stale"), http.StatusServiceUnavailable, "")
	if r := ask(other, uid, "max-stale"); r.status == http.StatusOK || strings.Contains(string(r.body), me) {
		c.t.Fatalf("another account's order: %s", r)
	}
	l.set(joined)
	c.back(me, uid)
	if o := c.order(me, uid); o.StaleSince != nil {
		c.t.Fatalf("%+v", o)
	}
}
