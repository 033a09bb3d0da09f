package notifytest

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
)

// durable is a test of what outlives the process. restart ends the program, in one way or the
// other, and starts it again over the same folder: twice, since a start may write anew what it
// read.
type durable func(t *testing.T, c *client, restart func())

// restarts runs tests with a program that is stopped and with one that is killed.
func restarts(t *testing.T, start Start, tests map[string]durable) {
	for name, test := range tests {
		for _, kill := range []bool{false, true} {
			how := map[bool]string{false: "a stop", true: "a kill"}[kill]
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				c := open(t, start, limits.brief())
				if kill && c.program.Kill == nil {
					t.Skip("this program cannot be killed in a test")
				}
				test(t, c, func() {
					c.restart(kill)
					c.restart(kill)
				})
			})
		}
	}
}

// noticesSurvive restarts the program while everything is pending, some of it in flight.
func noticesSurvive(t *testing.T, c *client, restart func()) {
	r := newReceiver(t, held)
	c.subscribe(r, "/a", nil)
	c.subscribe(r, "/b", map[string]any{"batch": 3})
	c.post(one, notice("first", "k0", "u.v", "{\n \"a\" : 1.0 }"))
	last := c.post(batch, lines(series("n", 30, 3)...)).Notices[29].Seq
	restart()
	if s := c.stats(); s.Accepted != 62 || s.Seq != last {
		t.Errorf("after the restart: %+v", s)
	}
	if next := c.post(one, notice("last", "k0", "t", "1")).Seq; next != last+1 {
		t.Errorf("number %d after %d", next, last)
	}
	r.release()
	if s := c.quiet(); s.Delivered != 64 || s.Dead != 0 {
		t.Errorf("stats %+v", s)
	}
	got := r.sequences()
	for lane, want := range map[string]string{
		"k0": "first n000 n003 n006 n009 n012 n015 n018 n021 n024 n027 last", "k1": "n001 n004 n007 n010 n013 n016 n019 n022 n025 n028",
		"k2": "n002 n005 n008 n011 n014 n017 n020 n023 n026 n029",
	} {
		for _, path := range []string{"/a ", "/b "} {
			if have := fmt.Sprint(ids(first(got[path+lane]))); have != "["+want+"]" {
				t.Errorf("%s%s: %s, want %s", path, lane, have, want)
			}
		}
	}
	if n := got["/a k0"][0]; n.Payload != "{\n \"a\" : 1.0 }" || n.Type != "u.v" {
		t.Errorf("after the restart came %q", n.body)
	}
}

// detailsSurvive restarts the program before it delivers notices with a trace and with an
// Idempotency-Key.
func detailsSurvive(t *testing.T, c *client, restart func()) {
	r := newReceiver(t, held)
	c.subscribe(r, "/a", nil)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	header := http.Header{"Traceparent": {"00-" + trace + "-00f067aa0ba902b7-00"}, "Idempotency-Key": {"by-header"}}
	before := c.postWith(one, `{"key":"k","type":"t"}`, header)
	restart()
	if again := c.postWith(one, `{"key":"k","type":"t"}`, header); again.status != http.StatusOK || again.Seq != before.Seq {
		t.Errorf("before %+v, after %+v", before, again)
	}
	if got := c.refused(http.StatusConflict, one, notice("by-header", "k", "t", "1")); got.Field != "id" {
		t.Errorf("another notice with an id that was given in a header: %+v", got)
	}
	r.release()
	c.quiet()
	if got := r.hooks(); len(got) == 0 || got[0].notices[0].ID != "by-header" || traceOf(got[0]) != trace {
		t.Errorf("after the restart came %+v", got)
	}
}

