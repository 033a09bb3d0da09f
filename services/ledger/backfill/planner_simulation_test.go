package backfill

import (
	"slices"
	"testing"
	"time"

	"dyno/services/ledger/xrpl/history"
)

// fetcher fetches shards ledger by ledger.
type fetcher struct {
	s     shard
	index uint32    // requested ledger; 0: idle
	done  time.Time // when the answer arrives
}

// simulate fetches a gap with the given number of fetchers from two servers, on a simulated clock,
// and returns how long that takes. latency is that of an answer, by server (0, 1).
func simulate(t *testing.T, c ShardConfig, fetchers int, latency func(server int) time.Duration) (time.Duration, ShardStats) {
	t.Helper()
	p, now, linked := made(c), begin, c.Gap.To+1
	there := map[uint32]bool{}
	work := make([]fetcher, fetchers)
	turn := 0
	ask := func(f *fetcher) { // requests the next wanted ledger of the shard
		for f.index--; f.index >= f.s.From && f.index > 0; f.index-- {
			if p.Wants(f.s, f.index) {
				server := turn % 2
				if turn++; f.s.Not == server {
					server = 1 - server
				}
				p.Asking(f.s, now)
				f.done = now.Add(latency(server))
				return
			}
		}
		f.index = 0
	}
	for looks := 0; !p.Done(); looks++ {
		if looks > 100*c.Gap.Len() {
			t.Fatal("no end")
		}
		wake := now.Add(time.Hour)
		for i := range work {
			f := &work[i]
			for f.index == 0 {
				s, ok := p.Next(now)
				if !ok {
					break
				}
				f.s, f.index = s, s.To+1
				ask(f)
			}
			if f.index > 0 && f.done.Before(wake) {
				wake = f.done
			}
		}
		now = wake
		for i := range work {
			f := &work[i]
			if f.index == 0 || f.done.After(now) {
				continue
			}
			if p.Arrived(f.index, now) {
				there[f.index] = true
			}
			ask(f)
		}
		for there[linked-1] {
			linked--
			p.Advance(linked)
		}
	}
	return now.Sub(begin), p.Stats()
}

// Every fetcher gets shards while the window has room.
func TestFetchersShareTheWork(t *testing.T) {
	c := ShardConfig{Gap: history.Range{From: 1, To: 960}, Size: 4, Window: 512}
	var took []time.Duration
	for _, fetchers := range []int{1, 2, 4, 8, 16} {
		d, _ := simulate(t, c, fetchers, func(int) time.Duration { return 10 * time.Millisecond })
		took = append(took, d)
	}
	want := []time.Duration{9600 * time.Millisecond, 4800 * time.Millisecond, 2400 * time.Millisecond, 1200 * time.Millisecond, 600 * time.Millisecond}
	if !slices.Equal(took, want) {
		t.Errorf("%v, want %v", took, want)
	}
}
