package notifytest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func showsSecretOnce(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	own := "whsec_" + base64.StdEncoding.EncodeToString([]byte("thirty-two bytes of one's own ..."))
	a, b := c.subscribe(r, "/a", nil), c.subscribe(r, "/b", map[string]any{"secret": own})
	if !strings.HasPrefix(a.Secret, "whsec_") || b.Secret != own || a.Secret == b.Secret {
		t.Errorf("secrets %q and %q", a.Secret, b.Secret)
	}
	c.post(one, notice("1", "k", "t", "1"))
	c.quiet()
	for _, path := range []string{"/v1/subscriptions", "/v1/subscriptions/" + a.ID, "/v1/subscriptions/" + b.ID, "/v1/stats"} {
		status, _, data := c.do("GET", path, "", "")
		if status != 200 || strings.Contains(string(data), "whsec") || strings.Contains(string(data), "secret") {
			t.Errorf("GET %s: %d %s", path, status, data)
		}
	}
}

func manages(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	sub := c.subscribe(r, "/a", map[string]any{"types": []string{"x"}, "batch": 5})
	if sub.ID == "" || sub.URL != r.url+"/a" || sub.Batch != 5 || len(sub.Types) != 1 {
		t.Errorf("made %+v", sub)
	}
	var list struct{ Subscriptions []subscription }
	_, _, data := c.do("GET", "/v1/subscriptions", "", "")
	if err := json.Unmarshal(data, &list); err != nil || len(list.Subscriptions) != 1 || list.Subscriptions[0].ID != sub.ID {
		t.Errorf("list: %s", data)
	}
	for body, wants := range map[string]string{
		``:                                     "subscription",
		`{"url":"ftp://example.com/"}`:         "http",
		`{"url":"http://u:p@example.com/"}`:    "password",
		`{"url":"http:///x"}`:                  "http",
		`{"url":"` + r.url + `","secret":"x"}`: "whsec_",
		`{"url":"` + r.url + `","secret":"whsec_YWJj"}`:                            "24",
		`{"url":"` + r.url + `","batch":-1}`:                                       "batch",
		`{"url":"` + r.url + `","batch":100000}`:                                   "batch",
		`{"url":"` + r.url + `","typs":["a"]}`:                                     "typs",
		`{"url":"` + r.url + `","types":["` + strings.Repeat(`a","`, 100) + `a"]}`: "types",
	} {
		status, _, data := c.do("POST", "/v1/subscriptions", one, body)
		if status != 400 || !strings.Contains(string(data), wants) {
			t.Errorf("%s: %d %s", body, status, data)
		}
	}
	for _, method := range []string{"DELETE", "GET", "DELETE"} {
		status, _, data := c.do(method, "/v1/subscriptions/"+sub.ID, "", "")
		want := 404
		if method == "DELETE" && list.Subscriptions != nil {
			want, list.Subscriptions = 204, nil
		}
		if status != want {
			t.Errorf("%s: %d %s, want %d", method, status, data, want)
		}
	}
}

// guards holds that no webhook reaches a private address: an address is refused at once, and a name when
// it has been resolved.
func guards(t *testing.T, start Start) {
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
}

// deletingGivesUp deletes a subscription while one webhook is in flight, others wait, and one is parked.
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

// drains holds that stopping delivers what was accepted, through failures.
func drains(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, func(h hook) reply {
		h.wait()
		if h.try == 1 {
			return reply{status: 500}
		}
		return reply{status: 200}
	})
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

// drainsBounded holds that stopping does not wait for ever, and tells what was left.
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
	await(t, func() bool { return c.stats().Delivered == 1 }, func() string { return "one delivery" })
	if left := c.stop(); left != 3 {
		t.Errorf("%d left, want 3", left)
	}
	r.release()
}