// orderSurvives restarts twice while every webhook fails.
func orderSurvives(t *testing.T, c *client, restart func()) {
	c.limits.Attempts = 1000
	restart()
	r, ill := ward(t)
	c.subscribe(r, "/a", nil)
	for i := range 3 {
		c.post(batch, lines(series(fmt.Sprintf("%d-", i), 20, 4)...))
		await(t, func() string { return "an attempt" }, func() bool { return r.attempts("/a", "0-000") > i })
		if i < 2 {
			restart()
		}
	}
	ill.Store(false)
	if s := c.quiet(); s.Delivered != 60 {
		t.Errorf("stats %+v", s)
	}
	for lane, notices := range r.sequences() {
		if have := ids(first(notices)); !slices.IsSorted(have) || len(have) != 15 {
			t.Errorf("%s: %v", lane, have)
		}
	}
}

func subscriptionsSurvive(t *testing.T, c *client, restart func()) {
	r := newReceiver(t, gone)
	plain := c.subscribe(r, "/plain", nil)
	changed := c.subscribe(r, "/old", map[string]any{"types": []string{"x"}, "batch": 5})
	c.patch(changed.ID, map[string]any{"types": []string{"t", "y.*"}, "batch": 2, "url": r.url + "/new"})
	r.know("/new", changed.Secret)
	rotated := c.subscribe(r, "/rotated", nil)
	r.know("/rotated", rotated.Secret, c.patch(rotated.ID, map[string]any{"rotate_secret": true}).Secret)
	gone := c.subscribe(r, "/gone", nil)
	c.post(one, notice("1", "k", "t", "1"))
	c.quiet()
	before := map[string]subscription{}
	for _, sub := range []subscription{plain, changed, rotated, gone} {
		before[sub.ID] = get[subscription](c, "/v1/subscriptions/"+sub.ID)
	}
	restart()
	for id, want := range before {
		if got := get[subscription](c, "/v1/subscriptions/"+id); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("was %+v, is %+v", want, got)
		}
	}
	if before[gone.ID].Disabled == "" || before[rotated.ID].Secrets != 2 {
		t.Errorf("before: %+v", before)
	}
	if n := c.post(batch, lines(notice("2", "k", "t", "1"), notice("3", "k", "y.z", "1"), notice("4", "k", "x", "1"))).Deliveries; n != 8 {
		t.Errorf("%d deliveries, want 3 + 2 + 3", n)
	}
	c.quiet()
	got := r.sequences()
	for lane, want := range map[string]string{"/plain k": "[1 2 3 4]", "/new k": "[1 2 3]", "/rotated k": "[1 2 3 4]", "/gone k": "[]", "/old k": "[]"} {
		if have := fmt.Sprint(ids(first(got[lane]))); have != want {
			t.Errorf("%s got %s, want %s", lane, have, want)
		}
	}
}

func idsSurvive(t *testing.T, c *client, restart func()) {
	r := newReceiver(t, nil)
	c.subscribe(r, "/a", nil)
	before := c.post(batch, lines(series("n", 10, 2)...))
	c.quiet()
	restart()
	after := c.post(batch, lines(series("n", 11, 2)...))
	if after.Accepted != 1 || after.Duplicates != 10 || after.Notices[7].Seq != before.Notices[7].Seq || !after.Notices[7].Duplicate {
		t.Errorf("before %+v, after %+v", before, after)
	}
	for _, other := range []string{notice("n003", "k1", "t", `"other"`), notice("n003", "k0", "t", "3")} {
		c.refused(http.StatusConflict, one, other)
	}
	if s := c.quiet(); s.Accepted != 11 || s.Delivered != 11 {
		t.Errorf("stats %+v", s)
	}
}

func lettersSurvive(t *testing.T, c *client, restart func()) {
	r, ill := ward(t)
	sub := c.subscribe(r, "/a", nil)
	c.post(batch, lines(series("n", 4, 2)...))
	c.quiet()
	before := c.dead("")
	c.must(204, "DELETE", "/v1/dead/"+before[1].ID)
	restart()
	s := c.quiet() // one that was killed may have to find out again that they are dead
	after := c.dead("")
	if s.Dead != 4 || s.Purged != 1 || s.of(sub.ID).Letters != 3 || len(after) != 3 {
		t.Fatalf("after the restart: %+v, %+v", s, after)
	}
	c.must(404, "GET", "/v1/dead/"+before[1].ID)
	for i, was := range []letter{before[0], before[2], before[3]} {
		if l := after[i]; l.ID != was.ID || l.Seq != was.Seq || fmt.Sprint(l.Notice) != fmt.Sprint(was.Notice) || l.Attempts != was.Attempts || l.Status != was.Status {
			t.Errorf("was %+v, is %+v", was, l)
		}
	}
	ill.Store(false)
	for _, l := range after {
		c.must(202, "POST", "/v1/dead/"+l.ID+"/replay")
	}
	if s := c.quiet(); s.Delivered != 3 || s.Dead != 1 || s.Purged != 1 {
		t.Errorf("after replays: %+v", s)
	}
}

