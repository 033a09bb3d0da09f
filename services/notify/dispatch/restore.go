package dispatch

import (
	"maps"
	"slices"

	"dyno/parts/wal"
	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
)

// restoreSubscriber makes a subscriber of what the journal knows of it; first is the first notice
// of the log. What was routed to it since the last checkpoint is counted by owe and unread, and
// takeUp begins with what it is owed.
func restoreSubscriber(d *Deliverer, known *subscription.Recovered, first uint64) (*subscriber, error) {
	sub, err := newSubscriber(d, known.Definition)
	if err != nil {
		return nil, err
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.filters, sub.counts = known.Filters, known.Counts
	sub.cursor = cursor{
		todo: known.Waiting, loaded: max(known.Loaded, first), ackedAhead: known.Acked, failed: known.Failed, routed: known.Routed,
	}
	sub.backlog = int64(len(known.Waiting)) + known.Backlog - int64(len(known.Acked))
	return sub, nil
}

// owe counts a notice for a subscription if it wanted it and the last checkpoint did not count it.
func (sub *subscriber) owe(n *notice.Notice) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if n.Seq >= sub.cursor.routed && sub.wanted(n.Seq, n.Type) {
		sub.counts.Accepted++
		sub.backlog++
	}
}

// unread counts notices that were not counted when they came and cannot be read. Their types are
// not known: each counts for every subscription that may have wanted it.
func (sub *subscriber) unread(damage *wal.DamageError) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	from := max(damage.From, sub.cursor.routed)
	n := sub.enabled(from, damage.Next)
	sub.counts.Accepted += n
	sub.backlog += n
	maps.DeleteFunc(sub.cursor.ackedAhead, func(seq uint64, _ bool) bool { return seq >= from && seq < damage.Next })
}

// reach is one more than the last notice that the journal knows of.
func (sub *subscriber) reach() uint64 {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return max(sub.cursor.routed, sub.cursor.loaded)
}

// takeUp begins with what a subscription is owed; next is the number after the last notice of the
// log. An error means that what the log lost was not counted.
func (sub *subscriber) takeUp(next uint64) (err error) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.d.addPending(int(sub.backlog))
	if c := &sub.cursor; c.routed > next || c.loaded > next {
		err = sub.forgetBeyond(next)
	}
	if sub.backlog > 0 {
		sub.d.lagging.add(sub)
		sub.d.signalRoom()
	} else {
		sub.onCaughtUp()
	}
	return err
}

// forgetBeyond drops numbers that the log does not reach: it lost its end, and will give them
// again. The lock is held.
func (sub *subscriber) forgetBeyond(next uint64) error {
	c := &sub.cursor
	beyond := func(seq uint64) bool { return seq >= next }
	c.todo = slices.DeleteFunc(c.todo, func(w subscription.Waiting) bool { return beyond(w.Seq) })
	for seq := range c.ackedAhead {
		if beyond(seq) && seq >= c.routed { // delivered, and not counted when it came
			sub.counts.Accepted++
		}
	}
	maps.DeleteFunc(c.ackedAhead, func(seq uint64, _ bool) bool { return beyond(seq) })
	maps.DeleteFunc(c.failed, func(seq uint64, _ subscription.Waiting) bool { return beyond(seq) })
	c.routed, c.loaded = min(c.routed, next), min(c.loaded, next)
	return sub.loseBefore(0)
}

// replayAgain goes on with a dead letter that was being replayed.
func (sub *subscriber) replayAgain(letter subscription.DeadLetter, record []byte) error {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.replayed(letter, record)
}
