package notifytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func manages(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	sub := c.subscribe(r, "/a", map[string]any{"types": []string{"x"}, "batch": 5})
	if sub.ID == "" || sub.URL != r.url+"/a" || sub.Batch != 5 || len(sub.Types) != 1 {
		t.Errorf("made %+v", sub)
	}
	list := get[struct{ Subscriptions []subscription }](c, "/v1/subscriptions").Subscriptions
	if len(list) != 1 || list[0].ID != sub.ID || list[0].URL != sub.URL {
		t.Errorf("list: %+v", list)
	}
	path := "/v1/subscriptions/" + sub.ID
	for _, test := range []struct {
		method, path, body, wants, field string
	}{
		{"POST", "/v1/subscriptions", ``, "subscription", ""},
		{"POST", "/v1/subscriptions", `{"types":["a"]}`, "url", "url"},
		{"POST", "/v1/subscriptions", `{"url":"ftp://example.com/"}`, "http", "url"},
		{"POST", "/v1/subscriptions", `{"url":"http://u:p@example.com/"}`, "password", "url"},
		{"POST", "/v1/subscriptions", `{"url":"http:///x"}`, "http", "url"},
		{"POST", "/v1/subscriptions", `{"url":"http://example.com:0/x"}`, "65535", "url"},
		{"POST", "/v1/subscriptions", `{"url":"https://example.com:99999"}`, "65535", "url"},
		{"POST", "/v1/subscriptions", `{"url":"http://127.0.0.1:65536/"}`, "65535", "url"},
		{"PATCH", path, `{"url":"http://[::1]:0"}`, "65535", "url"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.url + `","secret":"x"}`, "whsec_", "secret"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.url + `","secret":"whsec_YWJj"}`, "24", "secret"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.url + `","batch":-1}`, "batch", "batch"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.url + `","batch":100000}`, "batch", "batch"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.url + `","batch":"many"}`, "batch", "batch"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.url + `","typs":["a"]}`, "typs", "typs"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.url + `","types":["` + strings.Repeat(`a","`, 100) + `a"]}`, "types", "types"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.url + `","types":["a*"]}`, "star", "types"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.url + "/\xff\"}", "UTF-8", "url"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.url + "\",\"types\":[\"a\",\"\xff\"]}", "UTF-8", "types"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.url + `","types":["\ud800"]}`, "surrogate", "types"},
		{"PATCH", path, "{\"types\":[\"\xff\"]}", "UTF-8", "types"},
		{"PATCH", path, `{"url":"nowhere"}`, "http", "url"},
		{"PATCH", path, `{"types":["*.a"]}`, "star", "types"},
		{"PATCH", path, `{"batch":100000}`, "batch", "batch"},
		{"PATCH", path, `{"secret":"whsec_YWJj"}`, "24", "secret"},
		{"PATCH", path, `{"id":"sub_1"}`, "id", "id"},
	} {
		status, _, data := c.do(test.method, test.path, one, test.body)
		var got problem
		if err := json.Unmarshal(data, &got); err != nil || status != 400 || !strings.Contains(got.Error, test.wants) || got.Field != test.field {
			t.Errorf("%s %s: %d %s", test.method, test.body, status, data)
		}
	}
	if got := get[subscription](c, path); got.URL != sub.URL || got.Batch != 5 || !slices.Equal(got.Types, sub.Types) {
		t.Errorf("after changes that were refused: %+v", got)
	}
	c.must(204, "DELETE", path)
	c.must(404, "GET", path)
	c.must(404, "DELETE", path)
	if status, _, _ := c.do("PATCH", path, one, `{"batch":1}`); status != 404 {
		t.Errorf("PATCH of what was deleted: %d", status)
	}
}

