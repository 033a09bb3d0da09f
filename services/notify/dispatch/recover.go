package dispatch

import (
	"errors"
	"fmt"

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
	first, next := r.options.Store.Notices.Bounds()
	c := &r.Maintainer.checkpoint
	c.head, c.need = next, next
	for _, known := range recovered {
		c.need = min(c.need, known.Needs())
		if err := r.options.Table.restore(known, first); err != nil {
			return err
		}
	}
	subs := r.options.Table.all()
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
	r.options.Deliverer.signalRoom()
	if short { // before those numbers are given again
		return r.Maintainer.Save()
	}
	return nil
}

// takeUp enters a subscription into the routes, with what it is owed. short says that the log of
// notices ends before what the journal knows.
func (r *Recovery) takeUp(sub *subscriber, next uint64) (short bool, err error) {
	r.options.Table.activate(sub)
	if known := sub.reach(); known > next {
		if !r.AcceptDamage {
			return true, fmt.Errorf("%w: the notices end before %d, and the journal knows of those up to %d: %s", wal.ErrDamaged, next, known-1, advice)
		}
		r.options.Log.Error("the journal knows of notices that the log does not have; what they owed is lost", "subscription", sub.id, "log_ends", next, "journal", known)
		short = true
	}
	if err := sub.takeUp(next); err != nil {
		r.logUncounted(err)
	}
	return short, r.replayAgain(sub)
}

// reread goes through the newest notices: those that came since the last checkpoint count for the
// subscriptions that wanted them, and ids are known again.
func (r *Recovery) reread(subs []*subscriber, first, next uint64) error {
	var then routes          // of the subscriptions that always wanted the same
	var others []*subscriber // that wanted different types at different times
	counted := next          // earlier notices were counted when they came
	for _, sub := range subs {
		counted = min(counted, max(sub.cursor.routed, first))
		if len(sub.filters) > 1 {
			others = append(others, sub)
		} else {
			then.add(sub)
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
			then.visit(n.Type, func(sub *subscriber) { sub.owe(n) })
			for _, sub := range others {
				sub.owe(n)
			}
		}
		return nil
	}
	for from := min(counted, next-min(uint64(r.DedupLimit), next-first)); from < next; {
		err := r.options.Store.Notices.Scan(from, visit)
		var damage *wal.DamageError
		if !errors.As(err, &damage) || damage.Next <= from {
			return err
		}
		r.options.Log.Error("notices could not be read from the log; they are not delivered", "error", err)
		for _, sub := range subs {
			sub.unread(damage)
		}
		from = damage.Next
	}
	return nil
}

// replayAgain takes up the dead letters that were being replayed.
func (r *Recovery) replayAgain(sub *subscriber) error {
	for _, letter := range r.options.Store.Journal.DeadLetters(sub.id) {
		if !letter.Replaying {
			continue
		}
		letter, record, err := r.options.Store.Journal.DeadLetter(sub.id, letter.Seq)
		if err != nil {
			return err
		}
		if err := sub.replayAgain(letter, record); err != nil {
			r.options.Log.Error("replaying a dead letter after a restart", "subscription", sub.id, "seq", letter.Seq, "error", err)
		}
	}
	return nil
}
