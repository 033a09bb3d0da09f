package notifytest

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// keepsOrder posts from several clients, each with keys of its own, to a receiver that often fails.
func keepsOrder(t *testing.T, start Start) {
	l := limits
	l.Attempts = 100
	c, r := open(t, start, l), newReceiver(t, func(h hook) reply {
		if rand.IntN(4) == 0 {
			return reply{status: []int{500, 503, 404, 302}[rand.IntN(4)]}
		}
		return reply{status: 200}
	})
	c.subscribe(r, "/a", nil)
	c.subscribe(r, "/b", map[string]any{"batch": 7})
	const clients, keys, each = 4, 5, 15
	var posting sync.WaitGroup
	for p := range clients {
		posting.Go(func() {
			for i := range each {
				var ns []string
				for k := range keys {
					ns = append(ns, notice(fmt.Sprintf("p%d-k%d-%03d", p, k, i), fmt.Sprintf("p%d-k%d", p, k), "t", "1"))
				}
				c.post(batch, lines(ns...))
			}
		})
	}
	posting.Wait()
	s := c.quiet()
	if s.Delivered != 2*clients*keys*each || s.Retried == 0 {
		t.Errorf("stats %+v", s)
	}
	got := r.sequences()
	if len(got) != 2*clients*keys {
		t.Fatalf("%d lanes, want %d", len(got), 2*clients*keys)
	}
	for lane, notices := range got {
		if have := ids(notices); !slices.IsSorted(have) || len(have) != each {
			t.Errorf("%s: %v", lane, have)
		}
	}
}

// oneInFlight watches, at the receiver, how many webhooks carry one key concurrently.
func oneInFlight(t *testing.T, start Start) {
	var mu sync.Mutex
	flying, worst := map[string]int{}, 0 // webhooks that carry a key
	count := func(h hook, by int) {
		mu.Lock()
		defer mu.Unlock()
		keys := map[string]bool{}
		for _, n := range h.notices {
			keys[n.Key] = true
		}
		for key := range keys {
			flying[key] += by
			worst = max(worst, flying[key])
		}
	}
	c, r := open(t, start, limits), newReceiver(t, func(h hook) reply {
		count(h, +1)
		defer count(h, -1)
		runtime.Gosched() // lets another in, if there is one
		return reply{status: 200}
	})
	c.subscribe(r, "/a", map[string]any{"batch": 3})
	var ns []string
	for i := range 600 {
		ns = append(ns, notice(fmt.Sprintf("%03d", i), fmt.Sprintf("k%d", i%3), "t", "1"))
	}
	c.post(batch, lines(ns...))
	c.quiet()
	if worst != 1 {
		t.Errorf("%d webhooks with one key in flight concurrently", worst)
	}
}

// keysDoNotBlock holds some keys of one subscriber and wants everything else delivered meanwhile,
// and two keys in flight at the same time.
func keysDoNotBlock(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, func(h hook) reply {
		if strings.HasPrefix(h.notices[0].Key, "slow") {
			h.wait()
		}
		return reply{status: 200}
	})
	c.subscribe(r, "/a", nil)
	c.subscribe(r, "/b", nil)
	warm := c.warm()
	var ns []string
	for i := range 4 {
		ns = append(ns, notice(fmt.Sprintf("s%d", i), fmt.Sprintf("slow%d", i%2), "t", "1"))
	}
	for i := range 200 {
		ns = append(ns, notice(fmt.Sprintf("f%03d", i), fmt.Sprintf("k%d", i%20), "t", "1"))
	}
	c.post(batch, lines(ns...))
	var s stats
	await(t,

		func() string { return fmt.Sprintf("200 notices to get past 2 held keys at two subscribers: %+v", s) }, func() bool {
			s = c.stats()
			return s.Delivered == warm+400
		})

	if s := c.sums(); s.Pending != 8 {
		t.Errorf("while 2 keys are held: %+v", s)
	}
	r.release()
	c.quiet()
	if got := r.sequences()["/b slow1"]; !slices.Equal(ids(got), []string{"s1", "s3"}) {
		t.Errorf("held key: %v", ids(got))
	}
}

