package backfill

import (
	"slices"
	"time"
)

const (
	recent     = 64 // last shards from which the P95 is computed: the fourth longest of them
	measure    = 8  // shards between two computations
	enough     = 16 // minimum of shards for a P95
	percentile = 95
)

// ShardStats counts what a planner has done.
type ShardStats struct {
	Shards  uint64        // shards handed out, including retries
	Retries uint64        // shards handed out again after Failed or Rejected
	Splits  uint64        // failed shards that were halved
	Spare   uint64        // ledgers that arrived a second time, or when they were no longer wanted
	Size    int           // ledgers of the next shard
	P95     time.Duration // of the duration of the last 64 complete shards; 0: too few yet
}

// Since adds what a planner did since before to others; Size and P95 are the planner's.
func (s ShardStats) Since(before, others ShardStats) ShardStats {
	s.Shards += others.Shards - before.Shards
	s.Retries += others.Retries - before.Retries
	s.Splits += others.Splits - before.Splits
	s.Spare += others.Spare - before.Spare
	return s
}

// Stats returns a snapshot.
func (p *planner) Stats() ShardStats {
	s := p.stats
	s.Size, s.P95 = p.sizer.size, p.sizer.whole
	return s
}

// sizer records how long shards take, and derives their size.
type sizer struct {
	size    int
	shards  [recent]time.Duration // duration of a shard
	ledgers [recent]time.Duration // its duration per ledger
	n       int                   // shards so far; the oldest are overwritten
	slowed  int                   // n when the size was last halved
	whole   time.Duration         // P95 per shard; 0: too few shards
}

func (p *planner) took(f *flight, now time.Time) {
	c := &p.sizer
	d := max(now.Sub(f.begun), 0)
	c.shards[c.n%recent], c.ledgers[c.n%recent] = d, d/time.Duration(f.ledgers)
	if c.n++; c.n%measure != 0 || c.n < enough {
		return
	}
	n := min(c.n, recent)
	c.whole = quantile(c.shards[:n])
	if p.c.Adaptive {
		// Ledgers of a shard are fetched one after the other, so its duration is about proportional
		// to their number. The size at most doubles or halves, in case it is not.
		each := max(quantile(c.ledgers[:n]), 1)
		want := int(min(p.c.target()/each, time.Duration(p.largest())))
		c.size = max(1, min(max(want, c.size/2), 2*c.size, p.largest()))
	}
}

// halve halves the size, once for all shards that were in flight together.
func (c *sizer) halve(adaptive bool) {
	if adaptive && c.n >= c.slowed {
		c.size = max(1, c.size/2)
		c.slowed = c.n + measure
	}
}

func quantile(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[(len(d)*percentile+99)/100-1]
}
