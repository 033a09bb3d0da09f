package dispatch

import (
	"errors"
	"net/http"
	"time"

	"dyno/parts/refusal"
	"dyno/services/notify/journal"
	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
)

// Reasons of dead letters that no attempt caused.
const (
	ReasonExpired  = "kept longer, or beside more, than a subscription may owe"
	ReasonDisabled = "the subscription was disabled"
)

// bury keeps a notice as a dead letter; false means that the journal has no room for it. The lock
// is held.
func (sub *subscriber) bury(n *notice.Notice, letter subscription.DeadLetter) bool {
	record := n.AppendRecord(nil)
	letter.Seq, letter.Size, letter.DeadAt = n.Seq, len(record), time.Now()
	purged, err := sub.d.options.Store.Journal.AddDeadLetter(sub.id, letter, record)
	if err != nil {
		sub.d.report(err)
		return false
	}
	sub.counts.Dead++
	sub.counts.Purged += int64(purged)
	return true
}

// giveUp makes a dead letter of a lane's first item; false means that it could not, and the item
// stays. The lock is held.
func (sub *subscriber) giveUp(l *lane, reason string, status int) bool {
	it := l.first
	if !sub.bury(it.notice, subscription.DeadLetter{Attempts: it.tries, Reason: reason, Status: status}) {
		return false
	}
	sub.take(l)
	sub.signalRoom()
	return true
}

// giveUpWhile gives up what a subscription has in memory, from the oldest to the first that stays,
// except what is with a worker and what waits behind that in its lane. The lock is held.
func (sub *subscriber) giveUpWhile(reason string, stays func(*item) bool) {
	gaveUp := false
	for it := sub.byAge.oldest; it != nil && !stays(it); {
		following := it.newer
		if l := sub.lanes[it.notice.Key]; l != nil && l.first == it && l.state != laneRunning {
			if !sub.giveUp(l, reason, 0) {
				break
			}
			gaveUp = true
			if l.n == 0 && l.state == laneParked {
				sub.forget(l)
			}
		}
		it = following
	}
	if gaveUp {
		sub.d.signalRoom()
	}
}

// giveUpAll makes dead letters of all that a disabled subscription has not got, except what is with
// a worker. The lock is held.
func (sub *subscriber) giveUpAll() {
	sub.giveUpWhile(ReasonDisabled, func(*item) bool { return false })
	sub.d.signalRoom() // for what waits in the log
}

// expire makes dead letters of what was kept longer than keep, or beside more than most bytes, the
// oldest first. Of what is not in memory only the number is known, so it counts with the mean size
// of recent notices, or with that of the log when none came since the start.
func (sub *subscriber) expire(keep time.Duration, most int64, mean float64) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.mean > 0 {
		mean = sub.mean
	}
	sub.giveUpWhile(ReasonExpired, func(it *item) bool {
		return !overdue(it.owedSince(), keep) && sub.bytes+int64(float64(sub.backlog)*mean) <= most
	})
}

// replay makes a dead letter pending again, durably, at the end of its key's lane. When there is
// none, it returns journal.ErrUnknown.
func (sub *subscriber) replay(seq uint64) error {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.gone {
		return journal.ErrUnknown
	}
	if sub.def.Disabled != "" {
		return refusal.New(http.StatusConflict, "the subscription is disabled (%s); enable it first with PATCH {\"disabled\":false}", sub.def.Disabled)
	}
	letter, record, ok, err := sub.d.options.Store.Journal.Replay(sub.id, seq)
	if err := sub.unchanged(ok, err); err != nil {
		return err
	}
	sub.counts.Dead--
	return sub.replayed(letter, record)
}

// replayed loads a dead letter that is pending again. The lock is held.
func (sub *subscriber) replayed(letter subscription.DeadLetter, record []byte) error {
	n, err := notice.Decode(letter.Seq, record)
	if err != nil {
		return err
	}
	sub.d.addPending(1)
	sub.resume(n, letter.Retry, true)
	return nil
}

// purge deletes a dead letter, durably. When there is none, it returns journal.ErrUnknown.
func (sub *subscriber) purge(seq uint64) error {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	ok, err := sub.d.options.Store.Journal.Purge(sub.id, seq)
	if err := sub.unchanged(ok, err); err != nil {
		return err
	}
	sub.counts.Purged++
	return nil
}

// unchanged returns why the journal did not change a dead letter, from what it returned; nil means
// that it did.
func (sub *subscriber) unchanged(ok bool, err error) error {
	switch {
	case errors.Is(err, journal.ErrReplaying):
		return refusal.New(http.StatusConflict, "%v", err)
	case err != nil:
		return sub.d.options.Store.refuse(err)
	case !ok:
		return journal.ErrUnknown
	}
	return nil
}
