package notifytest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// attemptsSurvive stops a program twice while an attempt is in flight. The attempts that failed
// before count on; those that were broken off may or may not.
func attemptsSurvive(t *testing.T, start Start) {
	const failed, brokenOff = 2, 2
	var stopped atomic.Bool
	c, r := open(t, start, limits.brief()), newReceiver(t, func(h hook) reply {
		if h.try > failed && !stopped.Load() {
			h.wait()
		}
		return reply{status: 500}
	})
	c.subscribe(r, "/a", nil)
	c.post(one, notice("1", "k", "t", "1"))
	for i := range brokenOff {
		await(t, func() string { return "an attempt after those that failed" }, func() bool { return r.attempts("/a", "1") == failed+i+1 })
		if left := c.stop(); left != 1 {
			t.Errorf("%d left", left)
		}
		c.run()
	}
	stopped.Store(true)
	r.release()
	s := c.quiet()
	if n := r.attempts("/a", "1"); n > limits.Attempts+brokenOff || s.Dead != 1 {
		t.Errorf("%d attempts of %d, and %d were broken off; stats %+v", n, limits.Attempts, brokenOff, s)
	}
	if l := c.dead(""); len(l) != 1 || l[0].Attempts != limits.Attempts {
		t.Errorf("dead letters %+v", l)
	}
}

// countsSurvive holds that a stop changes no count.
func countsSurvive(t *testing.T, start Start) {
	r, ill := ward(t)
	c := open(t, start, limits.brief())
	c.subscribe(r, "/a", nil)
	c.subscribe(r, "/well", nil)
	c.post(batch, lines(series("n", 10, 3)...))
	c.quiet()
	letters := c.dead("")
	c.must(204, "DELETE", "/v1/dead/"+letters[0].ID)
	ill.Store(false)
	c.must(202, "POST", "/v1/dead/"+letters[1].ID+"/replay")
	before := c.quiet()
	for i := range 2 {
		c.restart(false)
		after := c.sums()
		for _, was := range append(before.Subscriptions, before.row) {
			is := after.row
			if was.ID != "" {
				is = after.of(was.ID)
			}
			was.State, is.State = "", "" // it is not known until the next webhook
			if is != was {
				t.Errorf("restart %d: was %+v, is %+v", i+1, was, is)
			}
		}
	}
}

// survivesKills kills a program again and again while clients post. What was acknowledged arrives,
// in order per key; what was not may arrive.
func survivesKills(t *testing.T, start Start) {
	l := limits
	l.Attempts = 1000
	c, r := open(t, start, l), newReceiver(t, flaky)
	if c.program.Kill == nil {
		t.Skip("this program cannot be killed in a test")
	}
	c.subscribe(r, "/a", nil)
	c.subscribe(r, "/b", map[string]any{"batch": 5})
	const rounds, clients, keys = 4, 3, 2
	var mu sync.Mutex
	acknowledged := map[string][]string{} // by lane
	for round := range rounds {
		var posting sync.WaitGroup
		var posts atomic.Int64
		for p := range clients {
			posting.Go(func() {
				for i := 0; ; i++ {
					var ns []string
					for k := range keys {
						ns = append(ns, notice(fmt.Sprintf("%d-%d-%05d-%d", round, p, i, k), fmt.Sprintf("p%d-k%d", p, k), "t", "1"))
					}
					resp, data, err := c.send("POST", "/v1/notices", batch, lines(ns...), nil)
					if err != nil || resp.StatusCode == 503 {
						return // it was killed
					}
					got, err := readTaken(resp.StatusCode, data)
					if err != nil {
						t.Error(err)
						return
					}
					posts.Add(1)
					mu.Lock()
					for k, n := range got.Notices {
						for _, path := range []string{"/a", "/b"} {
							lane := fmt.Sprintf("%s p%d-k%d", path, p, k)
							acknowledged[lane] = append(acknowledged[lane], n.ID)
						}
					}
					mu.Unlock()
				}
			})
		}
		enough := 20 + rand.Int64N(20)
		await(t, func() string { return "posts to be acknowledged" }, func() bool { return posts.Load() > enough })
		c.running = false
		c.program.Kill()
		posting.Wait()
		c.run()
	}
	s := c.quiet()
	got, owed := r.sequences(), 0
	for lane, want := range acknowledged {
		have := ids(first(got[lane]))
		owed += len(want)
		if !slices.IsSorted(have) {
			t.Errorf("%s: out of order: %v", lane, have)
		}
		for _, id := range want {
			if !slices.Contains(have, id) {
				t.Errorf("%s: %s was acknowledged and did not come", lane, id)
			}
		}
	}
	if s.Accepted < owed || s.Dead != 0 {
		t.Errorf("%d deliveries were acknowledged; stats %+v", owed, s)
	}
}
