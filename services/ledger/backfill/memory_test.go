package backfill

import (
	"testing"
	"time"

	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"

	"pgregory.net/rapid"
)

// However little memory there is, and however long the Sink keeps ledgers, all arrive.
func TestLittleMemoryIsEnough(t *testing.T) {
	w := newWorld(t)
	liar := w.server(t, sim.Config{Faults: fault.Rates{fault.Flip: 0.1, fault.Fork: 0.1, fault.Cut: 0.05}})
	p := pool(t, w.server(t, sim.Config{}), liar)
	rapid.Check(t, func(rt *rapid.T) {
		k := keeper{hold: rapid.IntRange(0, 2*ledgers).Draw(rt, "hold")}
		c := w.config(p, &k)
		c.WindowBytes = rapid.Int64Range(1, 30_000).Draw(rt, "bytes")
		c.Fetches = rapid.IntRange(1, 8).Draw(rt, "fetches")
		c.Window = rapid.IntRange(1, 30).Draw(rt, "window")
		c.Shards = ShardConfig{Size: rapid.IntRange(1, 20).Draw(rt, "size")}
		if err := Run(t.Context(), c, all); err != nil {
			rt.Fatal(err)
		}
		k.holds(t, w, all)
	})
}

// While the Sink releases no ledger, each fetcher may have sent one request when memory is full;
// then only the next ledger to be linked is requested.
func TestBytesBoundWhatIsInFlight(t *testing.T) {
	w := newWorld(t)
	s := w.server(t, sim.Config{})
	p := pool(t, s)
	before := s.Injected().Answers
	const fetches = 2
	l := &looking{keeper: keeper{hold: 2 * ledgers}}
	l.look = func(index uint32) {
		answers := int(s.Injected().Answers - before)
		if most := int(last-index) + 2 + fetches; answers > most {
			t.Errorf("when ledger %d arrived %d had been answered, of at most %d", index, answers, most)
		}
	}
	c := w.config(p, l)
	c.WindowBytes, c.Fetches, c.Shards.Size = 1, fetches, 6
	if err := Run(t.Context(), c, all); err != nil {
		t.Fatal(err)
	}
	l.holds(t, w, all)
}

func TestFullMemoryHandsOutOnlyWhatIsDue(t *testing.T) {
	now := time.Now()
	gap := history.Range{From: 1, To: 100}
	r := &run{Config: Config{WindowBytes: 1000}, gap: gap, nextIndex: gap.To, wake: make(chan struct{}, 1), planner: newPlanner(ShardConfig{Gap: gap, Size: 10, Window: 100})}
	r.queue = make(chan *item, 4)
	it := &item{answer: &response.Answer{Bytes: 1000}}
	r.put(it)
	s, ok := r.next(now)
	if !ok || s.To != 100 {
		t.Fatalf("%+v: what is due is idle, and is handed out", s)
	}
	if s, ok := r.next(now); ok {
		t.Errorf("%+v is handed out", s)
	}
	if !r.room(100) || r.room(99) {
		t.Error("there is room for what is due, and no other")
	}
	r.planner.Failed(s, 100, nil)
	if s, ok := r.next(now); !ok || s.To != 100 {
		t.Errorf("%+v: what is due is idle once more", s)
	}
	r.recycle(it)
	if len(r.wake) != 1 || r.held.Load() != 0 {
		t.Errorf("no wake-up when there is room; %d bytes are held", r.held.Load())
	}
	if _, ok := r.next(now); !ok || !r.room(99) {
		t.Error("there is room")
	}
}

func TestLargeMemoryIsNotUsedAgain(t *testing.T) {
	for _, a := range []*response.Answer{{Bytes: pooled + 1}, {Ledger: xrpl.Ledger{Transactions: make([]xrpl.Transaction, 0, pooled/48+1)}}} {
		r := &run{Config: Config{WindowBytes: 1}, wake: make(chan struct{}, 1)}
		r.recycle(&item{answer: a})
		if got := r.answers.Get(); got != nil {
			t.Errorf("%d bytes, room for %d transactions: kept", a.Bytes, cap(a.Transactions))
		}
	}
}
