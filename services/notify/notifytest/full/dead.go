package full

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"dyno/parts/servicetest"
	"dyno/services/notify/notifytest"
)

// letter is a dead letter as the API shows it.
type letter struct {
	ID, Subscription string
	Seq              uint64
	Notice           struct {
		ID, Key, Type string
		Timestamp     time.Time
		Payload       json.RawMessage
	}
	Reason    string
	Attempts  int
	Status    int
	Died      time.Time
	Size      int
	Replaying bool
}

type letterPage struct {
	Dead []letter
	Next string
}

// dead lists dead letters.
func dead(c *notifytest.Client, query string) []letter {
	c.T.Helper()
	return notifytest.Get[letterPage](c, "/v1/dead"+query).Dead
}

func listsDead(t *testing.T, start notifytest.Start) {
	r, _ := notifytest.Ward(t)
	c := notifytest.Open(t, start, notifytest.Usual)
	a, b := c.Subscribe(r, "/a", nil), c.Subscribe(r, "/b", nil)
	c.Subscribe(r, "/well", nil)
	posted := c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series("n", 5, 2)...))
	s := c.Quiet()
	if s.Dead != 10 || s.Delivered != 5 || s.Of(a.ID).Letters != 5 || s.Of(a.ID).Dead != 5 {
		t.Errorf("stats %+v", s)
	}
	all, of := dead(c, ""), dead(c, "?subscription="+b.ID)
	if len(all) != 10 || len(of) != 5 {
		t.Fatalf("%d dead letters, %d of one subscription", len(all), len(of))
	}
	for i, l := range of {
		n := posted.Notices[i]
		if l.ID != fmt.Sprintf("%s-%d", b.ID, n.Seq) || l.Subscription != b.ID || l.Seq != n.Seq || l.Notice.ID != n.ID || l.Notice.Type != "t" ||
			l.Reason == "" || l.Attempts != notifytest.Usual.Attempts || l.Status != 500 || l.Died.IsZero() || l.Size == 0 || l.Replaying || l.Notice.Payload != nil {
			t.Errorf("dead letter %d of %+v: %+v", i, n, l)
		}
	}
	if l := notifytest.Get[letter](c, "/v1/dead/"+of[3].ID); l.Seq != of[3].Seq || string(l.Notice.Payload) != "3" || l.Notice.Timestamp.IsZero() {
		t.Errorf("one letter: %+v", l)
	}
	seen, after := map[string]bool{}, ""
	for range 10 {
		page := notifytest.Get[letterPage](c, "/v1/dead?limit=3"+after)
		for _, l := range page.Dead {
			seen[l.ID] = true
		}
		if len(page.Dead) > 3 || page.Next == "" {
			break
		}
		after = "&after=" + page.Next
	}
	if len(seen) != 10 {
		t.Errorf("page by page: %v", seen)
	}
	for _, id := range []string{a.ID + "-0", a.ID + "-999999", "sub_x-1", "x", a.ID} {
		c.Must(404, "GET", "/v1/dead/"+id)
		c.Must(404, "POST", "/v1/dead/"+id+"/replay")
		c.Must(404, "DELETE", "/v1/dead/"+id)
	}
}

// replays holds that a dead letter is pending while it is replayed, and gone when it is delivered.
func replays(t *testing.T, start notifytest.Start) {
	var state atomic.Int32
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, staged(&state))
	sub := c.Subscribe(r, "/a", nil)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("1", "j", "t", `{"a": 1}`), notifytest.Notice("2", "k", "t", "2")))
	c.Quiet()
	letters := dead(c, "")
	state.Store(1)
	c.Must(202, "POST", "/v1/dead/"+letters[0].ID+"/replay")
	servicetest.Await(t, func() string { return "a replay to arrive" }, func() bool { return r.Attempts("/a", "1") == notifytest.Usual.Attempts+1 })
	if s, l := c.Sums(), notifytest.Get[letter](c, "/v1/dead/"+letters[0].ID); s.Pending != 1 || s.Dead != 1 || !l.Replaying {
		t.Errorf("while it is replayed: %+v, %+v", s, l)
	}
	state.Store(2)
	r.Release()
	s := c.Quiet()
	if left := dead(c, ""); s.Accepted != 2 || s.Delivered != 1 || s.Dead != 1 || len(left) != 1 || left[0].ID != letters[1].ID || s.Of(sub.ID).Letters != 1 {
		t.Errorf("after a replay: %+v, %+v", s, left)
	}
	if got := r.Sequences()["/a j"]; len(got) != 1 || got[0].Payload != `{"a": 1}` || got[0].ID != "1" {
		t.Errorf("delivered %+v", got)
	}
}

// replaysAgain holds that a replayed letter has all its attempts, dies again when they fail, and
// may be replayed again.
func replaysAgain(t *testing.T, start notifytest.Start) {
	r, ill := notifytest.Ward(t)
	c := notifytest.Open(t, start, notifytest.Usual)
	c.Subscribe(r, "/a", nil)
	c.Post(notifytest.One, notifytest.Notice("1", "k", "t", "1"))
	c.Quiet()
	id := dead(c, "")[0].ID
	c.Must(202, "POST", "/v1/dead/"+id+"/replay")
	s := c.Quiet()
	if l := dead(c, ""); s.Dead != 1 || len(l) != 1 || l[0].ID != id || l[0].Replaying || r.Attempts("/a", "1") != 2*notifytest.Usual.Attempts {
		t.Errorf("after %d attempts: %+v, %+v", r.Attempts("/a", "1"), l, s)
	}
	ill.Store(false)
	c.Must(202, "POST", "/v1/dead/"+id+"/replay")
	if s := c.Quiet(); s.Delivered != 1 || s.Dead != 0 || len(dead(c, "")) != 0 {
		t.Errorf("stats %+v", s)
	}
}

func purges(t *testing.T, start notifytest.Start) {
	r, _ := notifytest.Ward(t)
	c := notifytest.Open(t, start, notifytest.Usual)
	sub := c.Subscribe(r, "/a", nil)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series("n", 3, 1)...))
	c.Quiet()
	letters := dead(c, "")
	c.Must(204, "DELETE", "/v1/dead/"+letters[1].ID)
	for method, path := range map[string]string{"DELETE": "", "GET": "", "POST": "/replay"} {
		c.Must(404, method, "/v1/dead/"+letters[1].ID+path)
	}
	if s := c.Sums(); s.Dead != 3 || s.Purged != 1 || s.Of(sub.ID).Letters != 2 || len(dead(c, "")) != 2 {
		t.Errorf("stats %+v", s)
	}
	c.Must(204, "DELETE", "/v1/subscriptions/"+sub.ID)
	if left := dead(c, ""); len(left) != 0 {
		t.Errorf("dead letters of a deleted subscription: %+v", left)
	}
}