// changes holds that what a PATCH changes applies to what is posted from then on, and the rest
// stays.
func changes(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	sub := c.subscribe(r, "/a", map[string]any{"types": []string{"x"}, "batch": 5})
	r.know("/b", sub.Secret)
	if got := c.patch(sub.ID, map[string]any{"types": []string{"y.*"}}); !slices.Equal(got.Types, []string{"y.*"}) || got.URL != sub.URL || got.Batch != 5 || got.Secret != "" {
		t.Errorf("types changed: %+v", got)
	}
	c.post(batch, lines(notice("1", "k", "x", "1"), notice("2", "k", "y.z", "2")))
	c.quiet()
	if got := c.patch(sub.ID, map[string]any{"url": r.url + "/b", "types": []string{}, "batch": 1}); got.URL != r.url+"/b" || len(got.Types) != 0 || got.Batch != 1 {
		t.Errorf("url, types and batch changed: %+v", got)
	}
	c.post(batch, lines(notice("3", "k", "x", "3"), notice("4", "k", "y.z", "4")))
	c.quiet()
	if got := c.patch(sub.ID, map[string]any{"disabled": true}); got.Disabled == "" {
		t.Errorf("disabled: %+v", got)
	}
	if n := c.post(one, notice("5", "k", "x", "5")).Deliveries; n != 0 {
		t.Errorf("%d deliveries to a disabled subscription", n)
	}
	if got := c.patch(sub.ID, map[string]any{"disabled": false}); got.Disabled != "" {
		t.Errorf("enabled: %+v", got)
	}
	c.post(one, notice("6", "k", "x", "6"))
	s := c.quiet()
	got := r.sequences()
	if a, b := ids(got["/a k"]), ids(got["/b k"]); !slices.Equal(a, []string{"2"}) || !slices.Equal(b, []string{"3", "4", "6"}) || s.Accepted != 4 {
		t.Errorf("got %v and %v, stats %+v", a, b, s)
	}
}

func pages(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	want := map[string]bool{}
	for range 7 {
		want[c.subscribe(r, "/a", nil).ID] = true
	}
	type page struct {
		Subscriptions []subscription
		Next          string
	}
	got, after := map[string]bool{}, ""
	for range 7 {
		p := get[page](c, "/v1/subscriptions?limit=3"+after)
		for _, sub := range p.Subscriptions {
			got[sub.ID] = true
		}
		if len(p.Subscriptions) > 3 || p.Next == "" {
			break
		}
		after = "&after=" + p.Next
	}
	if !maps.Equal(got, want) {
		t.Errorf("page by page %v, made %v", got, want)
	}
	for _, kind := range []string{"Order.Paid", "order.sent", "stock.low"} {
		id := c.subscribe(r, "/found-"+kind, map[string]any{"types": []string{kind}}).ID
		for query, want := range map[string]int{"q=" + id: 1, "q=FOUND-" + kind: 1, "q=" + kind[2:] + "&limit=1": 1, "q=no-such": 0} {
			got := get[page](c, "/v1/subscriptions?"+query)
			if len(got.Subscriptions) != want || want > 0 && got.Subscriptions[0].ID != id || got.Next != "" {
				t.Errorf("%s found %+v", query, got)
			}
		}
	}
	first := get[page](c, "/v1/subscriptions?limit=1&q=order.")
	second := get[page](c, "/v1/subscriptions?limit=1&q=order.&after="+first.Next)
	if len(first.Subscriptions) != 1 || len(second.Subscriptions) != 1 || second.Next != "" || first.Subscriptions[0].ID == second.Subscriptions[0].ID {
		t.Errorf("found page by page %+v, %+v", first, second)
	}
	if s := get[stats](c, "/v1/stats?limit=2"); len(s.Subscriptions) != 2 {
		t.Errorf("stats of 2 subscriptions: %+v", s)
	}
	for _, path := range []string{"/v1/subscriptions?limit=x", "/v1/stats?limit=0", "/v1/dead?limit=-1"} {
		c.must(400, "GET", path)
	}
}

// guards holds that no webhook reaches a private address: an address is refused immediately, and a
// name when it has been resolved.
func guards(t *testing.T, start Start) { guarded(t, start) }

// hidesGuarded holds that what is said of a private receiver does not show what its name resolves
// to.
func hidesGuarded(t *testing.T, start Start) { guarded(t, start).showsNoAddress("not allowed") }

func guarded(t *testing.T, start Start) *client {
	l := limits
	l.AllowPrivate, l.Attempts = false, 2
	c := open(t, start, l)
	r := newReceiver(t, func(hook) reply {
		t.Error("a webhook reached a loopback address")
		return reply{status: 200}
	})
	for _, host := range []string{"127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1",
		"[::1]", "[::ffff:127.0.0.1]", "[fe80::1]", "[fd00::1]", "[::]", "[64:ff9b::7f00:1]", "[::7f00:1]", "[2002:7f00:1::%25lo]", "224.0.0.1"} {
		status, _, data := c.do("POST", "/v1/subscriptions", one, `{"url":"http://`+host+`:80/"}`)
		if status != 400 {
			t.Errorf("%s: %d %s", host, status, data)
		}
	}
	byName := strings.Replace(r.url, "127.0.0.1", "localhost", 1)
	status, _, data := c.do("POST", "/v1/subscriptions", one, `{"url":"`+byName+`/a"}`)
	if status != 201 {
		t.Fatalf("%s: %d %s", byName, status, data)
	}
	c.post(one, notice("1", "k", "t", "1"))
	if s := c.quiet(); s.Dead != 1 {
		t.Errorf("stats %+v", s)
	}
	return c
}

