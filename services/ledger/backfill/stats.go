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
	Size    int           // most ledgers of a shard
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
	s.Size, s.P95 = p.c.Size, p.took.p95
	return s
}

// durations are how long the last complete shards took.
type durations struct {
	last [recent]time.Duration
	n    int // shards so far; the oldest are overwritten
	p95  time.Duration
}

func (d *durations) add(took time.Duration) {
	d.last[d.n%recent] = took
	if d.n++; d.n%measure == 0 && d.n >= enough {
		all := slices.Clone(d.last[:min(d.n, recent)])
		slices.Sort(all)
		d.p95 = all[(len(all)*percentile+99)/100-1]
	}
}
