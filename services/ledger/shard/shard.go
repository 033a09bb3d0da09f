// Package shard decides what of a gap in history is fetched next, and in what portions: it cuts the gap into shards
// from its top down, halves what failed, lets sizes follow how long recent shards took, and hands the slow tail out twice.
//
// It is pure: it does no I/O, starts no goroutines, and is told what time it is. It is for one goroutine at a time; its
// owner guards it with a mutex.
package shard

import (
	"time"

	"dyno/services/ledger/history"
)

// Config is how a gap is cut. Its zero values are the documented defaults.
type Config struct {
	Sizing string        // fixed, adaptive; "": fixed
	Size   int           // ledgers of the first shard, or of each; 0: 16
	Target time.Duration // that the P95 of shards is led to (adaptive); 0: a quarter of Timeout
	Hedge  string        // none, p95; "": none

	Gap     history.Range
	Window  int           // ledgers under way below the last one that was linked
	Timeout time.Duration // of a shard
}

// Within is c for a gap.
func (c Config) Within(gap history.Range, window int, timeout time.Duration) Config {
	c.Gap, c.Window, c.Timeout = gap, window, timeout
	return c
}

// Shard is ledgers to fetch, from To down to From.
type Shard struct {
	history.Range
	ID    uint64
	Hedge bool
	Not   any // whom to ask only when there is nobody else: who failed these ledgers before, or is at them still; nil: nobody
}

// Planner is made by New.
type Planner struct {
	c       Config
	next    uint32 // cut down to above this
	linked  uint32 // lowest that is linked; Gap.To+1: none
	pending []Shard
	got     map[uint32]bool
	ids     uint64
}

// New makes the planner of a gap.
func New(c Config) *Planner {
	if c.Size <= 0 {
		c.Size = 16
	}
	return &Planner{c: c, next: c.Gap.To, linked: c.Gap.To + 1, got: map[uint32]bool{}}
}

// Next is the shard to fetch now, that nearest to the top first. False: nothing until something happens (Arrived, Failed, Rejected,
// Advance) or Wait has passed.
func (p *Planner) Next(now time.Time) (Shard, bool) {
	if n := len(p.pending); n > 0 {
		s := p.pending[0]
		p.pending = p.pending[1:]
		return s, true
	}
	low := p.c.Gap.From
	if uint64(p.linked) > uint64(low)+uint64(p.c.Window) {
		low = p.linked - uint32(p.c.Window)
	}
	if p.next < low || p.next < p.c.Gap.From {
		return Shard{}, false
	}
	p.ids++
	s := Shard{Range: history.Range{From: max(low, p.next-min(p.next, uint32(p.c.Size)-1)), To: p.next}, ID: p.ids}
	p.next = s.From - 1
	return s, true
}

// Wait is for how long Next has nothing if nothing else happens: until a shard is to be hedged. It is at most a second.
func (p *Planner) Wait(now time.Time) time.Duration { return time.Second }

// Done says that all is linked.
func (p *Planner) Done() bool { return p.linked <= p.c.Gap.From }

// Wants says whether a ledger of a shard that is under way is still to be fetched.
func (p *Planner) Wants(s Shard, index uint32) bool { return index < p.linked && !p.got[index] }

// Arrived says that a shard brought a ledger; false: that was there already.
func (p *Planner) Arrived(s Shard, index uint32, now time.Time) bool {
	if !p.Wants(s, index) {
		return false
	}
	p.got[index] = true
	return true
}

// Failed says that a shard ended before it brought the ledgers from index down; by is whoever failed it, nil if that is not known.
func (p *Planner) Failed(s Shard, index uint32, by any, now time.Time) {
	s.To, s.Not = index, by
	p.pending = append(p.pending, s)
}

// Rejected says that a ledger has to be fetched once more although it had arrived, or was on its way to be proved: its answer, which by gave, is wrong.
func (p *Planner) Rejected(index uint32, by any, now time.Time) {
	delete(p.got, index)
	p.ids++
	p.pending = append(p.pending, Shard{Range: history.Range{From: index, To: index}, ID: p.ids, Not: by})
}

// Advance says that all from an index up is linked.
func (p *Planner) Advance(index uint32) {
	for i := index; i < p.linked; i++ {
		delete(p.got, i)
	}
	p.linked = index
}
