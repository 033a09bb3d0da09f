package dispatch

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"dyno/parts/wal"
	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
)

// lagging is the set of subscribers that have a backlog in the log. Its lock is taken last.
type lagging struct {
	mu   sync.Mutex
	subs map[*subscriber]bool
}

func (l *lagging) all() []*subscriber {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.subs))
}

func (l *lagging) add(sub *subscriber) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subs[sub] = true
}

func (l *lagging) remove(sub *subscriber) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.subs, sub)
}

// aboutToRead reports whether a subscription is about to get more from the log.
func (sub *subscriber) aboutToRead() bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.backlog > 0 && !sub.gone && (sub.limiter.out > 0 || sub.worthReading())
}

// beginReading returns the first number that a subscription has to read; false means that it has no
// room, or no backlog.
func (sub *subscriber) beginReading() (next uint64, ok bool) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.backlog == 0 || sub.gone {
		sub.d.lagging.remove(sub)
		return 0, false
	}
	next = sub.cursor.next()
	return next, sub.worthReading() || sub.revoked(next)
}

// mayWant reports whether a subscription may want notices of a type before a number.
func (sub *subscriber) mayWant(end uint64, kind string) bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return len(sub.filters) > 1 || sub.wanted(end-1, kind)
}

// read shows a notice of the log to a subscription that may want it. next is the first number that
// it has not seen then; 0 means that nothing has changed. more says that it can be shown others.
func (sub *subscriber) read(n *notice.Notice, keep time.Duration) (next uint64, more bool) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	c := &sub.cursor
	if sub.gone || sub.backlog == 0 {
		return 0, false
	}
	var w subscription.Waiting
	switch {
	case len(c.todo) > 0 && n.Seq < c.todo[0].Seq:
		return 0, true
	case len(c.todo) > 0 && n.Seq == c.todo[0].Seq:
		w = c.todo[0]
	case !sub.wanted(n.Seq, n.Type):
		return 0, true
	case c.ackedAhead[n.Seq]:
		delete(c.ackedAhead, n.Seq)
		c.loaded = n.Seq + 1
		return c.next(), true
	default:
		w = c.failed[n.Seq]
	}
	reason := ""
	switch {
	case sub.revoked(n.Seq):
		reason = ReasonDisabled
	case overdue(n.Accepted, keep):
		reason = ReasonExpired
	case !sub.hasCapacity():
		return 0, false
	}
	if reason != "" && !sub.bury(n, subscription.DeadLetter{Attempts: w.Tries, Reason: reason}) {
		return 0, false
	}
	if len(c.todo) > 0 {
		c.todo = c.todo[1:]
	} else {
		delete(c.failed, n.Seq)
		c.loaded = n.Seq + 1
	}
	sub.backlog--
	if reason != "" {
		sub.d.decPending(1)
	} else {
		sub.resume(n, w, false)
	}
	next = c.next()
	if sub.backlog == 0 {
		sub.onCaughtUp()
	}
	return next, sub.backlog > 0
}

// pass records that a subscription wanted none of the notices up to a number, and reports whether
// that is news.
func (sub *subscriber) pass(last uint64) bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	c := &sub.cursor
	if sub.backlog == 0 || len(c.todo) > 0 || c.loaded > last {
		return false
	}
	c.loaded = last + 1
	return true
}

// lose counts as dead what a subscription cannot get any more because the records before a number
// are gone. No notice is routed meanwhile. An error means that nothing has changed.
func (sub *subscriber) lose(next uint64) error {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.backlog == 0 || sub.gone {
		return nil
	}
	return sub.loseBefore(next)
}

// loseBefore is lose; the lock is held.
func (sub *subscriber) loseBefore(next uint64) error {
	c, d := &sub.cursor, sub.d
	left, err := sub.remaining(max(c.loaded, next))
	if err != nil {
		return err
	}
	was := sub.backlog
	c.todo = slices.DeleteFunc(c.todo, func(w subscription.Waiting) bool { return w.Seq < next })
	c.loaded = max(c.loaded, next)
	maps.DeleteFunc(c.ackedAhead, func(seq uint64, _ bool) bool { return seq < c.loaded })
	sub.backlog = int64(len(c.todo)) + left
	lost := was - sub.backlog
	sub.counts.Dead += lost
	sub.counts.Lost += lost
	d.decPending(lost)
	d.Lost.Add(lost)
	d.options.Store.checkpointDue.Store(true)
	if sub.backlog == 0 {
		sub.onCaughtUp()
	}
	return nil
}

// remaining counts what a subscription should get of the log from a number on. The lock is held.
func (sub *subscriber) remaining(from uint64) (n int64, err error) {
	store := sub.d.options.Store
	for {
		err := store.Notices.Scan(from, func(seq uint64, record []byte) error {
			if seq >= store.head.Load() {
				return wal.ErrStop
			}
			_, kind, _, err := notice.DecodeHeader(record)
			if err != nil {
				return unreadable(seq, err)
			}
			if !sub.cursor.ackedAhead[seq] && sub.wanted(seq, string(kind)) {
				n++
			}
			return nil
		})
		var damage *wal.DamageError
		if !errors.As(err, &damage) || damage.Next <= from {
			return n, err
		}
		from = damage.Next
	}
}

// onCaughtUp forgets the backlog of a subscription that has in memory all it has not got. The lock
// is held.
func (sub *subscriber) onCaughtUp() {
	c := &sub.cursor
	c.todo, c.ackedAhead, c.failed = nil, nil, nil
	sub.d.lagging.remove(sub)
}

// overdue reports whether a notice has been owed for longer than keep. since is unix time in ns.
func overdue(since int64, keep time.Duration) bool {
	return time.Now().UnixNano()-since > int64(keep)
}
