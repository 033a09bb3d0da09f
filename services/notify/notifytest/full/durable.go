package full

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"dyno/parts/servicetest"
	"dyno/services/notify/notifytest"
)

// detailsSurvive restarts the program before it delivers notices with a trace and with an
// Idempotency-Key.
func detailsSurvive(t *testing.T, c *notifytest.Client, restart func()) {
	r := notifytest.NewReceiver(t, notifytest.Held)
	c.Subscribe(r, "/a", nil)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	header := http.Header{"Traceparent": {"00-" + trace + "-00f067aa0ba902b7-00"}, "Idempotency-Key": {"by-header"}}
	before := c.PostWith(notifytest.One, `{"key":"k","type":"t"}`, header)
	restart()
	if again := c.PostWith(notifytest.One, `{"key":"k","type":"t"}`, header); again.Status != http.StatusOK || again.Seq != before.Seq {
		t.Errorf("before %+v, after %+v", before, again)
	}
	if got := c.Refused(http.StatusConflict, notifytest.One, notifytest.Notice("by-header", "k", "t", "1")); got.Field != "id" {
		t.Errorf("another notice with an id that was given in a header: %+v", got)
	}
	r.Release()
	c.Quiet()
	if got := r.Hooks(); len(got) == 0 || got[0].Notices[0].ID != "by-header" || traceOf(got[0]) != trace {
		t.Errorf("after the restart came %+v", got)
	}
}

func subscriptionsSurvive(t *testing.T, c *notifytest.Client, restart func()) {
	r := notifytest.NewReceiver(t, gone)
	plain := c.Subscribe(r, "/plain", nil)
	changed := c.Subscribe(r, "/old", map[string]any{"types": []string{"x"}, "batch": 5})
	c.Patch(changed.ID, map[string]any{"types": []string{"t", "y.*"}, "batch": 2, "url": r.URL + "/new"})
	r.Know("/new", changed.Secret)
	rotated := c.Subscribe(r, "/rotated", nil)
	r.Know("/rotated", rotated.Secret, c.Patch(rotated.ID, map[string]any{"rotate_secret": true}).Secret)
	gone := c.Subscribe(r, "/gone", nil)
	c.Post(notifytest.One, notifytest.Notice("1", "k", "t", "1"))
	c.Quiet()
	before := map[string]notifytest.Subscription{}
	for _, sub := range []notifytest.Subscription{plain, changed, rotated, gone} {
		before[sub.ID] = notifytest.Get[notifytest.Subscription](c, "/v1/subscriptions/"+sub.ID)
	}
	restart()
	for id, want := range before {
		if got := notifytest.Get[notifytest.Subscription](c, "/v1/subscriptions/"+id); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("was %+v, is %+v", want, got)
		}
	}
	if before[gone.ID].Disabled == "" || before[rotated.ID].Secrets != 2 {
		t.Errorf("before: %+v", before)
	}
	if n := c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("2", "k", "t", "1"), notifytest.Notice("3", "k", "y.z", "1"), notifytest.Notice("4", "k", "x", "1"))).Deliveries; n != 8 {
		t.Errorf("%d deliveries, want 3 + 2 + 3", n)
	}
	c.Quiet()
	got := r.Sequences()
	for lane, want := range map[string]string{"/plain k": "[1 2 3 4]", "/new k": "[1 2 3]", "/rotated k": "[1 2 3 4]", "/gone k": "[]", "/old k": "[]"} {
		if have := fmt.Sprint(notifytest.Ids(notifytest.First(got[lane]))); have != want {
			t.Errorf("%s got %s, want %s", lane, have, want)
		}
	}
}

func lettersSurvive(t *testing.T, c *notifytest.Client, restart func()) {
	r, ill := notifytest.Ward(t)
	sub := c.Subscribe(r, "/a", nil)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series("n", 4, 2)...))
	c.Quiet()
	before := dead(c, "")
	c.Must(204, "DELETE", "/v1/dead/"+before[1].ID)
	restart()
	s := c.Quiet() // one that was killed may have to find out again that they are dead
	after := dead(c, "")
	if s.Dead != 4 || s.Purged != 1 || s.Of(sub.ID).Letters != 3 || len(after) != 3 {
		t.Fatalf("after the restart: %+v, %+v", s, after)
	}
	c.Must(404, "GET", "/v1/dead/"+before[1].ID)
	for i, was := range []letter{before[0], before[2], before[3]} {
		if l := after[i]; l.ID != was.ID || l.Seq != was.Seq || fmt.Sprint(l.Notice) != fmt.Sprint(was.Notice) || l.Attempts != was.Attempts || l.Status != was.Status {
			t.Errorf("was %+v, is %+v", was, l)
		}
	}
	ill.Store(false)
	for _, l := range after {
		c.Must(202, "POST", "/v1/dead/"+l.ID+"/replay")
	}
	if s := c.Quiet(); s.Delivered != 3 || s.Dead != 1 || s.Purged != 1 {
		t.Errorf("after replays: %+v", s)
	}
}

// replaySurvives restarts while a replayed letter is in flight.
func replaySurvives(t *testing.T, c *notifytest.Client, restart func()) {
	var state atomic.Int32
	r := notifytest.NewReceiver(t, staged(&state))
	c.Subscribe(r, "/a", nil)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series("n", 2, 1)...))
	c.Quiet()
	state.Store(1)
	c.Must(202, "POST", "/v1/dead/"+dead(c, "")[0].ID+"/replay")
	restart()
	state.Store(2)
	r.Release()
	if s := c.Quiet(); s.Accepted != 2 || s.Delivered != 1 || s.Dead != 1 || len(dead(c, "")) != 1 {
		t.Errorf("stats %+v, %+v", s, dead(c, ""))
	}
	if got := notifytest.Ids(notifytest.First(r.Sequences()["/a k0"])); !slices.Equal(got, []string{"n000"}) {
		t.Errorf("delivered %v", got)
	}
}

// deletingSurvives deletes a subscription that has both pending notices and dead letters.
func deletingSurvives(t *testing.T, c *notifytest.Client, restart func()) {
	var mu atomic.Bool // ill
	mu.Store(true)
	r := notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
		if h.Path == "/deleted" {
			if mu.Load() {
				return notifytest.Reply{Status: 500}
			}
			h.Wait()
		}
		return notifytest.Reply{Status: 200}
	})
	doomed := c.Subscribe(r, "/deleted", nil)
	c.Subscribe(r, "/stays", nil)
	c.Post(notifytest.One, notifytest.Notice("1", "k", "t", "1"))
	c.Quiet()
	mu.Store(false)
	c.Post(notifytest.One, notifytest.Notice("2", "k", "t", "1"))
	c.Must(204, "DELETE", "/v1/subscriptions/"+doomed.ID)
	servicetest.Await(t, func() string { return "the other subscription" }, func() bool { return c.Stats().Pending == 0 })
	before := c.Sums()
	restart()
	s := c.Quiet()
	if s.Accepted != 4 || s.Dead != 2 || s.Delivered != 2 || len(s.Subscriptions) != 1 || len(dead(c, "")) != 0 {
		t.Errorf("before %+v, after %+v", before, s)
	}
	c.Must(404, "GET", "/v1/subscriptions/"+doomed.ID)
	if n := c.Post(notifytest.One, notifytest.Notice("3", "k", "t", "1")).Deliveries; n != 1 {
		t.Errorf("%d deliveries", n)
	}
	c.Quiet()
}
