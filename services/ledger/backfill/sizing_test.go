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

func TestSizesFollowTheP95(t *testing.T) {
	now := begin
	p := made(ShardConfig{Gap: gap(1, 1_000_000), Size: 4, Adaptive: true, Timeout: 800 * time.Millisecond, Window: 1000, Fetches: 5})
	for _, c := range []struct {
		name string
		each time.Duration
		want int
	}{
		{"to the target", 10 * time.Millisecond, 20},
		{"servers are slower", 50 * time.Millisecond, 4},
		{"much slower than the target", time.Second, 1},
		{"fast", time.Millisecond, 100}, // a tenth of the window, not 200
		{"immediate", 0, 100},
	} {
		work(t, p, &now, 200, c.each)
		if s := p.Stats(); s.Size != c.want {
			t.Errorf("%s: shards of %d, want %d", c.name, s.Size, c.want)
		}
		if want := time.Duration(c.want) * c.each; p.Stats().P95 != want {
			t.Errorf("%s: P95 is %v, want %v", c.name, p.Stats().P95, want)
		}
	}
}

func TestFixedSizesStay(t *testing.T) {
	now := begin
	p := made(ShardConfig{Gap: gap(1, 1_000_000), Size: 7})
	work(t, p, &now, 100, time.Second)
	p.Failed(next(t, p, now), 1_000_000, "A", now.Add(time.Hour))
	if s := p.Stats(); s.Size != 7 || s.P95 != 7*time.Second {
		t.Errorf("%+v", s)
	}
}

// A time-out halves the size; the time-outs of shards that were in flight together with it do not.
func TestTimeoutsHalve(t *testing.T) {
	p := made(ShardConfig{Gap: gap(1, 1_000_000), Size: 64, Adaptive: true, Window: 2048})
	a, b, c := next(t, p, begin), next(t, p, begin), next(t, p, begin)
	p.Failed(a, a.To, "A", begin.Add(time.Millisecond)) // immediately: that is not about size
	if s := p.Stats(); s.Size != 64 {
		t.Errorf("shards of %d", s.Size)
	}
	p.Failed(b, b.To, "A", begin.Add(8*time.Second))
	p.Failed(c, c.To, "A", begin.Add(8*time.Second))
	if s := p.Stats(); s.Size != 32 {
		t.Errorf("shards of %d, want 32", s.Size)
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
	if d := p.sizer.shards[0]; d != 20*time.Millisecond || p.sizer.n != 1 {
		t.Errorf("%d shards are measured, the first with %v", p.sizer.n, d)
	}
}

// The duration of a shard that failed in between does not count.
func TestFailedShardsAreNoMeasure(t *testing.T) {
	p := made(ShardConfig{Gap: gap(1, 100), Size: 2})
	s := next(t, p, begin)
	p.Asking(s, begin)
	p.Failed(s, 99, "A", begin)
	p.Arrived(100, begin)
	if p.sizer.n != 0 {
		t.Error("counted")
	}
}
