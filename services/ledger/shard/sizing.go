package shard

import (
	"slices"
	"time"
)

const (
	recent     = 64 // shards that a P95 is taken of: the fourth longest of them
	measure    = 8  // shards from one look at it to the next
	enough     = 16 // shards without which nothing is said of a P95
	percentile = 95
)

// Stats is what a planner did so far.
type Stats struct {
	Shards  uint64        // handed out, the next two too
	Retries uint64        // of what failed or was rejected
	Hedges  uint64        // of what took long
	Splits  uint64        // shards that failed and were halved
	Spare   uint64        // ledgers that came although they were there: the slower of two answers
	Size    int           // ledgers of the next shard
	P95     time.Duration // of the last 64 shards that came whole; 0: too few yet
}

// Since adds up what a planner did between two looks and what others did before; Size and P95 are the planner's.
func (s Stats) Since(before, others Stats) Stats {
	s.Shards += others.Shards - before.Shards
	s.Retries += others.Retries - before.Retries
	s.Hedges += others.Hedges - before.Hedges
	s.Splits += others.Splits - before.Splits
	s.Spare += others.Spare - before.Spare
	return s
}

// Stats is what the planner did so far.
func (p *Planner) Stats() Stats {
	s := p.stats
	s.Size, s.P95 = p.sizer.size, p.sizer.whole
	return s
}

// pace is how long shards take, and how large they are to be.
type sizer struct {
	size    int
	shards  [recent]time.Duration // a shard
	ledgers [recent]time.Duration // a ledger of one
	n       int                   // shards so far; the oldest are overwritten
	slowed  int                   // n when the size was halved last
	whole   time.Duration         // P95 of shards
	each    time.Duration         // P95 of a ledger of one; 0: too few
}

// took counts how long a flight was.
func (p *Planner) took(f *flight, now time.Time) {
	c := &p.sizer
	d := max(now.Sub(f.begun), 0)
	c.shards[c.n%recent], c.ledgers[c.n%recent] = d, d/time.Duration(f.ledgers)
	if c.n++; c.n%measure != 0 || c.n < enough {
		return
	}
	n := min(c.n, recent)
	c.whole, c.each = quantile(c.shards[:n]), max(quantile(c.ledgers[:n]), 1)
	p.nextHedge = time.Time{}
	if p.c.Sizing == Adaptive {
		// Ledgers of a shard are fetched one after the other, so its time goes with their number. It grows and
		// shrinks by half and double at most, in case that holds less well.
		want := int(min(p.c.Target/c.each, time.Duration(p.largest())))
		c.size = max(1, min(max(want, c.size/2), 2*c.size, p.largest()))
	}
}

// tooSlow halves the size, once for those shards that were under way together.
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
