package shard

import (
	"time"

	"dyno/services/ledger/history"
)

const (
	// A shard that is late by less is not hedged: it may only have waited for a processor.
	hedgeAfter = 20 * time.Millisecond

	// Of all shards one in so many may be a hedge. When everything is slow, asking twice makes it slower.
	hedgeShare = 10

	longestWait = time.Second
)

// spent says whether one more hedge would be too many.
func (p *Planner) hedgesUsedUp() bool { return (p.stats.Hedges+1)*hedgeShare > p.stats.Shards }

// late is when a flight is to be hedged; the zero time: never.
func (p *Planner) late(f *flight) (at time.Time) {
	if p.c.Hedge != P95 || p.sizer.each == 0 || f.asking == nil || f.Hedge || f.hedged {
		return at
	}
	return f.begun.Add(max(p.sizer.each*time.Duration(f.ledgers), hedgeAfter))
}

// watch sees to it that a flight that has begun is looked at when it is late.
func (p *Planner) watch(f *flight) {
	if at := p.late(f); !at.IsZero() && at.Before(p.nextHedge) {
		p.nextHedge = at
	}
}

// slow is the flight nearest to the top that is to be hedged now, or nil.
func (p *Planner) slow(now time.Time) (slow *flight) {
	if p.c.Hedge != P95 || now.Before(p.nextHedge) || p.hedgesUsedUp() {
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

// rest is what a flight has still to ask for.
func (p *Planner) unanswered(f *flight) history.Range {
	return p.span(history.Range{From: f.From, To: f.at}, f.has)
}

// hedge hands out what is left of a flight once more.
func (p *Planner) hedge(f *flight, now time.Time) Shard {
	f.hedged = true
	p.stats.Hedges++
	return p.hand(Shard{Range: p.unanswered(f), Hedge: true, Not: f.asking}, now, f.has)
}

// Wait is for how long Next has nothing if nothing else happens: until a shard is to be hedged. It is from 1 ms to 1 s.
func (p *Planner) Wait(now time.Time) time.Duration {
	if p.c.Hedge != P95 || p.hedgesUsedUp() {
		return longestWait
	}
	return min(max(p.nextHedge.Sub(now), time.Millisecond), longestWait)
}
