package backfill

import (
	"context"
	"errors"
	"testing"
	"time"

	"dyno/services/ledger/servers"
	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/xrpl"
)

// idle is a run with shards of one ledger and no fetchers.
func (w *world) idle(p *servers.Pool) *run {
	c := w.config(p, &keeper{}).ready()
	c.Watch = NewWatch()
	return &run{Config: c, gap: all, nextIndex: last, wake: make(chan struct{}, 1), linked: make(chan struct{}, 1),
		verified: map[uint32]*item{}, failures: map[uint32]*tries{}, planner: newPlanner(ShardConfig{Gap: all, Size: 1, Window: ledgers})}
}

// A wrong answer for a ledger that the other request has already brought is recorded as a fault,
// and is no failed attempt of the ledger.
func TestWrongTwinThatComesLate(t *testing.T) {
	w := newWorld(t)
	p := pool(t, w.server(t, sim.Config{}))
	for _, c := range []struct {
		name  string
		late  bool
		after func(r *run, it *item)
	}{
		{"not linked yet", false, func(*run, *item) {}},
		{"its twin is being stored", true, func(r *run, it *item) { r.accept(it) }},
		{"its twin is stored", true, func(r *run, it *item) { r.accept(it); r.advance(it.index) }},
		{"it was given up", true, func(r *run, it *item) { r.advance(it.index) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := w.idle(p)
			s, _ := r.planner.Next(time.Now())
			twin := twins(t, p, s, last)
			if c.late {
				it := twin()
				r.arrive(it)
				c.after(r, it)
			}
			before := blames(p)
			wrong := twin()
			from := wrong.from.Name()
			r.wrong(wrong, xrpl.ErrRoot)
			if len(r.failures) > 0 == c.late || (r.lastErr != nil) == c.late || r.planner.Idle(last) == c.late {
				t.Errorf("%d failures, %v, idle: %t", len(r.failures), r.lastErr, r.planner.Idle(last))
			}
			if n := blames(p)[from] - before[from]; n != 1 {
				t.Errorf("%d faults recorded", n)
			}
			if len(r.verified) > 0 {
				t.Errorf("%d answers stay", len(r.verified))
			}
		})
	}
}

// Refetched counts failed requests and wrong answers, and no requests that are no longer needed:
// the other of two was by the ledger's hash.
func TestRefetched(t *testing.T) {
	w := newWorld(t)
	p := pool(t, w.server(t, sim.Config{}))
	cut := &response.Error{Code: response.Cut, Err: errors.New("planned")}
	for _, c := range []struct {
		name string
		want uint64
		do   func(r *run, one, other *item)
	}{
		{"both bring it", 0, func(r *run, one, other *item) { r.arrive(one); r.arrive(other) }},
		{"one is wrong, the other was there", 0, func(r *run, one, other *item) { r.arrive(one); r.wrong(other, xrpl.ErrRoot) }},
		{"one is wrong", 1, func(r *run, one, _ *item) { r.wrong(one, xrpl.ErrRoot) }},
		{"one does not come, the other was there", 0, func(r *run, one, other *item) {
			r.arrive(one)
			r.failed(other.shard, last, &serverError{other.from, cut})
		}},
		{"it does not come", 1, func(r *run, one, _ *item) { r.failed(one.shard, last, &serverError{one.from, cut}) }},
		{"its time is over", 1, func(r *run, one, _ *item) {
			r.failed(one.shard, last, &serverError{one.from, context.DeadlineExceeded})
		}},
		{"no server was asked", 0, func(r *run, one, _ *item) { r.failed(one.shard, last, servers.ErrNoServer) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := w.idle(p)
			s, _ := r.planner.Next(time.Now())
			twin := twins(t, p, s, last)
			c.do(r, twin(), twin())
			if n := r.Watch.Refetched.Load(); n != c.want {
				t.Errorf("%d were asked for again, want %d", n, c.want)
			}
		})
	}
}

// twins returns a function that makes proved answers for a ledger, all from one server.
func twins(t *testing.T, p *servers.Pool, s shard, index uint32) func() *item {
	t.Helper()
	m, err := p.Acquire(t.Context(), index)
	if err != nil {
		t.Fatal(err)
	}
	m.Done(0, 0, nil)
	return func() *item {
		return &item{index: index, shard: s, answer: &response.Answer{}, from: m, proved: time.Now()}
	}
}
