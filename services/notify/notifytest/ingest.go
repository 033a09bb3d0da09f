package notifytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// delivers holds that a payload passes byte for byte, whatever JSON it is, in the envelope agreed
// upon.
func delivers(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	c.subscribe(r, "/a", nil)
	payloads := []string{`{"a" : "<b>&", "c":[1.50, 2e3]}`, `"text \u00e9 é"`, `null`, `0.10`, `[ ]`, "{\n\t\"x\": true\n}", `"` + strings.Repeat("x", 100_000) + `"`}
	before := time.Now()
	for i, p := range payloads {
		if got := c.post(one, notice("id"+string(rune('a'+i)), `k"1`, "t", p)); got.status != 202 || got.Deliveries != 1 || got.ID != "id"+string(rune('a'+i)) {
			t.Fatalf("answered %+v", got)
		}
	}
	after := time.Now()
	c.quiet()
	got := r.sequences()[`/a k"1`]
	if len(got) != len(payloads) {
		t.Fatalf("%d of %d came", len(got), len(payloads))
	}
	const grain = time.Second // a timestamp may be cut off there
	for i, n := range got {
		if n.Payload != payloads[i] || n.Type != "t" || n.ID != "id"+string(rune('a'+i)) {
			t.Errorf("sent %.80q, got %.120q", payloads[i], n.body)
		}
		if n.Timestamp.Before(before.Add(-grain)) || n.Timestamp.After(after.Add(grain)) {
			t.Errorf("accepted between %v and %v, timestamp %v", before, after, n.Timestamp)
		}
	}
	if s := c.stats(); s.Delivered != len(payloads) || s.Retried != 0 || s.Durable == nil || !*s.Durable {
		t.Errorf("stats %+v", s)
	}
	// without an id, one is made and told
	made := c.post(one+"; charset=utf-8", `{"key":"k2","type":"t"}`)
	c.quiet()
	if last := r.sequences()["/a k2"]; made.ID == "" || len(last) != 1 || last[0].ID != made.ID || last[0].Payload != "null" {
		t.Errorf("told %q, delivered %+v", made.ID, last)
	}
}

// numbers holds that the numbers of accepted notices are 1 apart, from any client, and that what is
// refused or known has none.
func numbers(t *testing.T, start Start) {
	c := open(t, start, limits)
	first := c.post(one, notice("0", "k", "t", "1")).Seq
	c.refused(400, batch, lines(notice("a", "k", "t", "1"), "{}"))
	got := c.post(batch, lines(notice("1", "k", "t", "1"), notice("0", "k", "t", "1"), notice("2", "k", "t", "1")))
	if got.Accepted != 2 || got.Duplicates != 1 || len(got.Notices) != 3 ||
		got.Notices[0].Seq != first+1 || got.Notices[1].Seq != first || got.Notices[2].Seq != first+2 {
		t.Fatalf("after %d: %+v", first, got)
	}
	var posting sync.WaitGroup
	var mu sync.Mutex
	var all []uint64
	for p := range 4 {
		posting.Go(func() {
			for i := range 10 {
				answer := c.post(batch, lines(series(fmt.Sprintf("p%d-%d-", p, i), 1+i, 3)...))
				mu.Lock()
				for k, n := range answer.Notices {
					all = append(all, n.Seq)
					if n.Seq != answer.Notices[0].Seq+uint64(k) {
						t.Errorf("the numbers of a batch: %+v", answer.Notices)
					}
				}
				mu.Unlock()
			}
		})
	}
	posting.Wait()
	slices.Sort(all)
	for i, seq := range all {
		if want := first + 3 + uint64(i); seq != want {
			t.Fatalf("number %d where %d should be", seq, want)
		}
	}
	if s := c.stats(); len(all) != 4*55 || s.Seq != all[len(all)-1] {
		t.Errorf("%d numbers, the last %d; stats %+v", len(all), all[len(all)-1], s)
	}
}

func filters(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	wants := map[string][]string{"/all": nil, "/some": {"paid", "sent"}, "/order": {"order.*"}, "/star": {"*"}, "/mixed": {"order.eu.*", "lost"}}
	for path, types := range wants {
		c.subscribe(r, path, map[string]any{"types": types})
	}
	got := c.post(batch, lines(notice("1", "k", "paid", "1"), notice("2", "k", "lost", "2"), "", notice("3", "k", "sent", "3"),
		notice("4", "k", "order", "4"), notice("5", "k", "order.paid", "5"), notice("6", "k", "order.eu.paid", "6"), notice("7", "k", "ordering", "7")))
	if s := c.quiet(); got.Deliveries != 20 || s.Accepted != 20 || len(s.Subscriptions) != len(wants) {
		t.Errorf("%d deliveries, want 20; stats %+v", got.Deliveries, s)
	}
	have := r.sequences()
	for path, want := range map[string]string{"/all": "1 2 3 4 5 6 7", "/some": "1 3", "/order": "5 6", "/star": "1 2 3 4 5 6 7", "/mixed": "2 6"} {
		if got := strings.Join(ids(have[path+" k"]), " "); got != want {
			t.Errorf("%s wants %v and got %s, not %s", path, wants[path], got, want)
		}
	}
}

