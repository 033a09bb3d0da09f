package backfill

import (
	"context"
	"errors"
	"testing"
	"time"

	"dyno/services/ledger/planner"
	"dyno/services/ledger/rippled/response"
	"dyno/services/ledger/serverpool"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// idle is a run with shards of one ledger and no fetchers.
func (w *world) idle(p *serverpool.Pool) *run {
	c := w.config(p, &keeper{}).withDefaults()
	c.Watch = NewWatch()
	return &run{Config: c, gap: all, nextIndex: last, wake: make(chan struct{}, 1), linked: make(chan struct{}, 1),
		verified: map[uint32]*item{}, failures: map[uint32]*tries{}, planner: planner.New(planner.Config{Gap: all, Size: 1})}
}

// hedged returns the top's shard and its hedge, which must not ask the shard's server.
func hedged(t *testing.T, r *run) (s, hedge planner.Shard) {
	t.Helper()
	m, err := r.Servers.Acquire(t.Context(), last)
	if err != nil {
		t.Fatal(err)
	}
	m.Done(0, 0, nil)
	s, _ = r.planner.Next(time.Now())
	r.planner.Asking(s, last, m, time.Now())
	return s, planner.Shard{Range: s.Range, ID: s.ID, Hedge: true, Not: m, Timeout: time.Minute}
}

// A hedge needs another server that has the ledger: a slow server is not asked twice.
func TestHedgeAsksAnotherServer(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		name   string
		others []string // what other servers have
		asked  bool
	}{
		{"one server", nil, false},
		{"the other lacks it", []string{"1000-1010"}, false},
		{"the other has it", []string{"1000-1023"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			sims := []*sim.Sim{w.server(t, sim.Config{})}
			for _, has := range c.others {
				complete, err := history.ParseSet(has)
				if err != nil {
					t.Fatal(err)
				}
				sims = append(sims, w.server(t, sim.Config{Complete: complete}))
			}
			p := pool(t, sims...)
			r := w.idle(p)
			_, hedge := hedged(t, r)
			before := p.Report()
			it := &item{index: last, shard: hedge, answer: &response.Answer{}}
			err := r.ask(t.Context(), it)
			for i, s := range p.Report() {
				if now := s.Requests - before[i].Requests; (now == 1) != (c.asked && s.Server != hedge.Not.(*serverpool.Member).Name()) {
					t.Errorf("%s was asked %d times", s.Server, now)
				}
			}
			if c.asked != (err == nil) || err != nil && !errors.Is(err, errNoOtherServer) {
				t.Errorf("%v", err)
			}
			if err != nil { // no server is at fault
				r.failed(hedge, last, err)
				if len(r.failures) > 0 || r.Watch.Refetched.Load() > 0 {
					t.Errorf("%d failures, %d fetched again", len(r.failures), r.Watch.Refetched.Load())
				}
			}
			r.Shards.Hedge = true
			if got := r.shards(all).Hedge; got != (len(sims) > 1) {
				t.Errorf("with %d servers hedges are %v", len(sims), got)
			}
		})
	}
}

// Refetched counts failed requests and wrong answers: neither hedges, nor requests that are no
// longer needed.
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
		{"one is wrong", 0, func(r *run, one, other *item) { r.arrive(one); r.wrong(other, xrpl.ErrRoot) }},
		{"one is wrong, the other under way", 1, func(r *run, one, _ *item) { r.wrong(one, xrpl.ErrRoot) }},
		{"both are wrong", 1, func(r *run, one, other *item) { r.wrong(one, xrpl.ErrRoot); r.wrong(other, xrpl.ErrRoot) }},
		{"one does not come", 0, func(r *run, one, other *item) {
			r.arrive(one)
			r.failed(other.shard, last, &serverError{other.from, cut})
		}},
		{"it does not come", 1, func(r *run, one, _ *item) { r.failed(one.shard, last, &serverError{one.from, cut}) }},
		{"its time is over", 1, func(r *run, one, _ *item) {
			r.failed(one.shard, last, &serverError{one.from, context.DeadlineExceeded})
		}},
		{"no server was asked", 0, func(r *run, one, _ *item) { r.failed(one.shard, last, serverpool.ErrNoServer) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := w.idle(p)
			s, _ := hedged(t, r)
			twin := twins(t, p, s, last)
			c.do(r, twin(), twin())
			if n := r.Watch.Refetched.Load(); n != c.want {
				t.Errorf("%d were asked for again, want %d", n, c.want)
			}
		})
	}
}
