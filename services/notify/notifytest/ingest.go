package notifytest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// delivers holds that a payload passes byte for byte, whatever JSON it is.
func delivers(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	c.subscribe(r, "/a", nil)
	payloads := []string{`{"a" : "<b>&", "c":[1.50, 2e3]}`, `"text \u00e9 é"`, `null`, `0.10`, `[ ]`, "{\n\t\"x\": true\n}", `"` + strings.Repeat("x", 100_000) + `"`}
	for i, p := range payloads {
		if n := c.post(one, notice("id"+string(rune('a'+i)), `k"1`, "t", p)); n != 1 {
			t.Fatalf("%d deliveries for one subscription", n)
		}
	}
	c.quiet()
	got := r.sequences()[`/a k"1`]
	if len(got) != len(payloads) {
		t.Fatalf("%d of %d came", len(got), len(payloads))
	}
	for i, n := range got {
		if string(n.Payload) != payloads[i] || n.Type != "t" || n.ID != "id"+string(rune('a'+i)) {
			t.Errorf("sent %.80q, got %.120q", payloads[i], n.body)
		}
	}
	if s := c.stats(); s.Delivered != len(payloads) || s.Retried != 0 || s.Durable == nil || *s.Durable {
		t.Errorf("stats %+v", s)
	}
	// without an id, one is made and told
	status, _, data := c.do("POST", "/v1/notices", one+"; charset=utf-8", `{"key":"k2","type":"t"}`)
	var made struct{ ID string }
	if err := json.Unmarshal(data, &made); err != nil || status != http.StatusAccepted || made.ID == "" {
		t.Fatalf("a notice without id: %d %s", status, data)
	}
	c.quiet()
	if last := r.sequences()["/a k2"]; len(last) != 1 || last[0].ID != made.ID || string(last[0].Payload) != "null" {
		t.Errorf("told %q, delivered %+v", made.ID, last)
	}
}

func filters(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	c.subscribe(r, "/all", nil)
	c.subscribe(r, "/some", map[string]any{"types": []string{"paid", "sent"}})
	n := c.post(batch, lines(notice("1", "k", "paid", "1"), notice("2", "k", "lost", "2"), "", notice("3", "k", "sent", "3")))
	if n != 5 {
		t.Errorf("%d deliveries, want 5", n)
	}
	if s := c.quiet(); s.Accepted != 5 || len(s.Subscriptions) != 2 {
		t.Errorf("stats %+v", s)
	}
	got := r.sequences()
	if a, b := ids(got["/all k"]), ids(got["/some k"]); !slices.Equal(a, []string{"1", "2", "3"}) || !slices.Equal(b, []string{"1", "3"}) {
		t.Errorf("all got %v, some got %v", a, b)
	}
}

func refusesBad(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	c.subscribe(r, "/a", nil)
	good := notice("1", "k", "t", "1")
	for _, test := range []struct {
		status            int
		kind, body, wants string
	}{
		{400, one, ``, "notice"},
		{400, one, `{`, "notice"},
		{400, one, `[]`, "notice"},
		{400, one, `{"key":"k","type":"t","payload":}`, "notice"},
		{400, one, `{"key":"k","type":"t","data":1}`, "data"},
		{400, one, `{"id":7,"key":"k","type":"t"}`, "id"},
		{400, one, `{"type":"t","payload":1}`, "key"},
		{400, one, `{"key":"k","payload":1}`, "type"},
		{400, one, good + good, "after"},
		{400, one, notice("a.b", "k", "t", "1"), "a.b"},
		{400, one, notice("a b", "k", "t", "1"), "a b"},
		{400, one, notice("1", strings.Repeat("k", 300), "t", "1"), "256"},
		{413, one, notice("1", "k", "t", `"`+strings.Repeat("x", 300<<10)+`"`), "bytes"},
		{413, batch, strings.Repeat(good+"\n", 10_001), "10000"},
		{400, batch, "\n\n", "empty"},
		{400, batch, lines(good, good, `{"key":"k"`, good), "line 3"},
		{400, batch, lines(good, "", `{"type":"t"}`), "line 3"},
		{415, "text/plain", good, "text/plain"},
		{415, "", good, "application/json"},
	} {
		if got := c.refused(test.status, test.kind, test.body); !strings.Contains(got, test.wants) {
			t.Errorf("%.60q: the error %q does not mention %q", test.body, got, test.wants)
		}
	}
	if status, _, _ := c.do("POST", "/v1/notices", batch, strings.Repeat("x", 17<<20)); status != 413 {
		t.Errorf("a body of 17 MiB: %d", status)
	}
	if status, _, _ := c.do("GET", "/v1/notices", "", ""); status != 405 {
		t.Errorf("GET /v1/notices: %d", status)
	}
	if s := c.stats(); s.Accepted != 0 || len(r.hooks()) != 0 {
		t.Errorf("something was accepted: %+v", s)
	}
}

func takesWhole(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	c.subscribe(r, "/a", nil)
	c.refused(400, batch, lines(notice("1", "a", "t", "1"), notice("2", "b", "t", "2"), "{}"))
	c.post(batch, lines(notice("3", "a", "t", "3"), notice("4", "b", "t", "4")))
	s := c.quiet()
	got := r.sequences()
	if a, b := ids(got["/a a"]), ids(got["/a b"]); s.Delivered != 2 || !slices.Equal(a, []string{"3"}) || !slices.Equal(b, []string{"4"}) {
		t.Errorf("got %v and %v, %+v", a, b, s)
	}
}

// refusesBeyond holds the receiver, so that what is pending is known.
func refusesBeyond(t *testing.T, start Start) {
	l := limits
	l.Pending = 5
	c, r := open(t, start, l), newReceiver(t, func(h hook) reply {
		h.wait()
		return reply{status: 200}
	})
	c.subscribe(r, "/a", nil)
	c.post(batch, lines(notice("1", "a", "t", "1"), notice("2", "b", "t", "2"), notice("3", "a", "t", "3")))
	c.refused(429, batch, lines(notice("4", "c", "t", "4"), notice("5", "a", "t", "5"), notice("6", "b", "t", "6")))
	c.post(batch, lines(notice("7", "c", "t", "7"), notice("8", "a", "t", "8")))
	c.refused(429, one, notice("9", "d", "t", "9"))
	if s := c.stats(); s.Accepted != 5 || s.Pending != 5 || s.Refused != 4 || s.Subscriptions[0].Refused != 4 {
		t.Errorf("stats %+v", s)
	}
	r.release()
	c.quiet()
	c.post(one, notice("10", "d", "t", "10"))
	c.quiet()
	got := r.sequences()
	if a := ids(got["/a a"]); !slices.Equal(a, []string{"1", "3", "8"}) || len(got["/a d"]) != 1 {
		t.Errorf("got %v", got)
	}
}
