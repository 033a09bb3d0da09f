package full

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"dyno/services/notify/notifytest"
)

func filters(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, nil)
	wants := map[string][]string{"/all": nil, "/some": {"paid", "sent"}, "/order": {"order.*"}, "/star": {"*"}, "/mixed": {"order.eu.*", "lost"}}
	for path, types := range wants {
		c.Subscribe(r, path, map[string]any{"types": types})
	}
	got := c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("1", "k", "paid", "1"), notifytest.Notice("2", "k", "lost", "2"), "", notifytest.Notice("3", "k", "sent", "3"),
		notifytest.Notice("4", "k", "order", "4"), notifytest.Notice("5", "k", "order.paid", "5"), notifytest.Notice("6", "k", "order.eu.paid", "6"), notifytest.Notice("7", "k", "ordering", "7")))
	if s := c.Quiet(); got.Deliveries != 20 || s.Accepted != 20 || len(s.Subscriptions) != len(wants) {
		t.Errorf("%d deliveries, want 20; stats %+v", got.Deliveries, s)
	}
	have := r.Sequences()
	for path, want := range map[string]string{"/all": "1 2 3 4 5 6 7", "/some": "1 3", "/order": "5 6", "/star": "1 2 3 4 5 6 7", "/mixed": "2 6"} {
		if got := strings.Join(notifytest.Ids(have[path+" k"]), " "); got != want {
			t.Errorf("%s wants %v and got %s, not %s", path, wants[path], got, want)
		}
	}
}

// refusesInJSON holds that what has no route is refused as everything else is, and that 405 says
// what there is.
func refusesInJSON(t *testing.T, start notifytest.Start) {
	c := notifytest.Open(t, start, notifytest.Usual)
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
		status, header, data := c.Do(test.method, test.path, "", "")
		var got notifytest.Problem
		if err := json.Unmarshal(data, &got); err != nil || got.Error == "" || header.Get("Content-Type") != "application/json" || status != test.status || header.Get("Allow") != test.allow {
			t.Errorf("%s %s: %d %s, Content-Type %q, Allow %q", test.method, test.path, status, data, header.Get("Content-Type"), header.Get("Allow"))
		}
	}
}

// namesBadLines holds that a client learns all that is wrong with a batch from one answer, within
// reason.
func namesBadLines(t *testing.T, start notifytest.Start) {
	c := notifytest.Open(t, start, notifytest.Usual)
	good := notifytest.Notice("1", "k", "t", "1")
	got := c.Refused(400, notifytest.Batch, notifytest.Lines(good, `{"type":"t"}`, "", good, `{"key":"k","type":3}`, `nonsense`, good, notifytest.Notice("1", "k", "t", "\"\xff\"")))
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
	if got := c.Refused(400, notifytest.Batch, strings.Repeat("{}\n", 150)); len(got.Lines) != 100 {
		t.Errorf("%d of 150 bad lines were named", len(got.Lines))
	}
}

// forwardsTrace holds that a webhook belongs to the trace of the request that its notice came with.
func forwardsTrace(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, nil)
	c.Subscribe(r, "/a", nil)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for id, parent := range map[string]string{"with": "00-" + trace + "-00f067aa0ba902b7-00", "bad": "nonsense"} {
		c.PostWith(notifytest.One, notifytest.Notice(id, id, "t", "1"), http.Header{"Traceparent": {parent}})
	}
	c.Quiet()
	if len(r.Hooks()) != 2 {
		t.Fatalf("%d webhooks", len(r.Hooks()))
	}
	for _, h := range r.Hooks() {
		switch id := h.Notices[0].ID; {
		case id == "with" && traceOf(h) != trace:
			t.Errorf("traceparent %q, want trace %s", h.Trace, trace)
		case id == "bad" && h.Trace == "nonsense":
			t.Error("what is no traceparent was forwarded")
		}
	}
}

// traceOf returns the id of the trace that a webhook belongs to.
func traceOf(h notifytest.Hook) string {
	parts := strings.Split(h.Trace, "-")
	if len(parts) != 4 {
		return ""
	}
	return parts[1]
}
