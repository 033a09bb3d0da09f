package planner

import (
	"time"

	"dyno/services/ledger/xrpl/history"
)

const (
	// hedgeAfter is the shortest duration after which a shard is hedged: below it, the shard may
	// only have waited for a processor.
	hedgeAfter = 20 * time.Millisecond

	// At most one shard in hedgeShare is a hedge: asking slow servers twice makes them slower.
	hedgeShare = 10

	longestWait = time.Second
)

// hedgesUsedUp says whether another hedge would exceed hedgeShare.
func (p *Planner) hedgesUsedUp() bool { return (p.stats.Hedges+1)*hedgeShare > p.stats.Shards }

// late is the time from which a flight is hedged; the zero time means never.
func (p *Planner) late(f *flight) (at time.Time) {
	if !p.c.Hedge || p.sizer.each == 0 || f.asking == nil || f.Hedge || f.hedged {
		return at
	}
	return f.begun.Add(max(p.sizer.each*time.Duration(f.ledgers), hedgeAfter))
}

// watch sets nextHedge so that a flight is checked when it becomes late.
func (p *Planner) watch(f *flight) {
	if at := p.late(f); !at.IsZero() && at.Before(p.nextHedge) {
		p.nextHedge = at
	}
}

// slow returns the late flight nearest to the top, or nil.
func (p *Planner) slow(now time.Time) (slow *flight) {
	if !p.c.Hedge || now.Before(p.nextHedge) || p.hedgesUsedUp() {
		return nil
	}
	p.nextHedge = now.Add(longestWait)
	for _, f := range p.flights {
		at := p.late(f)
		switch {
		case at.IsZero():
		case at.After(now):
			p.watch(f)
		case (slow == nil || f.at > slow.at) && p.unanswered(f).Len() > 0:
			slow = f
		}
	}
	if slow != nil {
		p.nextHedge = now // there may be another
	}
	return slow
}

// unanswered is the range that a flight still has to ask for.
func (p *Planner) unanswered(f *flight) history.Range {
	return p.span(history.Range{From: f.From, To: f.at}, f.has)
}

// hedge hands out the unanswered rest of a flight a second time.
func (p *Planner) hedge(f *flight, now time.Time) Shard {
	f.hedged = true
	p.stats.Hedges++
	return p.hand(Shard{Range: p.unanswered(f), Hedge: true, Not: f.asking}, now, f.has)
}

// Wait is how long the caller may wait before it calls Next again without an event: until a shard
// becomes late. It is from 1 ms to 1 s.
func (p *Planner) Wait(now time.Time) time.Duration {
	if !p.c.Hedge || p.hedgesUsedUp() {
		return longestWait
	}
	return min(max(p.nextHedge.Sub(now), time.Millisecond), longestWait)
}