// badNotices are requests that must be refused with a status; the error says what is wrong, and in
// which field.
var badNotices = []struct {
	status                   int
	kind, body, wants, field string
}{
	{400, one, ``, "notice", ""},
	{400, one, `{`, "notice", ""},
	{400, one, `[]`, "notice", ""},
	{400, one, `{"key":"k","type":"t","payload":}`, "notice", ""},
	{400, one, `{"key":"k","type":"t","data":1}`, "data", "data"},
	{400, one, `{"id":7,"key":"k","type":"t"}`, "id", "id"},
	{400, one, `{"type":"t","payload":1}`, "key", "key"},
	{400, one, `{"key":"k","payload":1}`, "type", "type"},
	{400, one, good + good, "after", ""},
	{400, one, notice("a.b", "k", "t", "1"), "a.b", "id"},
	{400, one, notice("a b", "k", "t", "1"), "a b", "id"},
	{400, one, notice(strings.Repeat("i", 300), "k", "t", "1"), "256", "id"},
	{400, one, notice("1", strings.Repeat("k", 300), "t", "1"), "256", "key"},
	{413, one, notice("1", "k", "t", `"`+strings.Repeat("x", 300<<10)+`"`), "bytes", ""},
	{413, batch, strings.Repeat(good+"\n", 10_001), "10000", ""},
	{400, batch, "\n\n", "empty", ""},
	{400, batch, lines(good, good, `{"key":"k"`, good), "line 3", ""},
	{400, batch, lines(good, "", `{"type":"t"}`), "line 3", ""},
	{400, one, notice("1", "k", "t", "\"\xff\""), "UTF-8", "payload"},
	{400, one, notice("1", "k", "t", "{\"a\":[{\"\xc3(\":1}]}"), "UTF-8", "payload"},
	{400, one, notice("1", "k", "t", "\"\xed\xa0\x80\""), "UTF-8", "payload"}, // a surrogate
	{400, one, notice("1", "k", "t", `["\ud800"]`), "surrogate", "payload"},
	{400, one, notice("1", "k", "t", `{"\udc00\ud800":1}`), "surrogate", "payload"},
	{400, one, "{\"key\":\"k\xff\",\"type\":\"t\"}", "UTF-8", "key"},
	{400, one, `{"key":"\ud800","type":"t"}`, "surrogate", "key"},
	{400, one, "{\"key\":\"k\",\"type\":\"\x80t\"}", "UTF-8", "type"},
	{400, one, "{\"id\":\"\xfe\",\"key\":\"k\",\"type\":\"t\"}", "UTF-8", "id"},
	{400, one, "{\"key\":\"k\",\"type\":\"t\",\"\xff\":1}", "", ""},
	{400, batch, lines(good, notice("2", "k", "t", "\"\xff\"")), "line 2", ""},
	{415, "text/plain", good, "text/plain", ""},
	{415, "", good, "application/json", ""},
}

var good = notice("1", "k", "t", "1") // which may stand beside bad ones

// refusesBad holds that what is no notice is refused and leaves nothing behind, and that the error
// says what is wrong.
func refusesBad(says bool) test {
	return func(t *testing.T, start Start) {
		c, r := open(t, start, limits), newReceiver(t, nil)
		c.subscribe(r, "/a", nil)
		for _, bad := range badNotices {
			got := c.refused(bad.status, bad.kind, bad.body)
			if says && (!strings.Contains(got.Error, bad.wants) || bad.field != "" && got.Field != bad.field) {
				t.Errorf("%.60q: the error %q in field %q does not mention %q in %q", bad.body, got.Error, got.Field, bad.wants, bad.field)
			}
		}
		if status, _, _ := c.do("POST", "/v1/notices", batch, strings.Repeat("x", 17<<20)); status != 413 {
			t.Errorf("a body of 17 MiB: %d", status)
		}
		if s := c.stats(); s.Accepted != 0 || len(r.hooks()) != 0 {
			t.Errorf("something was accepted: %+v", s)
		}
	}
}

