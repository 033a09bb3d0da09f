package notify

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"dyno/agent/monotonic"
	"dyno/services/notify/journal"
)

// How often what is looked at.
const (
	crowdedEvery    = 100 * time.Millisecond // whether space is short: the journal's reserve is for seconds
	expireEvery     = time.Second            // and whether a checkpoint is due, one that failed among them
	checkpointEvery = 30 * time.Second
	shortEvery      = 5 * time.Second  // the same, while notices are owed that space was short beside
	idleEvery       = 10 * time.Minute // a checkpoint without news, so that history is trimmed by age
	markEvery       = 10 * time.Second

	// A restart reads what came since the last checkpoint: 8 MiB of the journal and 500,000 notices take a
	// second or two.
	checkpointBytes   = 8 << 20
	checkpointNotices = 500_000
)

// checkpoint is what the last one saw. It is the house-keeper's alone.
type checkpoint struct {
	at    time.Time
	head  uint64
	need  uint64 // notices before this number are settled, durably
	marks []mark // when which number was reached, oldest first

	short    uint64 // notices before this number are no history: space was short when it was the next one's
	relieved bool   // since space became short, what can be given up was
}

type mark struct {
	at  time.Time
	seq uint64
}

// keep keeps house until the dispatcher ends: it gives up what was kept too long, and writes checkpoints, after
// which the logs are trimmed.
func (d *Dispatcher) keep() {
	clock, space := time.NewTicker(expireEvery), time.NewTicker(crowdedEvery)
	defer clock.Stop()
	defer space.Stop()
	d.checkpoint.at = time.Now()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-space.C:
			if d.crowded() {
				d.note(d.relieve())
			}
			continue
		case <-clock.C:
		}
		now := time.Now()
		d.expireAll()
		d.mark(now)
		c := &d.checkpoint
		every := idleEvery
		if d.journal.Size() > 0 || d.head.Load() != c.head {
			every = checkpointEvery
			if c.need < c.short {
				every = shortEvery
			}
		}
		if d.hurry.Swap(false) || d.journal.Size() > checkpointBytes || d.head.Load()-c.head > checkpointNotices || now.Sub(c.at) > every {
			d.note(d.save())
		}
	}
}

// crowded reports whether space is short, so that no history is kept of what is in the log.
func (d *Dispatcher) crowded() bool {
	c := &d.checkpoint
	crowded := d.full.Swap(false) || d.notices.Low() || d.journal.Low()
	if c.relieved = c.relieved && crowded; crowded {
		_, c.short = d.notices.Bounds()
	}
	return crowded
}

// relieve gives up all that was delivered, and lets the logs begin new files, so that what is in the present ones can go
// as soon as it is delivered.
func (d *Dispatcher) relieve() error {
	c := &d.checkpoint
	if c.relieved && d.journal.Size() == 0 && d.head.Load() == c.head {
		return nil
	}
	err := d.notices.Trim(c.need) // first what takes no space: a checkpoint does
	if err == nil {
		err = d.notices.Roll()
	}
	if err == nil {
		err = d.journal.Roll()
	}
	if err == nil {
		err = d.save()
	}
	c.relieved = err == nil
	return err
}

// oldest is the age of the oldest notice that somebody has not got, of those who can be sent to.
func (d *Dispatcher) oldest(now time.Time) (age time.Duration) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, sub := range d.subs {
		sub.mu.Lock()
		if it := sub.ages.oldest; it != nil {
			age = max(age, now.Sub(time.Unix(0, it.notice.accepted)))
		}
		sub.mu.Unlock()
	}
	return age
}

// overdue reports whether a notice has been owed for too long.
func (d *Dispatcher) overdue(since int64) bool {
	return time.Now().UnixNano()-since > int64(d.config.KeepAge)
}

// owed is since when a subscription is owed it, unix time in ns: a letter, since it was replayed.
func (it *item) owed() int64 {
	if it.letter {
		return time.Now().UnixNano() - (monotonic.Now() - it.since)
	}
	return it.notice.accepted
}

// owesTooMuch reports whether a subscription is owed more bytes than it may be. Of what is not in memory only
// the number is known, so it counts as what came of late.
func (d *Dispatcher) owesTooMuch(sub *subscription) bool {
	owed := sub.bytes
	if n := sub.behind.backlog; n > 0 {
		each := sub.mean
		if each == 0 { // nothing came since the start
			first, next := d.notices.Bounds()
			each = float64(d.notices.Size()) / float64(max(next-first, 1))
		}
		owed += int64(float64(n) * each)
	}
	return owed > d.config.KeepBytes
}

const (
	reasonKept     = "kept longer, or beside more, than a subscription may owe"
	reasonDisabled = "the subscription was disabled"
)

