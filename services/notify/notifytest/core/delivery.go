package core

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"dyno/parts/servicetest"
	"dyno/services/notify/notifytest"
)

// keepsOrder posts from several clients, each with keys of its own, to a receiver that often fails.
func keepsOrder(t *testing.T, start notifytest.Start) {
	l := notifytest.Usual
	l.Attempts = 100
	c, r := notifytest.Open(t, start, l), notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
		if rand.IntN(4) == 0 {
			return notifytest.Reply{Status: []int{500, 503, 404, 302}[rand.IntN(4)]}
		}
		return notifytest.Reply{Status: 200}
	})
	c.Subscribe(r, "/a", nil)
	c.Subscribe(r, "/b", map[string]any{"batch": 7})
	const clients, keys, each = 4, 5, 15
	var posting sync.WaitGroup
	for p := range clients {
		posting.Go(func() {
			for i := range each {
				var ns []string
				for k := range keys {
					ns = append(ns, notifytest.Notice(fmt.Sprintf("p%d-k%d-%03d", p, k, i), fmt.Sprintf("p%d-k%d", p, k), "t", "1"))
				}
				c.Post(notifytest.Batch, notifytest.Lines(ns...))
			}
		})
	}
	posting.Wait()
	s := c.Quiet()
	if s.Delivered != 2*clients*keys*each || s.Retried == 0 {
		t.Errorf("stats %+v", s)
	}
	got := r.Sequences()
	if len(got) != 2*clients*keys {
		t.Fatalf("%d lanes, want %d", len(got), 2*clients*keys)
	}
	for lane, notices := range got {
		if have := notifytest.Ids(notices); !slices.IsSorted(have) || len(have) != each {
			t.Errorf("%s: %v", lane, have)
		}
	}
}

// oneInFlight watches, at the receiver, how many webhooks carry one key concurrently.
func oneInFlight(t *testing.T, start notifytest.Start) {
	var mu sync.Mutex
	flying, worst := map[string]int{}, 0 // webhooks that carry a key
	count := func(h notifytest.Hook, by int) {
		mu.Lock()
		defer mu.Unlock()
		keys := map[string]bool{}
		for _, n := range h.Notices {
			keys[n.Key] = true
		}
		for key := range keys {
			flying[key] += by
			worst = max(worst, flying[key])
		}
	}
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
		count(h, +1)
		defer count(h, -1)
		runtime.Gosched() // lets another in, if there is one
		return notifytest.Reply{Status: 200}
	})
	c.Subscribe(r, "/a", map[string]any{"batch": 3})
	var ns []string
	for i := range 600 {
		ns = append(ns, notifytest.Notice(fmt.Sprintf("%03d", i), fmt.Sprintf("k%d", i%3), "t", "1"))
	}
	c.Post(notifytest.Batch, notifytest.Lines(ns...))
	c.Quiet()
	if worst != 1 {
		t.Errorf("%d webhooks with one key in flight concurrently", worst)
	}
}

// keysDoNotBlock holds some keys of one subscriber and wants everything else delivered meanwhile,
// and two keys in flight at the same time.
func keysDoNotBlock(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
		if strings.HasPrefix(h.Notices[0].Key, "slow") {
			h.Wait()
		}
		return notifytest.Reply{Status: 200}
	})
	c.Subscribe(r, "/a", nil)
	c.Subscribe(r, "/b", nil)
	warm := c.Warm()
	var ns []string
	for i := range 4 {
		ns = append(ns, notifytest.Notice(fmt.Sprintf("s%d", i), fmt.Sprintf("slow%d", i%2), "t", "1"))
	}
	for i := range 200 {
		ns = append(ns, notifytest.Notice(fmt.Sprintf("f%03d", i), fmt.Sprintf("k%d", i%20), "t", "1"))
	}
	c.Post(notifytest.Batch, notifytest.Lines(ns...))
	var s notifytest.Stats
	servicetest.Await(t, func() string { return fmt.Sprintf("200 notices to get past 2 held keys at two subscribers: %+v", s) }, func() bool {
		s = c.Stats()
		return s.Delivered == warm+400
	})

	if s := c.Sums(); s.Pending != 8 {
		t.Errorf("while 2 keys are held: %+v", s)
	}
	r.Release()
	c.Quiet()
	if got := r.Sequences()["/b slow1"]; !slices.Equal(notifytest.Ids(got), []string{"s1", "s3"}) {
		t.Errorf("held key: %v", notifytest.Ids(got))
	}
}

// givesUp holds that a notice which the receiver always refuses is dead after its attempts, and
// that its key goes on.
func givesUp(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, notifytest.Usual), notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
		if h.Notices[0].ID == "poison" {
			return notifytest.Reply{Status: 500}
		}
		return notifytest.Reply{Status: 200}
	})
	c.Subscribe(r, "/a", nil)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("1", "k", "t", "1"), notifytest.Notice("poison", "k", "t", "1"), notifytest.Notice("2", "k", "t", "1")))
	s := c.Quiet()
	if s.Delivered != 2 || s.Dead != 1 || s.Retried != notifytest.Usual.Attempts-1 || r.Attempts("/a", "poison") != notifytest.Usual.Attempts {
		t.Errorf("%d attempts, %+v", r.Attempts("/a", "poison"), s)
	}
	if got := notifytest.Ids(r.Sequences()["/a k"]); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("delivered %v", got)
	}
}

func followsNoRedirect(t *testing.T, start notifytest.Start) {
	l := notifytest.Usual
	l.Attempts = 2
	var r *notifytest.Receiver
	r = notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
		if h.Path == "/elsewhere" {
			t.Error("a redirect was followed")
		}
		return notifytest.Reply{Status: 307, Header: map[string]string{"Location": r.URL + "/elsewhere"}}
	})
	c := notifytest.Open(t, start, l)
	sub := c.Subscribe(r, "/a", nil)
	r.Know("/elsewhere", sub.Secret)
	c.Post(notifytest.One, notifytest.Notice("1", "k", "t", "1"))
	if s := c.Quiet(); s.Dead != 1 || s.Retried != 1 {
		t.Errorf("stats %+v", s)
	}
}
