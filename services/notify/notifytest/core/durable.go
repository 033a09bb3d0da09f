package core

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"dyno/parts/servicetest"
	"dyno/services/notify/notifytest"
)

// noticesSurvive restarts the program while everything is pending, some of it in flight.
func noticesSurvive(t *testing.T, c *notifytest.Client, restart func()) {
	r := notifytest.NewReceiver(t, notifytest.Held)
	c.Subscribe(r, "/a", nil)
	c.Subscribe(r, "/b", map[string]any{"batch": 3})
	c.Post(notifytest.One, notifytest.Notice("first", "k0", "u.v", "{\n \"a\" : 1.0 }"))
	last := c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series("n", 30, 3)...)).Notices[29].Seq
	restart()
	if s := c.Stats(); s.Accepted != 62 || s.Seq != last {
		t.Errorf("after the restart: %+v", s)
	}
	if next := c.Post(notifytest.One, notifytest.Notice("last", "k0", "t", "1")).Seq; next != last+1 {
		t.Errorf("number %d after %d", next, last)
	}
	r.Release()
	if s := c.Quiet(); s.Delivered != 64 || s.Dead != 0 {
		t.Errorf("stats %+v", s)
	}
	got := r.Sequences()
	for lane, want := range map[string]string{
		"k0": "first n000 n003 n006 n009 n012 n015 n018 n021 n024 n027 last", "k1": "n001 n004 n007 n010 n013 n016 n019 n022 n025 n028",
		"k2": "n002 n005 n008 n011 n014 n017 n020 n023 n026 n029",
	} {
		for _, path := range []string{"/a ", "/b "} {
			if have := fmt.Sprint(notifytest.Ids(notifytest.First(got[path+lane]))); have != "["+want+"]" {
				t.Errorf("%s%s: %s, want %s", path, lane, have, want)
			}
		}
	}
	if n := got["/a k0"][0]; n.Payload != "{\n \"a\" : 1.0 }" || n.Type != "u.v" {
		t.Errorf("after the restart came %q", n.Body)
	}
}

// orderSurvives restarts twice while every webhook fails.
func orderSurvives(t *testing.T, c *notifytest.Client, restart func()) {
	c.Limits.Attempts = 1000
	restart()
	r, ill := notifytest.Ward(t)
	c.Subscribe(r, "/a", nil)
	for i := range 3 {
		c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series(fmt.Sprintf("%d-", i), 20, 4)...))
		servicetest.Await(t, func() string { return "an attempt" }, func() bool { return r.Attempts("/a", "0-000") > i })
		if i < 2 {
			restart()
		}
	}
	ill.Store(false)
	if s := c.Quiet(); s.Delivered != 60 {
		t.Errorf("stats %+v", s)
	}
	for lane, notices := range r.Sequences() {
		if have := notifytest.Ids(notifytest.First(notices)); !slices.IsSorted(have) || len(have) != 15 {
			t.Errorf("%s: %v", lane, have)
		}
	}
}

func idsSurvive(t *testing.T, c *notifytest.Client, restart func()) {
	r := notifytest.NewReceiver(t, nil)
	c.Subscribe(r, "/a", nil)
	before := c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series("n", 10, 2)...))
	c.Quiet()
	restart()
	after := c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series("n", 11, 2)...))
	if after.Accepted != 1 || after.Duplicates != 10 || after.Notices[7].Seq != before.Notices[7].Seq || !after.Notices[7].Duplicate {
		t.Errorf("before %+v, after %+v", before, after)
	}
	for _, other := range []string{notifytest.Notice("n003", "k1", "t", `"other"`), notifytest.Notice("n003", "k0", "t", "3")} {
		c.Refused(http.StatusConflict, notifytest.One, other)
	}
	if s := c.Quiet(); s.Accepted != 11 || s.Delivered != 11 {
		t.Errorf("stats %+v", s)
	}
}

// postsBetweenSurvive posts between restarts, while nothing is delivered.
func postsBetweenSurvive(t *testing.T, c *notifytest.Client, restart func()) {
	r := notifytest.NewReceiver(t, notifytest.Held)
	c.Subscribe(r, "/a", nil)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series("a", 10, 2)...))
	restart()
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series("b", 10, 2)...))
	restart()
	if s := c.Sums(); s.Pending != 20 {
		t.Errorf("pending after the restarts: %+v", s)
	}
	if got := c.Post(notifytest.Batch, notifytest.Lines(append(notifytest.Series("a", 1, 2), notifytest.Series("b", 1, 2)...)...)); got.Duplicates != 2 {
		t.Errorf("ids after the restarts: %+v", got)
	}
	r.Release()
	if s := c.Quiet(); s.Delivered != 20 || s.Seq != 20 {
		t.Errorf("stats %+v", s)
	}
	for lane, notices := range r.Sequences() {
		if have := notifytest.Ids(notifytest.First(notices)); !slices.IsSorted(have) || len(have) != 10 {
			t.Errorf("%s: delivered %v", lane, have)
		}
	}
}
