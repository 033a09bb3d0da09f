package dispatch

import (
	"cmp"
	"maps"
	"slices"

	"dyno/services/notify/subscription"
	"dyno/services/notify/topic"
)

// cursor is where a subscription stands in the log while it has a backlog there.
type cursor struct {
	todo       []subscription.Waiting // before loaded, in order: after a restart
	loaded     uint64                 // from this number on no notice was loaded, while there is a backlog
	ackedAhead map[uint64]bool        // from loaded on, delivered or dead: after a restart
	failed     map[uint64]subscription.Waiting
	routed     uint64 // one more than the last that was routed to it
}

// next is the first number that the subscription has to read.
func (c *cursor) next() uint64 {
	if len(c.todo) > 0 {
		return c.todo[0].Seq
	}
	return c.loaded
}

// wanted reports whether the subscription should get notice seq, by what it wanted then. The lock
// is held.
func (sub *subscriber) wanted(seq uint64, kind string) bool {
	for i := len(sub.filters) - 1; i >= 0; i-- {
		if f := sub.filters[i]; f.From <= seq {
			return !f.None && topic.Match(f.Types, kind)
		}
	}
	return false
}

// revoked reports whether the subscription was disabled after a notice came, so that it does not
// get it. The lock is held.
func (sub *subscriber) revoked(seq uint64) bool {
	return slices.ContainsFunc(sub.filters, func(f subscription.Filter) bool { return f.None && f.From > seq })
}

// enabled counts the numbers between two, the second exclusive, when the subscription was not
// disabled. The lock is held.
func (sub *subscriber) enabled(from, next uint64) (n int64) {
	for i, f := range sub.filters {
		until := next
		if i+1 < len(sub.filters) {
			until = min(next, sub.filters[i+1].From)
		}
		if since := max(from, f.From); !f.None && since < until {
			n += int64(until - since)
		}
	}
	return n
}

// position calls put with where a subscription stands, for a checkpoint, and returns the first
// notice that it may still have to get. Its events come before or after as a whole, since the lock
// is held meanwhile. Of a subscription that has gone there is no position.
func (sub *subscriber) position(put func(subscription.Position)) (needs uint64, ok bool) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.gone {
		return 0, false
	}
	c := &sub.cursor
	p := subscription.Position{
		Definition: sub.def, Counts: sub.counts, Routed: max(sub.d.options.Store.head.Load(), c.routed), Loaded: c.loaded,
		Backlog: sub.backlog - int64(len(c.todo)) + int64(len(c.ackedAhead)),
	}
	if sub.backlog == 0 {
		p.Loaded = p.Routed
	}
	p.Waiting = append(sub.waiting(), c.todo...)
	slices.SortFunc(p.Waiting, bySeq)
	p.AckedAhead = slices.Sorted(maps.Keys(c.ackedAhead))
	p.TriedAhead = slices.SortedFunc(maps.Values(c.failed), bySeq)
	p.Filters = sub.filters
	p.DropFilters()
	sub.filters = p.Filters
	put(p)
	return p.Needs(), true
}

func bySeq(x, y subscription.Waiting) int { return cmp.Compare(x.Seq, y.Seq) }

// waiting lists the notices in memory but for replayed dead letters, the oldest first. The lock is
// held.
func (sub *subscriber) waiting() (out []subscription.Waiting) {
	for it := sub.byAge.oldest; it != nil; it = it.newer {
		if it.replayed {
			continue
		}
		w := subscription.Waiting{Seq: it.notice.Seq, Tries: it.tries}
		if it.sending {
			w.Tries-- // only failed ones count
		}
		if l := sub.lanes[it.notice.Key]; l != nil && l.first == it && l.state == laneParked {
			w.Next = l.due
		}
		out = append(out, w)
	}
	return out
}