// hidesAddresses holds that what is said of a receiver that cannot be reached does not show what
// its name resolves to.
func hidesAddresses(t *testing.T, start Start) {
	l := limits
	l.Attempts = 2
	c := open(t, start, l)
	status, _, data := c.do("POST", "/v1/subscriptions", one, `{"url":"http://localhost:1/a"}`) // where nothing listens
	if status != 201 {
		t.Fatalf("%d %s", status, data)
	}
	c.post(one, notice("1", "k", "t", "1"))
	if s := c.quiet(); s.Dead != 1 {
		t.Errorf("stats %+v", s)
	}
	c.showsNoAddress("connection refused")
}

// showsNoAddress holds that statistics and dead letters name the kind of error and no address.
func (c *client) showsNoAddress(kind string) {
	c.t.Helper()
	for _, path := range []string{"/v1/stats", "/v1/dead"} {
		_, _, data := c.do("GET", path, "", "")
		if text := string(data); !strings.Contains(text, kind) || strings.Contains(text, "127.0.0.1") || strings.Contains(text, "::1") {
			c.t.Errorf("%s does not say %q, or names an address: %s", path, kind, text)
		}
	}
}

// deletingGivesUp deletes a subscription while one webhook is in flight, others wait, and one is
// parked.
func deletingGivesUp(t *testing.T, start Start) {
	l := limits
	l.Backoff, l.MaxBackoff = time.Hour, time.Hour
	arrived := make(chan struct{}, 2)
	c, r := open(t, start, l), newReceiver(t, func(h hook) reply {
		arrived <- struct{}{}
		if h.notices[0].Key == "parked" {
			return reply{status: 500}
		}
		h.wait()
		return reply{status: 200}
	})
	sub := c.subscribe(r, "/a", nil)
	c.post(batch, lines(notice("1", "held", "t", "1"), notice("2", "held", "t", "1"), notice("3", "parked", "t", "1")))
	<-arrived
	<-arrived
	if status, _, data := c.do("DELETE", "/v1/subscriptions/"+sub.ID, "", ""); status != 204 {
		t.Fatalf("DELETE: %d %s", status, data)
	}
	if s := c.quiet(); s.Dead != 3 || s.Accepted != 3 || len(s.Subscriptions) != 0 {
		t.Errorf("stats %+v", s)
	}
	r.release()
}

// drains holds that stopping delivers what was accepted and can be delivered immediately.
func drains(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, held)
	c.subscribe(r, "/a", nil)
	for i := range 100 {
		c.post(one, notice(fmt.Sprintf("%03d", i), fmt.Sprintf("k%d", i%10), "t", "1"))
	}
	stopped := make(chan int)
	go func() { stopped <- c.stop() }()
	r.release()
	if left := <-stopped; left != 0 {
		t.Errorf("%d were left", left)
	}
	n := 0
	for _, got := range r.sequences() {
		n += len(got)
	}
	if n != 100 {
		t.Errorf("%d of 100 were delivered", n)
	}
}

// drainsBounded holds that stopping has a bound, and reports what was left.
func drainsBounded(t *testing.T, start Start) {
	l := limits
	l.Drain, l.Backoff, l.MaxBackoff = 50*time.Millisecond, time.Hour, time.Hour
	arrived := make(chan struct{}, 4)
	c, r := open(t, start, l), newReceiver(t, func(h hook) reply {
		arrived <- struct{}{}
		switch h.notices[0].Key {
		case "held":
			h.wait()
		case "parked":
			return reply{status: 500}
		}
		return reply{status: 200}
	})
	c.subscribe(r, "/a", nil)
	c.post(batch, lines(notice("1", "held", "t", "1"), notice("2", "held", "t", "1"), notice("3", "parked", "t", "1"), notice("4", "good", "t", "1")))
	for range 3 {
		<-arrived
	}
	await(t, func() string { return "one delivery" }, func() bool { return c.stats().Delivered == 1 })
	if left := c.stop(); left != 3 {
		t.Errorf("%d left, want 3", left)
	}
	r.release()
}
