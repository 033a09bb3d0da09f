package full

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/parts/servicetest"
	"dyno/services/notify/notifytest"
)

const (
	others  = 1000 // notices for subscribers that are well
	workers = 8
)

// neighbours posts notices of type "bad", one a key, for one subscriber and the rest for others,
// and returns when these have received all of theirs.
func neighbours(c *notifytest.Client, r *notifytest.Receiver, bad int) {
	c.T.Helper()
	for i := range 4 {
		c.Subscribe(r, fmt.Sprintf("/well%d", i), map[string]any{"types": []string{"good"}})
	}
	var ns []string
	for i := range bad {
		ns = append(ns, notifytest.Notice(fmt.Sprintf("bad%04d", i), fmt.Sprintf("b%d", i), "bad", "1"))
	}
	c.Post(notifytest.Batch, notifytest.Lines(ns...))
	ns = nil
	for i := range others / 4 {
		ns = append(ns, notifytest.Notice(fmt.Sprintf("good%04d", i), fmt.Sprintf("g%d", i%50), "good", "1"))
	}
	c.Post(notifytest.Batch, notifytest.Lines(ns...))
	came := 0
	servicetest.Await(c.T, func() string { return fmt.Sprintf("%d notices to get past a bad subscriber; %d came", others, came) }, func() bool {
		came = 0
		for _, h := range r.Hooks() {
			if strings.HasPrefix(h.Path, "/well") {
				came += len(h.Notices)
			}
		}
		return came == others
	})

}

// alone are usual under which a bad subscriber could have all the workers, if it were let.
func alone() notifytest.Limits {
	l := notifytest.Usual.Brief()
	l.Workers, l.Timeout, l.Attempts = workers, time.Minute, 1000
	return l
}

func hangingAlone(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, alone()), notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
		if h.Path == "/hangs" {
			h.Wait()
		}
		return notifytest.Reply{Status: 200}
	})
	c.Subscribe(r, "/hangs", map[string]any{"types": []string{"bad"}})
	neighbours(c, r, 500)
	if n := r.Webhooks("/hangs"); n == 0 || n > 250 {
		t.Errorf("%d of 500 webhooks hang concurrently", n)
	}
	servicetest.Await(t, func() string { return "the others' deliveries to be counted" }, func() bool { return c.Sums().Pending == 500 })
	r.Release()
	if s := c.Quiet(); s.Delivered != 500+others {
		t.Errorf("stats %+v", s)
	}
}

func holdsConcurrency(t *testing.T, start notifytest.Start) {
	var mu sync.Mutex
	flying, worst := map[string]int{}, map[string]int{}
	count := func(path string, by int) {
		mu.Lock()
		defer mu.Unlock()
		flying[path] += by
		worst[path] = max(worst[path], flying[path])
	}
	patient := notifytest.Usual
	patient.Timeout = time.Minute // one that was given up may still be counted here when the next attempt is
	c, r := notifytest.Open(t, start, patient), notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
		count(h.Path, +1)
		defer count(h.Path, -1)
		for range 100 {
			runtime.Gosched() // lets another in, if there is one
		}
		return notifytest.Reply{Status: 200}
	})
	for _, n := range []int{1, 3} {
		c.Subscribe(r, fmt.Sprintf("/%d", n), map[string]any{"concurrency": n})
	}
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series("n", 300, 60)...))
	if s := c.Quiet(); s.Delivered != 600 || worst["/1"] != 1 || worst["/3"] > 3 {
		t.Errorf("in flight: %v; stats %+v", worst, s)
	}
}

// holdsRate asks for less than a webhook in a quarter of an hour.
func holdsRate(t *testing.T, start notifytest.Start) {
	c, r := notifytest.Open(t, start, alone()), notifytest.NewReceiver(t, nil)
	c.Subscribe(r, "/slow", map[string]any{"types": []string{"bad"}, "rate_per_s": 0.001})
	neighbours(c, r, 100)
	servicetest.Await(t, func() string { return "the first webhook" }, func() bool { return r.Webhooks("/slow") > 0 })
	if n := r.Webhooks("/slow"); n > 2 {
		t.Errorf("%d webhooks to a subscriber that wants 0.001 a second", n)
	}
	c.Sums()
}

// throttles holds that an answer which asks for patience holds up all keys of its
// subscription, but for what was on its way.
func throttles(status int) notifytest.Case {
	return func(t *testing.T, start notifytest.Start) {
		const inFlight = 4
		c, r := notifytest.Open(t, start, alone()), notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
			if h.Path == "/busy" {
				return notifytest.Reply{Status: status, Header: map[string]string{"Retry-After": "3600"}}
			}
			return notifytest.Reply{Status: 200}
		})
		sub := c.Subscribe(r, "/busy", map[string]any{"types": []string{"bad"}, "concurrency": inFlight})
		neighbours(c, r, 200)
		servicetest.Await(t, func() string { return "a throttled subscription" }, func() bool { return c.Stats().Of(sub.ID).State == "throttled" })
		if n := r.Webhooks("/busy"); n == 0 || n > inFlight {
			t.Errorf("%d webhooks to a subscriber that asked for an hour of peace at the first, with %d in flight", n, inFlight)
		}
		if s := c.Sums(); s.Of(sub.ID).Pending != 200 {
			t.Errorf("stats %+v", s)
		}
	}
}

// breaksCircuit holds that a subscriber which fails every time is spared most of the attempts,
// though each is of another key.
func breaksCircuit(t *testing.T, start notifytest.Start) {
	const keys = 1000
	l := alone()
	l.Backoff, l.MaxBackoff = time.Hour, time.Hour
	c, r := notifytest.Open(t, start, l), notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
		if h.Path == "/fails" {
			return notifytest.Reply{Status: 500}
		}
		return notifytest.Reply{Status: 200}
	})
	sub := c.Subscribe(r, "/fails", map[string]any{"types": []string{"bad"}})
	neighbours(c, r, keys)
	servicetest.Await(t, func() string { return "a failing subscription" }, func() bool { return c.Stats().Of(sub.ID).State == "failing" })
	if n := r.Webhooks("/fails"); n == 0 || n > keys/5 {
		t.Errorf("%d webhooks to a subscriber that fails every time; %d notices wait", n, keys)
	}
	if s := c.Sums(); s.Of(sub.ID).Pending != keys || s.Dead != 0 {
		t.Errorf("stats %+v", s)
	}
}
