package backfill

import (
	"slices"
	"time"

	"dyno/services/ledger/xrpl/history"
)

// Asking says that a fetcher is about to ask a server for a ledger of a shard. The first call
// starts the clock of the shard: before, it waited for its turn.
func (p *planner) Asking(s shard, now time.Time) {
	if f := p.flights[s.ID]; f != nil && !f.asked {
		f.asked, f.begun = true, now
	}
}

// Wants says whether a ledger of a shard in flight still needs fetching.
func (p *planner) Wants(s shard, index uint32) bool {
	l, f := p.ledgers[index], p.flights[s.ID]
	return l != nil && f != nil && l.holder == f
}

// Idle says whether a needed ledger is in no flight: Next hands it out before those below.
func (p *planner) Idle(index uint32) bool {
	l := p.ledgers[index]
	return uint64(index) < p.linked && (l == nil || l.loose)
}

// Arrived says that a ledger was brought, by a shard or in another way. It returns false if the
// ledger had arrived already, or is no longer wanted.
func (p *planner) Arrived(index uint32, now time.Time) bool {
	l := p.ledgers[index]
	if l == nil || l.arrived {
		p.stats.Spare++
		return false
	}
	l.arrived, l.loose = true, false
	if f := p.release(l); f != nil && f.left == 0 && !f.failed {
		p.took.add(max(now.Sub(f.begun), 0))
	}
	return true
}

// Failed says that a shard ended before it brought the ledgers from index down; by is the server
// that failed it, nil if that is not known. They are fetched again, in halves.
func (p *planner) Failed(s shard, index uint32, by any) {
	f := p.flights[s.ID]
	if f == nil {
		return
	}
	f.failed = true
	rest := history.Range{From: s.From, To: min(index, s.To)}
	for i := uint64(rest.From); i <= uint64(rest.To); i++ {
		if l := p.ledgers[uint32(i)]; l != nil && l.holder == f {
			p.release(l)
			l.loose = true
		}
	}
	rest = p.loose(rest)
	if rest.Len() > 1 {
		p.stats.Splits++
		middle := rest.From + uint32(rest.Len()/2)
		p.again(history.Range{From: rest.From, To: middle - 1}, by)
		rest.From = middle
	}
	p.again(rest, by)
}

// Rejected says that a ledger must be fetched again although it had arrived, or was being verified:
// its answer, from the server by, is wrong.
func (p *planner) Rejected(index uint32, by any, now time.Time) {
	l := p.ledgers[index]
	if l == nil {
		return
	}
	p.release(l)
	l.arrived = false
	if l.loose {
		return // pending already
	}
	l.loose = true
	p.again(history.Range{From: index, To: index}, by)
}

// again inserts a range into the pending ones: highest last, and of equals the latest first.
func (p *planner) again(r history.Range, by any) {
	if r.Len() == 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(p.pending, r.To, func(s shard, to uint32) int {
		if s.To < to {
			return -1
		}
		return 1
	})
	p.pending = slices.Insert(p.pending, i, shard{Range: r, Not: by})
}

// Advance says that all ledgers from index up are linked, or reported missing.
func (p *planner) Advance(index uint32) {
	for ; p.linked > uint64(index) && p.linked > uint64(p.c.Gap.From); p.linked-- {
		at := uint32(p.linked - 1)
		l := p.ledgers[at]
		if l == nil {
			p.next = min(p.next, at-1) // it was not cut yet
			continue
		}
		p.release(l)
		delete(p.ledgers, at)
	}
}

// Done says whether all ledgers are linked.
func (p *planner) Done() bool { return p.linked <= uint64(p.c.Gap.From) }
