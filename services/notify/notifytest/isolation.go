package notifytest

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	others  = 1000 // notices for subscribers that are well
	workers = 8
)

// neighbours posts notices of type "bad", one a key, for one subscriber and the rest for others,
// and returns when these have received all of theirs.
func (c *client) neighbours(r *receiver, bad int) {
	c.t.Helper()
	for i := range 4 {
		c.subscribe(r, fmt.Sprintf("/well%d", i), map[string]any{"types": []string{"good"}})
	}
	var ns []string
	for i := range bad {
		ns = append(ns, notice(fmt.Sprintf("bad%04d", i), fmt.Sprintf("b%d", i), "bad", "1"))
	}
	c.post(batch, lines(ns...))
	ns = nil
	for i := range others / 4 {
		ns = append(ns, notice(fmt.Sprintf("good%04d", i), fmt.Sprintf("g%d", i%50), "good", "1"))
	}
	c.post(batch, lines(ns...))
	came := 0
	await(c.t,

		func() string { return fmt.Sprintf("%d notices to get past a bad subscriber; %d came", others, came) }, func() bool {
			came = 0
			for _, h := range r.hooks() {
				if strings.HasPrefix(h.path, "/well") {
					came += len(h.notices)
				}
			}
			return came == others
		})

}

// alone are limits under which a bad subscriber could have all the workers, if it were let.
func alone() Limits {
	l := limits.brief()
	l.Workers, l.Timeout, l.Attempts = workers, time.Minute, 1000
	return l
}

func hangingAlone(t *testing.T, start Start) {
	c, r := open(t, start, alone()), newReceiver(t, func(h hook) reply {
		if h.path == "/hangs" {
			h.wait()
		}
		return reply{status: 200}
	})
	c.subscribe(r, "/hangs", map[string]any{"types": []string{"bad"}})
	c.neighbours(r, 500)
	if n := r.webhooks("/hangs"); n == 0 || n > 250 {
		t.Errorf("%d of 500 webhooks hang concurrently", n)
	}
	await(t, func() string { return "the others' deliveries to be counted" }, func() bool { return c.sums().Pending == 500 })
	r.release()
	if s := c.quiet(); s.Delivered != 500+others {
		t.Errorf("stats %+v", s)
	}
}

func holdsConcurrency(t *testing.T, start Start) {
	var mu sync.Mutex
	flying, worst := map[string]int{}, map[string]int{}
	count := func(path string, by int) {
		mu.Lock()
		defer mu.Unlock()
		flying[path] += by
		worst[path] = max(worst[path], flying[path])
	}
	patient := limits
	patient.Timeout = time.Minute // one that was given up may still be counted here when the next attempt is
	c, r := open(t, start, patient), newReceiver(t, func(h hook) reply {
		count(h.path, +1)
		defer count(h.path, -1)
		for range 100 {
			runtime.Gosched() // lets another in, if there is one
		}
		return reply{status: 200}
	})
	for _, n := range []int{1, 3} {
		c.subscribe(r, fmt.Sprintf("/%d", n), map[string]any{"concurrency": n})
	}
	c.post(batch, lines(series("n", 300, 60)...))
	if s := c.quiet(); s.Delivered != 600 || worst["/1"] != 1 || worst["/3"] > 3 {
		t.Errorf("in flight: %v; stats %+v", worst, s)
	}
}

// holdsRate asks for less than a webhook in a quarter of an hour.
func holdsRate(t *testing.T, start Start) {
	c, r := open(t, start, alone()), newReceiver(t, nil)
	c.subscribe(r, "/slow", map[string]any{"types": []string{"bad"}, "rate_per_s": 0.001})
	c.neighbours(r, 100)
	await(t, func() string { return "the first webhook" }, func() bool { return r.webhooks("/slow") > 0 })
	if n := r.webhooks("/slow"); n > 2 {
		t.Errorf("%d webhooks to a subscriber that wants 0.001 a second", n)
	}
	c.sums()
}

// throttles holds that an answer which asks for patience holds up all keys of its subscription, but
// for what was on its way.
func throttles(status int) test {
	return func(t *testing.T, start Start) {
		const inFlight = 4
		c, r := open(t, start, alone()), newReceiver(t, func(h hook) reply {
			if h.path == "/busy" {
				return reply{status, map[string]string{"Retry-After": "3600"}}
			}
			return reply{status: 200}
		})
		sub := c.subscribe(r, "/busy", map[string]any{"types": []string{"bad"}, "concurrency": inFlight})
		c.neighbours(r, 200)
		await(t, func() string { return "a throttled subscription" }, func() bool { return c.stats().of(sub.ID).State == "throttled" })
		if n := r.webhooks("/busy"); n == 0 || n > inFlight {
			t.Errorf("%d webhooks to a subscriber that asked for an hour of peace at the first, with %d in flight", n, inFlight)
		}
		if s := c.sums(); s.of(sub.ID).Pending != 200 {
			t.Errorf("stats %+v", s)
		}
	}
}

// breaksCircuit holds that a subscriber which fails every time is spared most of the attempts,
// though each is of another key.
func breaksCircuit(t *testing.T, start Start) {
	const keys = 1000
	l := alone()
	l.Backoff, l.MaxBackoff = time.Hour, time.Hour
	c, r := open(t, start, l), newReceiver(t, func(h hook) reply {
		if h.path == "/fails" {
			return reply{status: 500}
		}
		return reply{status: 200}
	})
	sub := c.subscribe(r, "/fails", map[string]any{"types": []string{"bad"}})
	c.neighbours(r, keys)
	await(t, func() string { return "a failing subscription" }, func() bool { return c.stats().of(sub.ID).State == "failing" })
	if n := r.webhooks("/fails"); n == 0 || n > keys/5 {
		t.Errorf("%d webhooks to a subscriber that fails every time; %d notices wait", n, keys)
	}
	if s := c.sums(); s.of(sub.ID).Pending != keys || s.Dead != 0 {
		t.Errorf("stats %+v", s)
	}
}
