package dispatch

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"dyno/parts/wal"
	"dyno/services/notify/dedup"
	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
)

// Recovery takes up at a start what the last process left. It reads of the notices only what came
// since the last checkpoint and the ids that must be known again: what subscriptions are owed is
// read by the Reader, while the service is up.
type Recovery struct {
	*Reader
	Maintainer   *Maintainer
	IDs          *dedup.Window
	DedupLimit   int  // ids that are remembered at most
	AcceptDamage bool // start although the logs disagree
}

// Run takes up what the journal knows of the subscriptions. Neither reader nor maintainer runs yet.
func (r *Recovery) Run(recovered map[string]*subscription.Recovered) error {
	first, next := r.Store.Notices.Bounds()
	c := &r.Maintainer.checkpoint
	c.head, c.need = next, next
	for _, known := range recovered {
		c.need = min(c.need, known.Needs())
		sub, err := r.Table.Restore(known)
		if err != nil {
			return err
		}
		sub.Cursor = Cursor{
			Todo: known.Waiting, Loaded: max(known.Loaded, first), AckedAhead: known.Acked, Failed: known.Failed, Routed: known.Routed,
		}
		sub.Backlog = int64(len(known.Waiting)) + known.Backlog - int64(len(known.Acked))
	}
	subs := r.Table.all()
	if err := r.reread(subs, first, next); err != nil {
		return err
	}
	short := false
	for _, sub := range subs {
		beyond, err := r.takeUp(sub, next)
		if err != nil {
			return err
		}
		short = short || beyond
	}
	r.Deliverer.SignalRoom()
	if short { // before those numbers are given again
		return r.Maintainer.Save()
	}
	return nil
}

// takeUp enters a subscription into the routes, with what it is owed. short says that the log of
// notices ends before what the journal knows.
func (r *Recovery) takeUp(sub *Subscription, next uint64) (short bool, err error) {
	r.Table.Activate(sub)
	r.Deliverer.AddPending(int(sub.Backlog))
	if c := &sub.Cursor; c.Routed > next || c.Loaded > next {
		if !r.AcceptDamage {
			return true, fmt.Errorf("%w: the notices end before %d, and the journal knows of those up to %d: %s", wal.ErrDamaged, next, max(c.Routed, c.Loaded)-1, Advice)
		}
		r.Log.Error("the journal knows of notices that the log does not have; what they owed is lost", "subscription", sub.ID, "log_ends", next, "journal", c.Routed)
		r.forgetBeyond(sub, next)
		short = true
	}
	if sub.Backlog > 0 {
		r.addLagging(sub)
	} else {
		r.onCaughtUp(sub)
	}
	return short, r.replayAgain(sub)
}

// forgetBeyond drops numbers that the log does not reach: it lost its end, and will give them
// again.
func (r *Recovery) forgetBeyond(sub *Subscription, next uint64) {
	c := &sub.Cursor
	beyond := func(seq uint64) bool { return seq >= next }
	c.Todo = slices.DeleteFunc(c.Todo, func(w subscription.Waiting) bool { return beyond(w.Seq) })
	for seq := range c.AckedAhead {
		if beyond(seq) && seq >= c.Routed { // delivered, and not counted when it came
			sub.Counts.Accepted++
		}
	}
	maps.DeleteFunc(c.AckedAhead, func(seq uint64, _ bool) bool { return beyond(seq) })
	maps.DeleteFunc(c.Failed, func(seq uint64, _ subscription.Waiting) bool { return beyond(seq) })
	c.Routed, c.Loaded = min(c.Routed, next), min(c.Loaded, next)
	r.lose(sub, 0)
}

// reread goes through the newest notices: those that came since the last checkpoint count for the
// subscriptions that wanted them, and ids are known again.
func (r *Recovery) reread(subs []*Subscription, first, next uint64) error {
	var then Routes            // of the subscriptions that always wanted the same
	var others []*Subscription // that wanted different types at different times
	counted := next            // earlier notices were counted when they came
	for _, sub := range subs {
		counted = min(counted, max(sub.Cursor.Routed, first))
		if len(sub.Filters) > 1 {
			others = append(others, sub)
		} else {
			then.Add(sub)
		}
	}
	visit := func(seq uint64, record []byte) error {
		n, err := notice.Decode(seq, record)
		if err != nil {
			return unreadable(seq, err)
		}
		at := n.Timestamp()
		r.IDs.Load(dedup.Item{ID: n.ID, Content: n.Content()}, seq, at)
		r.Maintainer.checkpoint.mark(at, seq)
		if seq >= counted {
			then.Visit(n.Type, func(sub *Subscription) { owe(sub, n) })
			for _, sub := range others {
				owe(sub, n)
			}
		}
		return nil
	}
	for from := min(counted, next-min(uint64(r.DedupLimit), next-first)); from < next; {
		err := r.Store.Notices.Scan(from, visit)
		var damage *wal.DamageError
		if !errors.As(err, &damage) || damage.Next <= from {
			return err
		}
		r.Log.Error("notices could not be read from the log; they are not delivered", "error", err)
		unread(subs, damage)
		from = damage.Next
	}
	return nil
}

// owe counts a notice for a subscription if it wanted it and the last checkpoint did not count it.
func owe(sub *Subscription, n *notice.Notice) {
	if n.Seq >= sub.Cursor.Routed && sub.Wanted(n.Seq, n.Type) {
		sub.Counts.Accepted++
		sub.Backlog++
	}
}

// unread counts notices that were not counted when they came and cannot be read. Their types are
// not known: each counts for every subscription that may have wanted it.
func unread(subs []*Subscription, damage *wal.DamageError) {
	for _, sub := range subs {
		c := &sub.Cursor
		from := max(damage.From, c.Routed)
		n := sub.Offered(from, damage.Next)
		sub.Counts.Accepted += n
		sub.Backlog += n
		maps.DeleteFunc(c.AckedAhead, func(seq uint64, _ bool) bool { return seq >= from && seq < damage.Next })
	}
}

// replayAgain takes up the dead letters that were being replayed.
func (r *Recovery) replayAgain(sub *Subscription) error {
	for _, letter := range r.Store.Journal.DeadLetters(sub.ID) {
		if !letter.Replaying {
			continue
		}
		letter, record, err := r.Store.Journal.DeadLetter(sub.ID, letter.Seq)
		if err != nil {
			return err
		}
		if err := r.Deliverer.replay(&sub.Receiver, letter, record); err != nil {
			r.Log.Error("replaying a dead letter after a restart", "subscription", sub.ID, "seq", letter.Seq, "error", err)
		}
	}
	return nil
}