// replaySurvives restarts while a replayed letter is in flight.
func replaySurvives(t *testing.T, c *client, restart func()) {
	var state atomic.Int32
	r := newReceiver(t, staged(&state))
	c.subscribe(r, "/a", nil)
	c.post(batch, lines(series("n", 2, 1)...))
	c.quiet()
	state.Store(1)
	c.must(202, "POST", "/v1/dead/"+c.dead("")[0].ID+"/replay")
	restart()
	state.Store(2)
	r.release()
	if s := c.quiet(); s.Accepted != 2 || s.Delivered != 1 || s.Dead != 1 || len(c.dead("")) != 1 {
		t.Errorf("stats %+v, %+v", s, c.dead(""))
	}
	if got := ids(first(r.sequences()["/a k0"])); !slices.Equal(got, []string{"n000"}) {
		t.Errorf("delivered %v", got)
	}
}

// deletingSurvives deletes a subscription that has both pending notices and dead letters.
func deletingSurvives(t *testing.T, c *client, restart func()) {
	var mu atomic.Bool // ill
	mu.Store(true)
	r := newReceiver(t, func(h hook) reply {
		if h.path == "/deleted" {
			if mu.Load() {
				return reply{status: 500}
			}
			h.wait()
		}
		return reply{status: 200}
	})
	doomed := c.subscribe(r, "/deleted", nil)
	c.subscribe(r, "/stays", nil)
	c.post(one, notice("1", "k", "t", "1"))
	c.quiet()
	mu.Store(false)
	c.post(one, notice("2", "k", "t", "1"))
	c.must(204, "DELETE", "/v1/subscriptions/"+doomed.ID)
	await(t, func() string { return "the other subscription" }, func() bool { return c.stats().Pending == 0 })
	before := c.sums()
	restart()
	s := c.quiet()
	if s.Accepted != 4 || s.Dead != 2 || s.Delivered != 2 || len(s.Subscriptions) != 1 || len(c.dead("")) != 0 {
		t.Errorf("before %+v, after %+v", before, s)
	}
	c.must(404, "GET", "/v1/subscriptions/"+doomed.ID)
	if n := c.post(one, notice("3", "k", "t", "1")).Deliveries; n != 1 {
		t.Errorf("%d deliveries", n)
	}
	c.quiet()
}

// postsBetweenSurvive posts between restarts, while nothing is delivered.
func postsBetweenSurvive(t *testing.T, c *client, restart func()) {
	r := newReceiver(t, held)
	c.subscribe(r, "/a", nil)
	c.post(batch, lines(series("a", 10, 2)...))
	restart()
	c.post(batch, lines(series("b", 10, 2)...))
	restart()
	if s := c.sums(); s.Pending != 20 {
		t.Errorf("pending after the restarts: %+v", s)
	}
	if got := c.post(batch, lines(append(series("a", 1, 2), series("b", 1, 2)...)...)); got.Duplicates != 2 {
		t.Errorf("ids after the restarts: %+v", got)
	}
	r.release()
	if s := c.quiet(); s.Delivered != 20 || s.Seq != 20 {
		t.Errorf("stats %+v", s)
	}
	for lane, notices := range r.sequences() {
		if have := ids(first(notices)); !slices.IsSorted(have) || len(have) != 10 {
			t.Errorf("%s: delivered %v", lane, have)
		}
	}
}