// refusesInJSON holds that what has no route is refused as everything else is, and that 405 says
// what there is.
func refusesInJSON(t *testing.T, start Start) {
	c := open(t, start, limits)
	for _, test := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/", 404, ""},
		{"POST", "/", 404, ""},
		{"GET", "/v1/nothing", 404, ""},
		{"POST", "/v1/notices/", 404, ""},
		{"GET", "/v1/subscriptions/a/b", 404, ""},
		{"GET", "/v1/notices", 405, "POST"},
		{"OPTIONS", "/v1/notices", 405, "POST"},
		{"PUT", "/v1/subscriptions", 405, "GET, HEAD, POST"},
		{"POST", "/v1/subscriptions/a", 405, "GET, HEAD, PATCH, DELETE"},
		{"DELETE", "/v1/stats", 405, "GET, HEAD"},
		{"GET", "/v1/dead/a/replay", 405, "POST"},
	} {
		status, header, data := c.do(test.method, test.path, "", "")
		var got problem
		if err := json.Unmarshal(data, &got); err != nil || got.Error == "" || header.Get("Content-Type") != "application/json" || status != test.status || header.Get("Allow") != test.allow {
			t.Errorf("%s %s: %d %s, Content-Type %q, Allow %q", test.method, test.path, status, data, header.Get("Content-Type"), header.Get("Allow"))
		}
	}
}

// namesBadLines holds that a client learns all that is wrong with a batch from one answer, within
// reason.
func namesBadLines(t *testing.T, start Start) {
	c := open(t, start, limits)
	good := notice("1", "k", "t", "1")
	got := c.refused(400, batch, lines(good, `{"type":"t"}`, "", good, `{"key":"k","type":3}`, `nonsense`, good, notice("1", "k", "t", "\"\xff\"")))
	var named []string
	for _, l := range got.Lines {
		named = append(named, fmt.Sprintf("%d:%s", l.Line, l.Field))
		if l.Error == "" {
			t.Errorf("line %d without an error", l.Line)
		}
	}
	if want := []string{"2:key", "5:type", "6:", "8:payload"}; !slices.Equal(named, want) || !strings.Contains(got.Error, "line 2") {
		t.Errorf("lines %v, want %v; %q", named, want, got.Error)
	}
	if got := c.refused(400, batch, strings.Repeat("{}\n", 150)); len(got.Lines) != 100 {
		t.Errorf("%d of 150 bad lines were named", len(got.Lines))
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

// refusesBeyond holds the receiver until the program takes no more.
func refusesBeyond(t *testing.T, start Start) {
	l := limits
	l.Pending = 5
	c, r := open(t, start, l), newReceiver(t, held)
	c.subscribe(r, "/a", nil)
	kilobyte := `"` + strings.Repeat("x", 1024) + `"`
	var accepted, refused []string
	for i := 0; len(refused) == 0; i++ {
		if i > 100*l.Pending {
			t.Fatalf("%d notices wait, and the bound was %d", i, l.Pending)
		}
		id := fmt.Sprintf("%04d", i)
		status, _, data := c.do("POST", "/v1/notices", one, notice(id, "k", "t", kilobyte))
		switch status {
		case http.StatusAccepted:
			accepted = append(accepted, id)
		case http.StatusTooManyRequests:
			refused = append(refused, id)
		default:
			t.Fatalf("%d %s", status, data)
		}
	}
	c.refused(429, batch, lines(notice("b1", "k", "t", kilobyte), notice("b2", "k", "t", kilobyte), notice("b3", "j", "t", kilobyte)))
	if s := c.sums(); len(accepted) == 0 || s.Pending != len(accepted) || s.Subscriptions != nil && (s.Refused == 0 || s.Subscriptions[0].Refused != s.Refused) {
		t.Errorf("%d accepted, stats %+v", len(accepted), s)
	}
	r.release()
	c.quiet()
	c.post(one, notice(refused[0], "k", "t", "1")) // what was refused may come again
	c.quiet()
	if got, want := ids(r.sequences()["/a k"]), append(accepted, refused...); !slices.Equal(got, want) {
		t.Errorf("delivered %v, accepted %v", got, want)
	}
	if got := r.sequences()["/a j"]; len(got) != 0 {
		t.Errorf("of a refused batch came %v", got)
	}
}

// forwardsTrace holds that a webhook belongs to the trace of the request that its notice came with.
func forwardsTrace(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, nil)
	c.subscribe(r, "/a", nil)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for id, parent := range map[string]string{"with": "00-" + trace + "-00f067aa0ba902b7-00", "bad": "nonsense"} {
		c.postWith(one, notice(id, id, "t", "1"), http.Header{"Traceparent": {parent}})
	}
	c.quiet()
	if len(r.hooks()) != 2 {
		t.Fatalf("%d webhooks", len(r.hooks()))
	}
	for _, h := range r.hooks() {
		switch id := h.notices[0].ID; {
		case id == "with" && traceOf(h) != trace:
			t.Errorf("traceparent %q, want trace %s", h.trace, trace)
		case id == "bad" && h.trace == "nonsense":
			t.Error("what is no traceparent was forwarded")
		}
	}
}

// traceOf returns the id of the trace that a webhook belongs to.
func traceOf(h hook) string {
	parts := strings.Split(h.trace, "-")
	if len(parts) != 4 {
		return ""
	}
	return parts[1]
}
