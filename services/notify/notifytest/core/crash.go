package core

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"dyno/parts/servicetest"
	"dyno/services/notify/notifytest"
)

// survivesKills kills a program again and again while clients post. What was acknowledged arrives,
// in order per key; what was not may arrive.
func survivesKills(t *testing.T, start notifytest.Start) {
	l := notifytest.Usual
	l.Attempts = 1000
	c, r := notifytest.Open(t, start, l), notifytest.NewReceiver(t, notifytest.Flaky)
	if c.Program.Kill == nil {
		t.Skip("this program cannot be killed in a test")
	}
	c.Subscribe(r, "/a", nil)
	c.Subscribe(r, "/b", map[string]any{"batch": 5})
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
						ns = append(ns, notifytest.Notice(fmt.Sprintf("%d-%d-%05d-%d", round, p, i, k), fmt.Sprintf("p%d-k%d", p, k), "t", "1"))
					}
					resp, data, err := c.Send("POST", "/v1/notices", notifytest.Batch, notifytest.Lines(ns...), nil)
					if err != nil || resp.StatusCode == 503 {
						return // it was killed
					}
					got, err := notifytest.ReadTaken(resp.StatusCode, data)
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
		servicetest.Await(t, func() string { return "posts to be acknowledged" }, func() bool { return posts.Load() > enough })
		c.Running = false
		c.Program.Kill()
		posting.Wait()
		c.Run()
	}
	s := c.Quiet()
	got, owed := r.Sequences(), 0
	for lane, want := range acknowledged {
		have := notifytest.Ids(notifytest.First(got[lane]))
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
