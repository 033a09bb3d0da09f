package backfill

import (
	"testing"
	"time"

	"dyno/services/ledger/planner"
	"dyno/services/ledger/rippled/response"
	"dyno/services/ledger/serverpool"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/xrpl"
)

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
			r := &run{Config: Config{Watch: NewWatch(), WindowBytes: 1 << 20}, gap: all, nextIndex: last, wake: make(chan struct{}, 1), linked: make(chan struct{}, 1),
				verified: map[uint32]*item{}, failures: map[uint32]*tries{}, planner: planner.New(planner.Config{Gap: all, Size: 1})}
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

// twins returns a function that makes proved answers for a ledger, all from one server.
func twins(t *testing.T, p *serverpool.Pool, s planner.Shard, index uint32) func() *item {
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
