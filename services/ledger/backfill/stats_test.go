package backfill

import (
	"testing"
	"time"
)

// work fetches and links shards one after the other, with the given time per ledger.
func work(t *testing.T, p *planner, now *time.Time, shards int, each time.Duration) {
	t.Helper()
	for range shards {
		s := next(t, p, *now)
		for i := s.To; i >= s.From; i-- {
			p.Asking(s, *now)
			*now = now.Add(each)
			p.Arrived(i, *now)
		}
		p.Advance(s.From)
	}
}

// Shards stay as large as they are, however long they take.
func TestP95OfShards(t *testing.T) {
	now := begin
	p := made(ShardConfig{Gap: gap(1, 1_000_000), Size: 7})
	for _, each := range []time.Duration{10 * time.Millisecond, time.Second, 0} {
		work(t, p, &now, 100, each)
		p.Failed(next(t, p, now), 1_000_000, "A")
		if s := p.Stats(); s.Size != 7 || s.P95 != 7*each {
			t.Errorf("%v a ledger: %+v", each, s)
		}
	}
}

// The clock of a shard starts when it asks a server: before, it waited for its turn.
func TestWaitForTurnIsNoMeasure(t *testing.T) {
	p := made(ShardConfig{Gap: gap(1, 100), Size: 2})
	s, asked := next(t, p, begin), begin.Add(time.Hour)
	p.Asking(s, asked)
	p.Arrived(100, asked.Add(10*time.Millisecond))
	p.Asking(s, asked.Add(10*time.Millisecond))
	p.Arrived(99, asked.Add(20*time.Millisecond))
	if d := p.took.last[0]; d != 20*time.Millisecond || p.took.n != 1 {
		t.Errorf("%d shards are measured, the first with %v", p.took.n, d)
	}
}

// The duration of a shard that failed in between does not count.
func TestFailedShardsAreNoMeasure(t *testing.T) {
	p := made(ShardConfig{Gap: gap(1, 100), Size: 2})
	s := next(t, p, begin)
	p.Asking(s, begin)
	p.Failed(s, 99, "A")
	p.Arrived(100, begin)
	if p.took.n != 0 {
		t.Error("counted")
	}
}
