package full

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/parts/servicetest"
	"dyno/services/notify/notifytest"
)

func manages(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, nil)
	sub := c.Subscribe(r, "/a", map[string]any{"types": []string{"x"}, "batch": 5})
	if sub.ID == "" || sub.URL != r.URL+"/a" || sub.Batch != 5 || len(sub.Types) != 1 {
		t.Errorf("made %+v", sub)
	}
	list := notifytest.Get[struct{ Subscriptions []notifytest.Subscription }](c, "/v1/subscriptions").Subscriptions
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
		{"POST", "/v1/subscriptions", `{"url":"http://example.com/orders#new"}`, "fragment", "url"},
		{"PATCH", path, `{"url":"http://example.com/?share=50%"}`, "%25", "url"},
		{"POST", "/v1/subscriptions", `{"url":"http://example.com\\@10.0.0.1/"}`, "backslash", "url"},
		{"POST", "/v1/subscriptions", `{"url":"http://[fe80::7%25eth0]/"}`, "zone", "url"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.URL + `","secret":"x"}`, "whsec_", "secret"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.URL + `","secret":"whsec_YWJj"}`, "24", "secret"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.URL + `","batch":-1}`, "batch", "batch"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.URL + `","batch":100000}`, "batch", "batch"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.URL + `","batch":"many"}`, "batch", "batch"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.URL + `","typs":["a"]}`, "typs", "typs"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.URL + `","types":["` + strings.Repeat(`a","`, 100) + `a"]}`, "types", "types"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.URL + `","types":["a*"]}`, "star", "types"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.URL + "/\xff\"}", "UTF-8", "url"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.URL + "\",\"types\":[\"a\",\"\xff\"]}", "UTF-8", "types"},
		{"POST", "/v1/subscriptions", `{"url":"` + r.URL + `","types":["\ud800"]}`, "surrogate", "types"},
		{"PATCH", path, "{\"types\":[\"\xff\"]}", "UTF-8", "types"},
		{"PATCH", path, `{"url":"nowhere"}`, "http", "url"},
		{"PATCH", path, `{"types":["*.a"]}`, "star", "types"},
		{"PATCH", path, `{"batch":100000}`, "batch", "batch"},
		{"PATCH", path, `{"secret":"whsec_YWJj"}`, "24", "secret"},
		{"PATCH", path, `{"id":"sub_1"}`, "id", "id"},
	} {
		status, _, data := c.Do(test.method, test.path, notifytest.One, test.body)
		var got notifytest.Problem
		if err := json.Unmarshal(data, &got); err != nil || status != 400 || !strings.Contains(got.Error, test.wants) || got.Field != test.field {
			t.Errorf("%s %s: %d %s", test.method, test.body, status, data)
		}
	}
	if got := notifytest.Get[notifytest.Subscription](c, path); got.URL != sub.URL || got.Batch != 5 || !slices.Equal(got.Types, sub.Types) {
		t.Errorf("after changes that were refused: %+v", got)
	}
	c.Must(204, "DELETE", path)
	c.Must(404, "GET", path)
	c.Must(404, "DELETE", path)
	if status, _, _ := c.Do("PATCH", path, notifytest.One, `{"batch":1}`); status != 404 {
		t.Errorf("PATCH of what was deleted: %d", status)
	}
}

