package full

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"dyno/services/notify/notifytest"
)

// honoursRetryAfter holds that the second attempt comes no sooner than the receiver asked.
func honoursRetryAfter(t *testing.T, start notifytest.Start) {
	var mu sync.Mutex
	var notBefore time.Time
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
		mu.Lock()
		defer mu.Unlock()
		if h.Try == 1 {
			notBefore = time.Now().Add(time.Second)
			return notifytest.Reply{Status: 429, Header: map[string]string{"Retry-After": "1"}}
		}
		if early := time.Until(notBefore); early > 0 {
			t.Errorf("attempt %d came %v early", h.Try, early)
		}
		return notifytest.Reply{Status: 200}
	})
	c.Subscribe(r, "/a", nil)
	c.Post(notifytest.One, notifytest.Notice("1", "a", "t", "1"))
	if s := c.Quiet(); s.Delivered != 1 || s.Retried != 1 {
		t.Errorf("stats %+v", s)
	}
}

func goneDisables(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, gone)
	sub := c.Subscribe(r, "/gone", nil)
	c.Subscribe(r, "/here", nil)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("1", "k", "t", "1"), notifytest.Notice("2", "k", "t", "1"), notifytest.Notice("3", "j", "t", "1")))
	if s := c.Quiet(); s.Dead != 3 || s.Delivered != 3 {
		t.Errorf("stats %+v", s)
	}
	if got := notifytest.Get[notifytest.Subscription](c, "/v1/subscriptions/"+sub.ID); got.Disabled == "" || c.Stats().Of(sub.ID).State != "disabled" {
		t.Errorf("after 410: %+v, %+v", got, c.Stats())
	}
	if n := len(dead(c, "?subscription="+sub.ID)); n != 3 {
		t.Errorf("%d dead letters, want all that was pending", n)
	}
	if n := c.Post(notifytest.One, notifytest.Notice("4", "k", "t", "1")).Deliveries; n != 1 {
		t.Errorf("%d deliveries, want 1: the other subscription's", n)
	}
	if s := c.Quiet(); s.Accepted != 7 || r.Attempts("/gone", "2") != 0 {
		t.Errorf("stats %+v, and %d attempts at what came after 410", s, r.Attempts("/gone", "2"))
	}
}

// batches holds that a subscriber which asks for batches gets all of it, in order, in webhooks no
// larger than it asked for, and one which does not gets one notice per webhook.
func batches(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, notifytest.Held)
	c.Subscribe(r, "/ten", map[string]any{"batch": 10})
	c.Subscribe(r, "/one", nil)
	var ns []string
	for i := range 500 {
		ns = append(ns, notifytest.Notice(fmt.Sprintf("%03d", i), fmt.Sprintf("k%d", i%50), "t", fmt.Sprint(i)))
	}
	c.Post(notifytest.Batch, notifytest.Lines(ns...))
	r.Release()
	c.Quiet()
	seen := map[string]bool{}
	for _, h := range r.Hooks() {
		if n := len(h.Notices); h.Path == "/one" && n != 1 || n > 10 {
			t.Errorf("%d notices in a webhook to %s", n, h.Path)
		}
		if seen[h.Path+h.Id] {
			t.Errorf("two webhooks to %s have the id %s", h.Path, h.Id)
		}
		seen[h.Path+h.Id] = true
	}
	for lane, got := range r.Sequences() {
		if have := notifytest.Ids(got); !slices.IsSorted(have) || len(have) != 10 {
			t.Errorf("%s: %v", lane, have)
		}
	}
}
