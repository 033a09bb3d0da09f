package dispatch

import (
	"slices"

	"dyno/services/notify/subscription"
	"dyno/services/notify/topic"
)

// Subscription is one receiver of notices: what delivery knows of it, what it wanted from which
// number on, and where it stands in the log. Receiver.Mu guards all of it.
type Subscription struct {
	Receiver

	Filters []subscription.Filter // what it wanted from which number on; the last holds now
	Cursor  Cursor
	Mean    float64 // bytes of a notice in the log, a moving average; 0 means that none came since the start
}

// definition reads the definition.
func (sub *Subscription) definition() subscription.Definition {
	sub.Mu.Lock()
	defer sub.Mu.Unlock()
	return sub.Def
}

// Cursor is where a subscription stands in the log while it has a backlog there (Receiver.Backlog),
// which the Reader reads.
type Cursor struct {
	Todo       []subscription.Waiting // before Loaded, in order: after a restart
	Loaded     uint64                 // from this number on no notice was loaded, while there is a backlog
	AckedAhead map[uint64]bool        // from Loaded on, delivered or dead: after a restart
	Failed     map[uint64]subscription.Waiting
	Routed     uint64 // one more than the last that was routed to it
}

// Next is the first number that the subscription has to read.
func (c *Cursor) Next() uint64 {
	if len(c.Todo) > 0 {
		return c.Todo[0].Seq
	}
	return c.Loaded
}

// Wanted reports whether the subscription should get notice seq, by what it wanted then.
func (sub *Subscription) Wanted(seq uint64, kind string) bool {
	for i := len(sub.Filters) - 1; i >= 0; i-- {
		if f := sub.Filters[i]; f.From <= seq {
			return !f.None && topic.Match(f.Types, kind)
		}
	}
	return false
}

// Revoked reports whether the subscription was disabled after a notice came, so that it does not
// get it.
func (sub *Subscription) Revoked(seq uint64) bool {
	return slices.ContainsFunc(sub.Filters, func(f subscription.Filter) bool { return f.None && f.From > seq })
}

// Offered counts the numbers between two, the second exclusive, when the subscription was not
// disabled.
func (sub *Subscription) Offered(from, next uint64) (n int64) {
	for i, f := range sub.Filters {
		until := next
		if i+1 < len(sub.Filters) {
			until = min(next, sub.Filters[i+1].From)
		}
		if since := max(from, f.From); !f.None && since < until {
			n += int64(until - since)
		}
	}
	return n
}