// changes holds that what a PATCH changes applies to what is posted from then on, and the rest
// stays.
func changes(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, nil)
	sub := c.Subscribe(r, "/a", map[string]any{"types": []string{"x"}, "batch": 5})
	r.Know("/b", sub.Secret)
	if got := c.Patch(sub.ID, map[string]any{"types": []string{"y.*"}}); !slices.Equal(got.Types, []string{"y.*"}) || got.URL != sub.URL || got.Batch != 5 || got.Secret != "" {
		t.Errorf("types changed: %+v", got)
	}
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("1", "k", "x", "1"), notifytest.Notice("2", "k", "y.z", "2")))
	c.Quiet()
	if got := c.Patch(sub.ID, map[string]any{"url": r.URL + "/b", "types": []string{}, "batch": 1}); got.URL != r.URL+"/b" || len(got.Types) != 0 || got.Batch != 1 {
		t.Errorf("url, types and batch changed: %+v", got)
	}
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("3", "k", "x", "3"), notifytest.Notice("4", "k", "y.z", "4")))
	c.Quiet()
	if got := c.Patch(sub.ID, map[string]any{"disabled": true}); got.Disabled == "" {
		t.Errorf("disabled: %+v", got)
	}
	if n := c.Post(notifytest.One, notifytest.Notice("5", "k", "x", "5")).Deliveries; n != 0 {
		t.Errorf("%d deliveries to a disabled subscription", n)
	}
	if got := c.Patch(sub.ID, map[string]any{"disabled": false}); got.Disabled != "" {
		t.Errorf("enabled: %+v", got)
	}
	c.Post(notifytest.One, notifytest.Notice("6", "k", "x", "6"))
	s := c.Quiet()
	got := r.Sequences()
	if a, b := notifytest.Ids(got["/a k"]), notifytest.Ids(got["/b k"]); !slices.Equal(a, []string{"2"}) || !slices.Equal(b, []string{"3", "4", "6"}) || s.Accepted != 4 {
		t.Errorf("got %v and %v, stats %+v", a, b, s)
	}
}

func pages(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, nil)
	want := map[string]bool{}
	for range 7 {
		want[c.Subscribe(r, "/a", nil).ID] = true
	}
	type page struct {
		Subscriptions []notifytest.Subscription
		Next          string
	}
	got, after := map[string]bool{}, ""
	for range 7 {
		p := notifytest.Get[page](c, "/v1/subscriptions?limit=3"+after)
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
		id := c.Subscribe(r, "/found-"+kind, map[string]any{"types": []string{kind}}).ID
		for query, want := range map[string]int{"q=" + id: 1, "q=FOUND-" + kind: 1, "q=" + kind[2:] + "&limit=1": 1, "q=no-such": 0} {
			got := notifytest.Get[page](c, "/v1/subscriptions?"+query)
			if len(got.Subscriptions) != want || want > 0 && got.Subscriptions[0].ID != id || got.Next != "" {
				t.Errorf("%s found %+v", query, got)
			}
		}
	}
	first := notifytest.Get[page](c, "/v1/subscriptions?limit=1&q=order.")
	second := notifytest.Get[page](c, "/v1/subscriptions?limit=1&q=order.&after="+first.Next)
	if len(first.Subscriptions) != 1 || len(second.Subscriptions) != 1 || second.Next != "" || first.Subscriptions[0].ID == second.Subscriptions[0].ID {
		t.Errorf("found page by page %+v, %+v", first, second)
	}
	if s := notifytest.Get[notifytest.Stats](c, "/v1/stats?limit=2"); len(s.Subscriptions) != 2 {
		t.Errorf("stats of 2 subscriptions: %+v", s)
	}
	for _, path := range []string{"/v1/subscriptions?limit=x", "/v1/stats?limit=0", "/v1/dead?limit=-1"} {
		c.Must(400, "GET", path)
	}
}

// hidesGuarded holds that what is said of a private receiver does not show what its name resolves
// to.
func hidesGuarded(t *testing.T, start notifytest.Start) {
	showsNoAddress(notifytest.Guarded(t, start), "not allowed")
}

// hidesAddresses holds that what is said of a receiver that cannot be reached does not show what
// its name resolves to.
func hidesAddresses(t *testing.T, start notifytest.Start) {
	l := notifytest.Usual
	l.Attempts = 2
	c := notifytest.Open(t, start, l)
	status, _, data := c.Do("POST", "/v1/subscriptions", notifytest.One, `{"url":"http://localhost:1/a"}`) // where nothing listens
	if status != 201 {
		t.Fatalf("%d %s", status, data)
	}
	c.Post(notifytest.One, notifytest.Notice("1", "k", "t", "1"))
	if s := c.Quiet(); s.Dead != 1 {
		t.Errorf("stats %+v", s)
	}
	showsNoAddress(c, "connection refused")
}