// givesUp holds that a notice which the receiver always refuses is dead after its attempts, and
// that its key goes on.
func givesUp(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, func(h hook) reply {
		if h.notices[0].ID == "poison" {
			return reply{status: 500}
		}
		return reply{status: 200}
	})
	c.subscribe(r, "/a", nil)
	c.post(batch, lines(notice("1", "k", "t", "1"), notice("poison", "k", "t", "1"), notice("2", "k", "t", "1")))
	s := c.quiet()
	if s.Delivered != 2 || s.Dead != 1 || s.Retried != limits.Attempts-1 || r.attempts("/a", "poison") != limits.Attempts {
		t.Errorf("%d attempts, %+v", r.attempts("/a", "poison"), s)
	}
	if got := ids(r.sequences()["/a k"]); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("delivered %v", got)
	}
}

// honoursRetryAfter holds that the second attempt comes no sooner than the receiver asked.
func honoursRetryAfter(t *testing.T, start Start) {
	var mu sync.Mutex
	var notBefore time.Time
	c, r := open(t, start, limits), newReceiver(t, func(h hook) reply {
		mu.Lock()
		defer mu.Unlock()
		if h.try == 1 {
			notBefore = time.Now().Add(time.Second)
			return reply{429, map[string]string{"Retry-After": "1"}}
		}
		if early := time.Until(notBefore); early > 0 {
			t.Errorf("attempt %d came %v early", h.try, early)
		}
		return reply{status: 200}
	})
	c.subscribe(r, "/a", nil)
	c.post(one, notice("1", "a", "t", "1"))
	if s := c.quiet(); s.Delivered != 1 || s.Retried != 1 {
		t.Errorf("stats %+v", s)
	}
}

func goneDisables(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, gone)
	sub := c.subscribe(r, "/gone", nil)
	c.subscribe(r, "/here", nil)
	c.post(batch, lines(notice("1", "k", "t", "1"), notice("2", "k", "t", "1"), notice("3", "j", "t", "1")))
	if s := c.quiet(); s.Dead != 3 || s.Delivered != 3 {
		t.Errorf("stats %+v", s)
	}
	if got := get[subscription](c, "/v1/subscriptions/"+sub.ID); got.Disabled == "" || c.stats().of(sub.ID).State != "disabled" {
		t.Errorf("after 410: %+v, %+v", got, c.stats())
	}
	if n := len(c.dead("?subscription=" + sub.ID)); n != 3 {
		t.Errorf("%d dead letters, want all that was pending", n)
	}
	if n := c.post(one, notice("4", "k", "t", "1")).Deliveries; n != 1 {
		t.Errorf("%d deliveries, want 1: the other subscription's", n)
	}
	if s := c.quiet(); s.Accepted != 7 || r.attempts("/gone", "2") != 0 {
		t.Errorf("stats %+v, and %d attempts at what came after 410", s, r.attempts("/gone", "2"))
	}
}

func followsNoRedirect(t *testing.T, start Start) {
	l := limits
	l.Attempts = 2
	var r *receiver
	r = newReceiver(t, func(h hook) reply {
		if h.path == "/elsewhere" {
			t.Error("a redirect was followed")
		}
		return reply{307, map[string]string{"Location": r.url + "/elsewhere"}}
	})
	c := open(t, start, l)
	sub := c.subscribe(r, "/a", nil)
	r.know("/elsewhere", sub.Secret)
	c.post(one, notice("1", "k", "t", "1"))
	if s := c.quiet(); s.Dead != 1 || s.Retried != 1 {
		t.Errorf("stats %+v", s)
	}
}

// batches holds that a subscriber which asks for batches gets all of it, in order, in webhooks no
// larger than it asked for, and one which does not gets one notice per webhook.
func batches(t *testing.T, start Start) {
	c, r := open(t, start, limits), newReceiver(t, held)
	c.subscribe(r, "/ten", map[string]any{"batch": 10})
	c.subscribe(r, "/one", nil)
	var ns []string
	for i := range 500 {
		ns = append(ns, notice(fmt.Sprintf("%03d", i), fmt.Sprintf("k%d", i%50), "t", fmt.Sprint(i)))
	}
	c.post(batch, lines(ns...))
	r.release()
	c.quiet()
	seen := map[string]bool{}
	for _, h := range r.hooks() {
		if n := len(h.notices); h.path == "/one" && n != 1 || n > 10 {
			t.Errorf("%d notices in a webhook to %s", n, h.path)
		}
		if seen[h.path+h.id] {
			t.Errorf("two webhooks to %s have the id %s", h.path, h.id)
		}
		seen[h.path+h.id] = true
	}
	for lane, got := range r.sequences() {
		if have := ids(got); !slices.IsSorted(have) || len(have) != 10 {
			t.Errorf("%s: %v", lane, have)
		}
	}
}