// expireAll makes dead letters of what was kept too long, the oldest first.
func (d *Dispatcher) expireAll() {
	for _, sub := range d.subscriptions() {
		sub.mu.Lock()
		d.expire(sub, reasonKept, func(it *item) bool { return d.overdue(it.owed()) || d.owesTooMuch(sub) })
		sub.mu.Unlock()
	}
}

// expire gives up what a subscription has in memory, from the oldest to the first that is not to be, but for
// what is on its way and what waits behind that.
func (d *Dispatcher) expire(sub *subscription, reason string, is func(*item) bool) {
	gaveUp := false
	for it := sub.ages.oldest; it != nil && is(it); {
		following := it.newer
		if l := sub.lanes[it.notice.Key]; l != nil && l.first == it && l.state != laneRunning {
			if !d.giveUp(l, reason, 0) {
				break
			}
			gaveUp = true
			if l.n == 0 && l.state == laneParked {
				d.forget(l)
			}
		}
		it = following
	}
	if gaveUp {
		d.pager.kick()
	}
}

// mark notes how far the log was when, so that its history can be kept by age.
func (d *Dispatcher) mark(now time.Time) {
	c := &d.checkpoint
	if n := len(c.marks); n == 0 || now.Sub(c.marks[n-1].at) >= markEvery {
		c.marks = append(c.marks, mark{now, d.head.Load()})
	}
	old := now.Add(-d.history())
	if i, _ := slices.BinarySearchFunc(c.marks, old, func(m mark, t time.Time) int { return m.at.Compare(t) }); i > 1 {
		c.marks = slices.Delete(c.marks, 0, i-1) // the last that is older tells where history begins
	}
}

// history is for how long notices are kept although everybody has got them: for streams that resume, and so
// that ids are known again after a restart.
func (d *Dispatcher) history() time.Duration { return max(d.config.History, d.config.DedupWindow) }

// save writes a checkpoint and gives up what nobody needs any more.
func (d *Dispatcher) save() error {
	d.saving.Lock()
	defer d.saving.Unlock()
	head := d.head.Load()
	need := head
	d.checkpoint.at, d.checkpoint.head = time.Now(), head // also of one that fails: it is not tried again at once
	err := d.journal.Checkpoint(func(put func(journal.Position)) {
		for _, sub := range d.subscriptions() {
			sub.mu.Lock()
			if !sub.gone {
				p := sub.position(d.head.Load())
				need = min(need, p.Needs())
				put(p)
			}
			sub.mu.Unlock()
		}
	})
	if err != nil && !errors.Is(err, journal.ErrUnread) {
		return err
	}
	d.checkpoint.need = need
	return errors.Join(err, d.notices.Trim(min(need, d.historyBegins())))
}

// historyBegins is the first number that is kept for history.
func (d *Dispatcher) historyBegins() uint64 {
	first, next := d.notices.Bounds()
	begins := min(max(first, d.checkpoint.short), next)
	for _, m := range d.checkpoint.marks {
		if time.Since(m.at) > d.history() {
			begins = max(begins, m.seq)
		}
	}
	if size := d.notices.Size(); size > d.config.HistoryBytes && next > first {
		each := max(size/int64(next-first), 1)
		begins = max(begins, next-min(next-first, uint64(d.config.HistoryBytes/each)))
	}
	return begins
}

// position is where a subscription stands; its mutex is held.
func (sub *subscription) position(head uint64) journal.Position {
	b := &sub.behind
	p := journal.Position{
		Definition: sub.def, Counts: sub.counts, Routed: max(head, b.routed), Backlog: b.backlog - int64(len(b.todo)) + int64(len(b.settled)), Loaded: b.loaded,
	}
	if b.backlog == 0 {
		p.Loaded = p.Routed
	}
	for it := sub.ages.oldest; it != nil; it = it.newer {
		if !it.letter {
			w := journal.Waiting{Seq: it.notice.seq, Tries: it.attempts()}
			if l := sub.lanes[it.notice.Key]; l != nil && l.first == it && l.state == laneParked {
				w.Next = l.due
			}
			p.Waiting = append(p.Waiting, w)
		}
	}
	p.Waiting = append(p.Waiting, b.todo...)
	slices.SortFunc(p.Waiting, bySeq)
	p.SettledAhead = slices.Sorted(maps.Keys(b.settled))
	p.TriedAhead = slices.SortedFunc(maps.Values(b.failed), bySeq)
	sub.dropFilters(p.Needs())
	p.Filters = sub.filters
	return p
}

func bySeq(x, y journal.Waiting) int { return cmp.Compare(x.Seq, y.Seq) }

// attempts is how many have failed: one that is on its way has not.
func (it *item) attempts() int {
	if it.sending {
		return it.tries - 1
	}
	return it.tries
}

// dropFilters forgets what it wanted before a number.
func (sub *subscription) dropFilters(before uint64) {
	for len(sub.filters) > 1 && sub.filters[1].From <= before {
		sub.filters = sub.filters[1:]
	}
}
