package notifytest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
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
func (c *client) dead(query string) []letter {
	c.t.Helper()
	return get[letterPage](c, "/v1/dead"+query).Dead
}

// ward is a receiver that answers 500 while it is ill.
func ward(t testing.TB) (r *receiver, ill *atomic.Bool) {
	ill = new(atomic.Bool)
	ill.Store(true)
	return newReceiver(t, func(h hook) reply {
		if ill.Load() && !strings.HasPrefix(h.path, "/well") {
			return reply{status: 500}
		}
		return reply{status: 200}
	}), ill
}

func listsDead(t *testing.T, start Start) {
	r, _ := ward(t)
	c := open(t, start, limits)
	a, b := c.subscribe(r, "/a", nil), c.subscribe(r, "/b", nil)
	c.subscribe(r, "/well", nil)
	posted := c.post(batch, lines(series("n", 5, 2)...))
	s := c.quiet()
	if s.Dead != 10 || s.Delivered != 5 || s.of(a.ID).Letters != 5 || s.of(a.ID).Dead != 5 {
		t.Errorf("stats %+v", s)
	}
	all, of := c.dead(""), c.dead("?subscription="+b.ID)
	if len(all) != 10 || len(of) != 5 {
		t.Fatalf("%d dead letters, %d of one subscription", len(all), len(of))
	}
	for i, l := range of {
		n := posted.Notices[i]
		if l.ID != fmt.Sprintf("%s-%d", b.ID, n.Seq) || l.Subscription != b.ID || l.Seq != n.Seq || l.Notice.ID != n.ID || l.Notice.Type != "t" ||
			l.Reason == "" || l.Attempts != limits.Attempts || l.Status != 500 || l.Died.IsZero() || l.Size == 0 || l.Replaying || l.Notice.Payload != nil {
			t.Errorf("dead letter %d of %+v: %+v", i, n, l)
		}
	}
	if l := get[letter](c, "/v1/dead/"+of[3].ID); l.Seq != of[3].Seq || string(l.Notice.Payload) != "3" || l.Notice.Timestamp.IsZero() {
		t.Errorf("one letter: %+v", l)
	}
	seen, after := map[string]bool{}, ""
	for range 10 {
		page := get[letterPage](c, "/v1/dead?limit=3"+after)
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
		c.must(404, "GET", "/v1/dead/"+id)
		c.must(404, "POST", "/v1/dead/"+id+"/replay")
		c.must(404, "DELETE", "/v1/dead/"+id)
	}
}

// replays holds that a dead letter is pending while it is replayed, and gone when it is delivered.
func replays(t *testing.T, start Start) {
	var state atomic.Int32
	c, r := open(t, start, limits), newReceiver(t, staged(&state))
	sub := c.subscribe(r, "/a", nil)
	c.post(batch, lines(notice("1", "j", "t", `{"a": 1}`), notice("2", "k", "t", "2")))
	c.quiet()
	letters := c.dead("")
	state.Store(1)
	c.must(202, "POST", "/v1/dead/"+letters[0].ID+"/replay")
	await(t, func() string { return "a replay to arrive" }, func() bool { return r.attempts("/a", "1") == limits.Attempts+1 })
	if s, l := c.sums(), get[letter](c, "/v1/dead/"+letters[0].ID); s.Pending != 1 || s.Dead != 1 || !l.Replaying {
		t.Errorf("while it is replayed: %+v, %+v", s, l)
	}
	state.Store(2)
	r.release()
	s := c.quiet()
	if left := c.dead(""); s.Accepted != 2 || s.Delivered != 1 || s.Dead != 1 || len(left) != 1 || left[0].ID != letters[1].ID || s.of(sub.ID).Letters != 1 {
		t.Errorf("after a replay: %+v, %+v", s, left)
	}
	if got := r.sequences()["/a j"]; len(got) != 1 || got[0].Payload != `{"a": 1}` || got[0].ID != "1" {
		t.Errorf("delivered %+v", got)
	}
}

// replaysAgain holds that a replayed letter has all its attempts, dies again when they fail, and
// may be replayed again.
func replaysAgain(t *testing.T, start Start) {
	r, ill := ward(t)
	c := open(t, start, limits)
	c.subscribe(r, "/a", nil)
	c.post(one, notice("1", "k", "t", "1"))
	c.quiet()
	id := c.dead("")[0].ID
	c.must(202, "POST", "/v1/dead/"+id+"/replay")
	s := c.quiet()
	if l := c.dead(""); s.Dead != 1 || len(l) != 1 || l[0].ID != id || l[0].Replaying || r.attempts("/a", "1") != 2*limits.Attempts {
		t.Errorf("after %d attempts: %+v, %+v", r.attempts("/a", "1"), l, s)
	}
	ill.Store(false)
	c.must(202, "POST", "/v1/dead/"+id+"/replay")
	if s := c.quiet(); s.Delivered != 1 || s.Dead != 0 || len(c.dead("")) != 0 {
		t.Errorf("stats %+v", s)
	}
}

func purges(t *testing.T, start Start) {
	r, _ := ward(t)
	c := open(t, start, limits)
	sub := c.subscribe(r, "/a", nil)
	c.post(batch, lines(series("n", 3, 1)...))
	c.quiet()
	letters := c.dead("")
	c.must(204, "DELETE", "/v1/dead/"+letters[1].ID)
	for method, path := range map[string]string{"DELETE": "", "GET": "", "POST": "/replay"} {
		c.must(404, method, "/v1/dead/"+letters[1].ID+path)
	}
	if s := c.sums(); s.Dead != 3 || s.Purged != 1 || s.of(sub.ID).Letters != 2 || len(c.dead("")) != 2 {
		t.Errorf("stats %+v", s)
	}
	c.must(204, "DELETE", "/v1/subscriptions/"+sub.ID)
	if left := c.dead(""); len(left) != 0 {
		t.Errorf("dead letters of a deleted subscription: %+v", left)
	}
}
