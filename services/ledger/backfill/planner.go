package backfill

import (
	"time"

	"dyno/services/ledger/xrpl/history"
)

// ShardConfig says how a gap is cut.
type ShardConfig struct {
	Size int `set:"shard_size" default:"4" min:"1" max:"4096" tune:"true" doc:"most ledgers of a shard, which are fetched one after the other; a server that answers in a quarter of the time limit brings 4"`

	Gap     history.Range
	Window  int           // ledgers in progress below the last linked one
	Timeout time.Duration // time limit of a shard
}

// shard is a range of ledgers to fetch, from To down to From. The caller must ask Wants for each,
// because it may have arrived in another way.
type shard struct {
	history.Range
	ID uint64
	// Not is a server to avoid unless no other has the ledgers: it failed them before. Nil: none.
	Not     any
	Timeout time.Duration // after it the caller must give the shard up, with Failed
}

// planner plans the download of a range of ledgers, the gap: which are requested next, and in what
// portions. It cuts the gap into shards from its top down, and halves a shard that failed.
// newPlanner makes it.
//
// It is pure: it does no I/O, starts no goroutines, and receives the time as an argument. The run's
// mu guards it. It does not choose servers (services/ledger/servers does that); it only says
// which server to avoid.
//
// A ledger's states are, in this order: uncut; loose (needs fetching, in no shard); in flight (in
// one shard); arrived (Arrived); linked (Advance). Failed and Rejected make it loose again. Ledgers
// that are cut and not linked are within ShardConfig.Window, which bounds the memory.
type planner struct {
	c       ShardConfig
	next    uint32             // the next ledger to cut; below the gap: all are cut
	linked  uint64             // the lowest linked ledger; Gap.To+1: none
	ledgers map[uint32]*ledger // cut and not linked: at most Window
	flights map[uint64]*flight // shards handed out that still have ledgers in flight
	pending []shard            // ranges with loose ledgers, highest last
	ids     uint64
	took    durations
	stats   ShardStats
}

type ledger struct {
	arrived bool    // Arrived was called for it
	loose   bool    // in no flight, and within a pending range
	holder  *flight // the flight that should bring it; nil: none
}

type flight struct {
	shard
	left   int       // ledgers still in flight
	begun  time.Time // when it was handed out, or first asked a server
	asked  bool      // it has asked a server
	failed bool      // Failed was called for it: what is left is answered, and being verified
}

// newPlanner makes the planner of a gap.
func newPlanner(c ShardConfig) *planner {
	p := &planner{c: c, next: c.Gap.To, linked: uint64(c.Gap.To) + 1, ledgers: map[uint32]*ledger{}, flights: map[uint64]*flight{}}
	p.c.Size = min(c.Size, c.Window)
	if c.Gap.Len() == 0 {
		p.next, p.linked = 0, 0
	}
	return p
}

// Next returns the shard to fetch now, the one nearest to the top first. False means that there is
// none until an event (Arrived, Failed, Rejected, Advance).
func (p *planner) Next(now time.Time) (shard, bool) {
	if s, ok := p.retry(); ok {
		p.stats.Retries++
		return p.hand(s, now), true
	}
	r, ok := p.cut()
	if !ok {
		return shard{}, false
	}
	for i := uint64(r.From); i <= uint64(r.To); i++ {
		p.ledgers[uint32(i)] = &ledger{loose: true}
	}
	return p.hand(shard{Range: r}, now), true
}

// cut takes the next range off the gap, if the window has room for a whole shard. It does not cut
// smaller shards for want of room: the window moves ledger by ledger, so all shards would soon have
// one ledger.
func (p *planner) cut() (history.Range, bool) {
	if p.next < p.c.Gap.From || p.next == 0 {
		return history.Range{}, false
	}
	low := p.c.Gap.From
	if bottom := int64(p.linked) - int64(p.c.Window); bottom > int64(low) {
		low = uint32(bottom)
	}
	from := max(int64(p.next)-int64(p.c.Size)+1, int64(p.c.Gap.From))
	if from < int64(low) {
		return history.Range{}, false
	}
	r := history.Range{From: uint32(from), To: p.next}
	p.next = r.From - 1
	return r, true
}

// retry takes the highest pending range that still has loose ledgers.
func (p *planner) retry() (shard, bool) {
	for n := len(p.pending); n > 0; n = len(p.pending) {
		s := p.pending[n-1]
		p.pending = p.pending[:n-1]
		if s.Range = p.loose(s.Range); s.Len() > 0 {
			return s, true
		}
	}
	return shard{}, false
}

// loose is the range from the lowest to the highest loose ledger in r.
func (p *planner) loose(r history.Range) (span history.Range) {
	for i := uint64(r.From); i <= uint64(r.To); i++ {
		if l := p.ledgers[uint32(i)]; l != nil && l.loose {
			if span.From == 0 {
				span.From = uint32(i)
			}
			span.To = uint32(i)
		}
	}
	return span
}

// hand makes a flight of the loose ledgers of a range.
func (p *planner) hand(s shard, now time.Time) shard {
	p.ids++
	s.ID, s.Timeout = p.ids, p.c.Timeout
	f := &flight{shard: s, begun: now}
	for i := uint64(s.From); i <= uint64(s.To); i++ {
		if l := p.ledgers[uint32(i)]; l != nil && l.loose {
			l.loose, l.holder = false, f
			f.left++
		}
	}
	p.flights[s.ID] = f
	p.stats.Shards++
	return s
}

// release takes a ledger out of its flight, and returns that; nil: it was in none.
func (p *planner) release(l *ledger) *flight {
	f := l.holder
	if f == nil {
		return nil
	}
	l.holder = nil
	if f.left--; f.left == 0 {
		delete(p.flights, f.ID)
	}
	return f
}