// showsNoAddress holds that statistics and dead letters name the kind of error and no address.
func showsNoAddress(c *notifytest.Client, kind string) {
	c.T.Helper()
	for _, path := range []string{"/v1/stats", "/v1/dead"} {
		_, _, data := c.Do("GET", path, "", "")
		if text := string(data); !strings.Contains(text, kind) || strings.Contains(text, "127.0.0.1") || strings.Contains(text, "::1") {
			c.T.Errorf("%s does not say %q, or names an address: %s", path, kind, text)
		}
	}
}

// deletingGivesUp deletes a subscription while one webhook is in flight, others wait, and one is
// parked.
func deletingGivesUp(t *testing.T, start notifytest.Start) {
	l := notifytest.Usual
	l.Backoff, l.MaxBackoff = time.Hour, time.Hour
	arrived := make(chan struct{}, 2)
	c, r := notifytest.Open(t, start, l), notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
		arrived <- struct{}{}
		if h.Notices[0].Key == "parked" {
			return notifytest.Reply{Status: 500}
		}
		h.Wait()
		return notifytest.Reply{Status: 200}
	})
	sub := c.Subscribe(r, "/a", nil)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("1", "held", "t", "1"), notifytest.Notice("2", "held", "t", "1"), notifytest.Notice("3", "parked", "t", "1")))
	<-arrived
	<-arrived
	if status, _, data := c.Do("DELETE", "/v1/subscriptions/"+sub.ID, "", ""); status != 204 {
		t.Fatalf("DELETE: %d %s", status, data)
	}
	if s := c.Quiet(); s.Dead != 3 || s.Accepted != 3 || len(s.Subscriptions) != 0 {
		t.Errorf("stats %+v", s)
	}
	r.Release()
}

// drains holds that stopping delivers what was accepted and can be delivered immediately, once. No
// webhook may reach its time limit while it is held, or it would rightly come again.
func drains(t *testing.T, start notifytest.Start) {
	l := notifytest.Usual
	l.Timeout, l.Drain = time.Hour, time.Hour
	c, r := notifytest.Open(t, start, l), notifytest.NewReceiver(t, notifytest.Held)
	c.Subscribe(r, "/a", nil)
	for i := range 100 {
		c.Post(notifytest.One, notifytest.Notice(fmt.Sprintf("%03d", i), fmt.Sprintf("k%d", i%10), "t", "1"))
	}
	stopped := make(chan int)
	go func() { stopped <- c.Stop() }()
	r.Release()
	if left := <-stopped; left != 0 {
		t.Errorf("%d were left", left)
	}
	n := 0
	for _, got := range r.Sequences() {
		n += len(got)
	}
	if n != 100 {
		t.Errorf("%d of 100 were delivered", n)
	}
}

// drainsBounded holds that stopping has a bound, and reports what was left.
func drainsBounded(t *testing.T, start notifytest.Start) {
	l := notifytest.Usual
	l.Drain, l.Backoff, l.MaxBackoff = 50*time.Millisecond, time.Hour, time.Hour
	arrived := make(chan struct{}, 4)
	c, r := notifytest.Open(t, start, l), notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
		arrived <- struct{}{}
		switch h.Notices[0].Key {
		case "held":
			h.Wait()
		case "parked":
			return notifytest.Reply{Status: 500}
		}
		return notifytest.Reply{Status: 200}
	})
	c.Subscribe(r, "/a", nil)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("1", "held", "t", "1"), notifytest.Notice("2", "held", "t", "1"), notifytest.Notice("3", "parked", "t", "1"), notifytest.Notice("4", "good", "t", "1")))
	for range 3 {
		<-arrived
	}
	servicetest.Await(t, func() string { return "one delivery" }, func() bool { return c.Stats().Delivered == 1 })
	if left := c.Stop(); left != 3 {
		t.Errorf("%d left, want 3", left)
	}
	r.Release()
}
