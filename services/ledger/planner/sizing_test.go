package planner

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// work fetches and links shards one after the other, with the given time per ledger.
func work(t *testing.T, p *Planner, now *time.Time, shards int, each time.Duration) {
	t.Helper()
	for range shards {
		s := next(t, p, *now)
		for i := s.To; i >= s.From; i-- {
			p.Asking(s, i, "A", *now)
			*now = now.Add(each)
			p.Arrived(s, i, *now)
		}
		p.Advance(s.From)
	}
}

func TestSizesFollowTheP95(t *testing.T) {
	now := begin
	p := New(Config{Gap: gap(1, 1_000_000), Size: 4, Adaptive: true, Target: 200 * time.Millisecond, Window: 1000, Fetches: 5})
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
	p := New(Config{Gap: gap(1, 1_000_000), Size: 7})
	work(t, p, &now, 100, time.Second)
	p.Failed(next(t, p, now), 1_000_000, "A", now.Add(time.Hour))
	if s := p.Stats(); s.Size != 7 || s.P95 != 7*time.Second {
		t.Errorf("%+v", s)
	}
}

// A time-out halves the size; the time-outs of shards that were in flight together with it do not.
func TestTimeoutsHalve(t *testing.T) {
	p := New(Config{Gap: gap(1, 1_000_000), Size: 64, Adaptive: true, Window: 2048})
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

// warm is a planner that has measured 10 ms per ledger, with shards of 4.
func warm(t *testing.T, hedge bool) (*Planner, time.Time) {
	now := begin
	p := New(Config{Gap: gap(1, 1_000_000), Size: 4, Hedge: hedge, Window: 40})
	work(t, p, &now, 40, 10*time.Millisecond)
	return p, now
}

func TestSlowShardIsHedged(t *testing.T) {
	p, now := warm(t, true)
	s := next(t, p, now)
	take(p, now)
	p.Asking(s, s.To, "A", now.Add(time.Hour)) // the wait for its turn does not count
	now = now.Add(time.Hour)
	p.Arrived(s, s.To, now.Add(10*time.Millisecond))
	p.Asking(s, s.To-1, "B", now.Add(10*time.Millisecond))
	if got := take(p, now.Add(39*time.Millisecond)); got != "" {
		t.Error("too early:", got)
	}
	if wait := p.Wait(now.Add(39 * time.Millisecond)); wait != time.Millisecond {
		t.Errorf("wait %v", wait)
	}
	h := next(t, p, now.Add(40*time.Millisecond))
	if h.From != s.From || h.To != s.To-1 || !h.Hedge || h.Not != "B" {
		t.Errorf("%+v", h)
	}
	if got := take(p, now.Add(time.Minute)); got != "" {
		t.Error("twice:", got)
	}
	now = now.Add(50 * time.Millisecond)
	if !p.Arrived(h, s.To-1, now) || p.Arrived(s, s.To-1, now) || !p.Arrived(s, s.To-2, now) {
		t.Error("the first answer wins")
	}
	if p.Wants(h, s.To-2) || p.Wants(s, s.To-2) || !p.Wants(h, s.To-3) || !p.Wants(s, s.To-3) {
		t.Error("what either is still to bring")
	}
	// One may fail: the other is in flight.
	p.Failed(h, s.To-3, "C", now)
	if got := take(p, now); got != "" {
		t.Error("what the first is still at is handed out:", got)
	}
	p.Failed(s, s.To-3, "B", now)
	if got := take(p, now); got != fmt.Sprint(s.From, " not B") {
		t.Error(got, "want the last ledger of", s)
	}
	if got := p.Stats(); got.Hedges != 1 || got.Spare != 1 || got.Splits != 0 {
		t.Errorf("%+v", got)
	}
}

// The ledgers nearest to the top delay the most: a slow shard there comes before what failed below,
// and after what failed above; of two slow ones the higher is first, and the other follows.
func TestHedgesComeInOrder(t *testing.T) {
	p, now := warm(t, true)
	work(t, p, &now, 20, 10*time.Millisecond)
	var s [5]Shard
	for i := range s {
		s[i] = next(t, p, now)
		p.Asking(s[i], s[i].To, "A", now)
	}
	p.Failed(s[0], s[0].From, "A", now)
	p.Failed(s[3], s[3].From, "A", now)
	want := fmt.Sprint(s[0].From, " not A, ", s[1].Range, " hedge not A, ", s[2].Range, " hedge not A, ", s[3].From, " not A")
	p.Asking(s[4], s[4].From, "A", now)
	for i := s[4].From; i <= s[4].To; i++ {
		p.Arrived(s[4], i, now)
	}
	p.stats.Shards += 100
	if got := take(p, now.Add(time.Second)); !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

// A shard that began before the P95 was known is hedged as soon as it is known.
func TestHedgedOnceP95IsKnown(t *testing.T) {
	p := New(Config{Gap: gap(1, 1_000_000), Size: 1, Hedge: true})
	first, now := next(t, p, begin), begin
	p.Asking(first, first.To, "A", now)
	for range enough {
		s := next(t, p, now)
		p.Asking(s, s.To, "B", now)
		now = now.Add(10 * time.Millisecond)
		p.Arrived(s, s.To, now)
	}
	if s := next(t, p, now); s.Range != first.Range || s.Not != "A" {
		t.Errorf("%+v", s)
	}
}

// The duration of a shard that failed in between does not count.
func TestFailedShardsAreNoMeasure(t *testing.T) {
	p := New(Config{Gap: gap(1, 100), Size: 2})
	s := next(t, p, begin)
	p.Asking(s, 100, "A", begin)
	p.Failed(s, 99, "A", begin)
	p.Arrived(s, 100, begin)
	if p.sizer.n != 0 {
		t.Error("counted")
	}
}

func TestNotHedged(t *testing.T) {
	for name, c := range map[string]struct {
		hedge  bool
		asking bool
	}{"none": {false, true}, "before it began": {true, false}} {
		p, now := warm(t, c.hedge)
		s := next(t, p, now)
		take(p, now)
		if c.asking {
			p.Asking(s, s.To, "A", now)
		}
		if got := take(p, now.Add(time.Minute)); got != "" {
			t.Errorf("%s: %s", name, got)
		}
		if wait := p.Wait(now.Add(time.Minute)); wait != time.Second {
			t.Errorf("%s: wait %v", name, wait)
		}
	}
	p := New(Config{Gap: gap(1, 4), Hedge: true}) // the P95 is not known yet
	p.Asking(next(t, p, begin), 4, "A", begin)
	if got := take(p, begin.Add(time.Minute)); got != "" {
		t.Error(got)
	}
}

// When all servers are slow, a tenth of the shards is hedged.
func TestHedgesAreBounded(t *testing.T) {
	p, now := warm(t, true)
	for range 100 {
		for s, ok := p.Next(now); ok; s, ok = p.Next(now) {
			p.Asking(s, s.To, "A", now)
		}
		now = now.Add(time.Minute)
		for s, ok := p.Next(now); ok; s, ok = p.Next(now) {
			p.Asking(s, s.To, "B", now)
		}
		for _, f := range p.flights {
			for i := f.From; i <= f.To; i++ {
				p.Arrived(f.Shard, i, now)
			}
		}
		p.Advance(p.next + 1)
	}
	s := p.Stats()
	if share := float64(s.Hedges) / float64(s.Shards); share > 0.1 || share < 0.08 {
		t.Errorf("%d of %d shards are hedges", s.Hedges, s.Shards)
	}
}
