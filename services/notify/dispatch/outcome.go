package dispatch

import (
	"net/http"
	"time"

	"dyno/agent/monotonic"
	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
	"dyno/services/notify/webhook"
)

// Reasons of dead letters that no attempt caused.
const (
	ReasonExpired  = "kept longer, or beside more, than a subscription may owe"
	ReasonDisabled = "the subscription was disabled"
)

// work sends one webhook after another until the queue is closed.
func (d *Deliverer) work(w *worker) {
	b := new(batch)
	for l := d.queue.take(); l != nil; l = d.queue.take() {
		if !d.fill(b, l) {
			continue
		}
		d.Busy.Add(1)
		w.begin()
		d.spans.begin(b)
		began := monotonic.Now()
		o := d.options.Sender.Send(d.ctx, b.receiver.ID, &b.Webhook)
		d.Attempts.Add(1)
		d.durations.observe(o, monotonic.Now()-began)
		d.spans.end(b, o)
		goOn := w.end()
		d.Busy.Add(-1)
		d.onOutcome(b, o)
		if !goOn {
			return
		}
	}
}

// fill makes a batch of a lane that was taken from the queue; false means that there is nothing to
// send now.
func (d *Deliverer) fill(b *batch, l *lane) bool {
	r := l.receiver
	r.Mu.Lock()
	defer r.Mu.Unlock()
	g := &r.limiter
	switch {
	case r.Gone || l.state == laneGone:
		g.done()
		return false
	case l.n == 0: // its notices were given up
		r.forget(l)
		g.done()
		return false
	case r.Def.Disabled != "": // since it was let through, or since its last webhook
		for l.n > 0 && d.giveUp(l, ReasonDisabled, 0) {
		}
		if l.n > 0 {
			r.park(l, d.options.MaxBackoff)
		} else {
			r.forget(l)
		}
		g.done()
		return false
	case g.circuitOpen: // since it was let through; a pause for the sake of the rate does not concern it
		g.waiting.push(l)
		g.done()
		return false
	}
	b.reset(r)
	d.pack.pack(l, b)
	d.spans.pick(b)
	g.sending++
	return true
}

// onOutcome records an attempt's outcome and decides what becomes of its lanes.
func (d *Deliverer) onOutcome(b *batch, o webhook.Outcome) {
	r := b.receiver
	r.Mu.Lock()
	defer r.Mu.Unlock()
	g := &r.limiter
	g.sending--
	defer g.done()
	if r.Gone || o.Status == 0 && d.ctx.Err() != nil {
		return // broken off by the end: the next process tries again
	}
	r.last = o
	g.onResult(o)
	for _, part := range b.parts {
		part.clearSending()
	}
	if o.Delivered() {
		d.Webhooks.Add(1)
		d.delivered(b)
		return
	}
	for _, part := range b.parts {
		d.failed(part.lane, o)
	}
	if o.Status == http.StatusGone {
		// The definition is changed in another goroutine: that takes the lock of all subscriptions, and a
		// log that is synced.
		address := b.Target.URL().String()
		d.owned.Go(func() { d.disable(r.ID, address, "it answered 410 Gone") })
	}
}

// failed decides what becomes of a lane whose first notice was not delivered.
func (d *Deliverer) failed(l *lane, o webhook.Outcome) {
	r := l.receiver
	tries := l.first.tries
	if r.Def.Disabled != "" || tries >= d.options.MaxAttempts && d.giveUp(l, o.Reason(), o.Status) {
		r.release(l)
		return
	}
	wait := max(o.RetryAfter, d.backoff.wait(tries))
	d.report(d.options.Journal.Failed(r.ID, subscription.Waiting{Seq: l.first.notice.Seq, Tries: tries, Next: time.Now().Add(wait)}))
	r.park(l, wait)
}

// delivered takes a batch's notices off its lanes.
func (d *Deliverer) delivered(b *batch) {
	r := b.receiver
	seqs := make([]uint64, 0, 8)
	for _, part := range b.parts {
		for range part.n {
			it := d.take(part.lane)
			seqs = append(seqs, it.notice.Seq)
			r.Counts.Delivered++
		}
	}
	d.report(d.options.Journal.Delivered(r.ID, seqs...))
	for _, part := range b.parts {
		r.release(part.lane)
	}
	d.onDelivered(r)
}

// report passes an error of the journal on; nil is none.
func (d *Deliverer) report(err error) {
	if err != nil {
		d.options.Report(err)
	}
}

// take takes the first item off a lane; it is not pending any more.
func (d *Deliverer) take(l *lane) *item {
	it := l.pop()
	d.DecPending(1)
	d.Loaded.Add(-it.notice.Cost())
	return it
}

// giveUp makes a dead letter of a lane's first item; false means that it could not, and the item
// stays.
func (d *Deliverer) giveUp(l *lane, reason string, status int) bool {
	it := l.first
	if !d.DeadLetter(l.receiver, it.notice, subscription.DeadLetter{Attempts: it.tries, Reason: reason, Status: status}) {
		return false
	}
	d.take(l)
	d.onDelivered(l.receiver)
	return true
}

// DeadLetter keeps a notice as a dead letter; false means that the journal has no room for it. The
// receiver's mutex is held.
func (d *Deliverer) DeadLetter(r *Receiver, n *notice.Notice, letter subscription.DeadLetter) bool {
	record := n.AppendRecord(nil)
	letter.Seq, letter.Size, letter.DeadAt = n.Seq, len(record), time.Now()
	purged, err := d.options.Journal.AddDeadLetter(r.ID, letter, record)
	if err != nil {
		d.report(err)
		return false
	}
	r.Counts.Dead++
	r.Counts.Purged += int64(purged)
	return true
}

// Expire gives up what a subscription has in memory, from the oldest to the first that stays,
// except what is with a worker and what waits behind that in its lane. stays receives since when a
// notice is owed, unix time in ns. The receiver's mutex is held.
func (d *Deliverer) Expire(r *Receiver, reason string, stays func(owedSince int64) bool) {
	gaveUp := false
	for it := r.byAge.oldest; it != nil && !stays(it.owedSince()); {
		following := it.newer
		if l := r.lanes[it.notice.Key]; l != nil && l.first == it && l.state != laneRunning {
			if !d.giveUp(l, reason, 0) {
				break
			}
			gaveUp = true
			if l.n == 0 && l.state == laneParked {
				r.forget(l)
			}
		}
		it = following
	}
	if gaveUp {
		d.SignalRoom()
	}
}

// GiveUpAll makes dead letters of all that a disabled subscription has not got, except what is with
// a worker. The receiver's mutex is held.
func (d *Deliverer) GiveUpAll(r *Receiver) {
	d.Expire(r, ReasonDisabled, func(int64) bool { return false })
	d.SignalRoom() // for what waits in the log
}
