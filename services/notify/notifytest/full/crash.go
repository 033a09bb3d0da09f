package full

import (
	"sync/atomic"
	"testing"

	"dyno/parts/servicetest"
	"dyno/services/notify/notifytest"
)

// attemptsSurvive stops a program twice while an attempt is in flight. The attempts that failed
// before count on; those that were broken off may or may not.
func attemptsSurvive(t *testing.T, start notifytest.Start) {
	const failed, brokenOff = 2, 2
	var stopped atomic.Bool
	c, r := notifytest.Open(t, start, notifytest.Usual.Brief()), notifytest.NewReceiver(t, func(h notifytest.Hook) notifytest.Reply {
		if h.Try > failed && !stopped.Load() {
			h.Wait()
		}
		return notifytest.Reply{Status: 500}
	})
	c.Subscribe(r, "/a", nil)
	c.Post(notifytest.One, notifytest.Notice("1", "k", "t", "1"))
	for i := range brokenOff {
		servicetest.Await(t, func() string { return "an attempt after those that failed" }, func() bool { return r.Attempts("/a", "1") == failed+i+1 })
		if left := c.Stop(); left != 1 {
			t.Errorf("%d left", left)
		}
		c.Run()
	}
	stopped.Store(true)
	r.Release()
	s := c.Quiet()
	if n := r.Attempts("/a", "1"); n > notifytest.Usual.Attempts+brokenOff || s.Dead != 1 {
		t.Errorf("%d attempts of %d, and %d were broken off; stats %+v", n, notifytest.Usual.Attempts, brokenOff, s)
	}
	if l := dead(c, ""); len(l) != 1 || l[0].Attempts != notifytest.Usual.Attempts {
		t.Errorf("dead letters %+v", l)
	}
}

// countsSurvive holds that a stop changes no count.
func countsSurvive(t *testing.T, start notifytest.Start) {
	r, ill := notifytest.Ward(t)
	c := notifytest.Open(t, start, notifytest.Usual.Brief())
	c.Subscribe(r, "/a", nil)
	c.Subscribe(r, "/well", nil)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series("n", 10, 3)...))
	c.Quiet()
	letters := dead(c, "")
	c.Must(204, "DELETE", "/v1/dead/"+letters[0].ID)
	ill.Store(false)
	c.Must(202, "POST", "/v1/dead/"+letters[1].ID+"/replay")
	before := c.Quiet()
	for i := range 2 {
		c.Restart(false)
		after := c.Sums()
		for _, was := range append(before.Subscriptions, before.Row) {
			is := after.Row
			if was.ID != "" {
				is = after.Of(was.ID)
			}
			was.State, is.State = "", "" // it is not known until the next webhook
			if is != was {
				t.Errorf("restart %d: was %+v, is %+v", i+1, was, is)
			}
		}
	}
}
