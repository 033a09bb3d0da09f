package notify

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"dyno/parts/wal"
	"dyno/services/notify/journal"
)

// recover takes up where the last process left off. It reads of the notices only what came since the last
// checkpoint and what is to be known again by its id: what subscriptions are owed is read by the pager, while
// the service is up.
func (d *Dispatcher) recover(recovered map[string]*journal.Recovered) error {
	first, next := d.notices.Bounds()
	d.head.Store(next)
	d.checkpoint.head, d.checkpoint.need = next, next
	for id, r := range recovered {
		d.checkpoint.need = min(d.checkpoint.need, r.Needs())
		sub, err := d.newSubscription(r.Definition)
		if err != nil {
			return err
		}
		sub.filters, sub.counts = r.Filters, r.Counts
		sub.behind = behind{todo: r.Waiting, loaded: max(r.Loaded, first), settled: r.Settled, failed: r.Failed, routed: r.Routed}
		sub.behind.backlog = int64(len(r.Waiting)) + r.Backlog - int64(len(r.Settled))
		d.subs[id] = sub
	}
	if err := d.reread(first, next); err != nil {
		return err
	}
	short := false // the log of notices is shorter than the journal knows
	for _, sub := range d.subs {
		d.routes.add(sub, sub.def.Types, sub.def.Disabled != "")
		d.pending.Add(sub.behind.backlog)
		sub.gate.trust(len(d.subs), d.config.Workers)
		if b := &sub.behind; b.routed > next || b.loaded > next {
			if !d.config.AcceptDamage {
				return fmt.Errorf("%w: the notices end before %d, and the journal knows of those up to %d: %s", wal.ErrDamaged, next, max(b.routed, b.loaded)-1, errAccept)
			}
			d.log.Error("the journal knows of notices that the log does not have; what they owed is lost", "subscription", sub.id, "log_ends", next, "journal", b.routed)
			d.forgetBeyond(sub, next)
			short = true
		}
		if sub.behind.backlog > 0 {
			d.pager.lags(sub)
		} else {
			d.caughtUp(sub)
		}
		if err := d.replayAgain(sub); err != nil {
			return err
		}
	}
	d.pager.kick()
	if short { // before those numbers are given again
		return d.save()
	}
	return nil
}

// forgetBeyond lets go of numbers that the log does not reach: it lost its end, and will give them again.
func (d *Dispatcher) forgetBeyond(sub *subscription, next uint64) {
	b := &sub.behind
	beyond := func(seq uint64) bool { return seq >= next }
	b.todo = slices.DeleteFunc(b.todo, func(w journal.Waiting) bool { return beyond(w.Seq) })
	for seq := range b.settled {
		if beyond(seq) && seq >= b.routed { // delivered, and not counted when it came
			sub.counts.Accepted++
		}
	}
	maps.DeleteFunc(b.settled, func(seq uint64, _ bool) bool { return beyond(seq) })
	maps.DeleteFunc(b.failed, func(seq uint64, _ journal.Waiting) bool { return beyond(seq) })
	b.routed, b.loaded = min(b.routed, next), min(b.loaded, next)
	d.lose(sub, 0)
}

// reread goes through the newest notices.
func (d *Dispatcher) reread(first, next uint64) error {
	var then routes // what was wanted, of those for whom it was always the same
	var odd []*subscription
	counted := next
	for _, sub := range d.subs {
		counted = min(counted, max(sub.behind.routed, first))
		if len(sub.filters) > 1 {
			odd = append(odd, sub)
		} else {
			then.add(sub, sub.def.Types, sub.def.Disabled != "")
		}
	}
	from := min(counted, next-min(uint64(d.config.DedupLimit), next-first))
	var marked time.Time
	for from < next {
		err := d.notices.Scan(from, func(seq uint64, record []byte) error {
			n, err := decodeRecord(seq, record)
			if err != nil {
				return &wal.DamageError{From: seq, Next: seq + 1, Where: err.Error()}
			}
			d.ids.Load(n.item(), seq, n.timestamp())
			owe := func(sub *subscription) {
				if seq >= sub.behind.routed && sub.wanted(seq, n.Type) {
					sub.counts.Accepted++
					sub.behind.backlog++
				}
			}
			if seq >= counted {
				then.visit(n.Type, owe)
				for _, sub := range odd {
					owe(sub)
				}
			}
			if at := n.timestamp(); at.Sub(marked) >= markEvery {
				marked = at
				d.checkpoint.marks = append(d.checkpoint.marks, mark{at, seq})
			}
			return nil
		})
		var damage *wal.DamageError
		if !errors.As(err, &damage) || damage.Next <= from {
			return err
		}
		d.log.Error("notices could not be read from the log; they are not delivered", "error", err)
		d.unread(damage)
		from = damage.Next
	}
	return nil
}

// unread counts notices that were not counted when they came and cannot be read. Their types are not known: each counts
// for every subscription that may have wanted it.
func (d *Dispatcher) unread(damage *wal.DamageError) {
	for _, sub := range d.subs {
		b := &sub.behind
		from := max(damage.From, b.routed)
		n := sub.offered(from, damage.Next)
		sub.counts.Accepted += n
		b.backlog += n
		maps.DeleteFunc(b.settled, func(seq uint64, _ bool) bool { return seq >= from && seq < damage.Next })
	}
}

// replayAgain takes up the dead letters that were being replayed.
func (d *Dispatcher) replayAgain(sub *subscription) error {
	for _, letter := range d.journal.Letters(sub.id) {
		if !letter.Replaying {
			continue
		}
		letter, record, err := d.journal.Letter(sub.id, letter.Seq)
		if err != nil {
			return err
		}
		if err := d.replay(sub, letter, record); err != nil {
			d.log.Error("a dead letter that was replayed", "subscription", sub.id, "seq", letter.Seq, "error", err)
		}
	}
	return nil
}

// replay puts a dead letter at the end of its key's lane.
func (d *Dispatcher) replay(sub *subscription, letter journal.Letter, record []byte) error {
	n, err := decodeRecord(letter.Seq, record)
	if err != nil {
		return err
	}
	d.encode.prepare(n)
	d.pending.Add(1)
	d.resume(sub, &item{notice: n, letter: true}, letter.Retry)
	return nil
}
