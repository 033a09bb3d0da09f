package dispatch

import (
	"net/http"
	"time"

	"dyno/agent/monotonic"
	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
	"dyno/services/notify/webhook"
)

// work sends one webhook after another until the queue is closed.
func (d *Deliverer) work(w *worker) {
	b := new(batch)
	for l := d.queue.take(); l != nil; l = d.queue.take() {
		if !l.sub.fill(b, l) {
			continue
		}
		d.Busy.Add(1)
		w.begin()
		d.spans.begin(b)
		began := monotonic.Now()
		o := d.options.Sender.Send(d.ctx, b.sub.id, &b.Webhook)
		d.Attempts.Add(1)
		d.durations.observe(o, monotonic.Now()-began)
		d.spans.end(b, o)
		goOn := w.end()
		d.Busy.Add(-1)
		b.sub.settle(b, o)
		if !goOn {
			return
		}
	}
}

// fill makes a batch of a lane that was taken from the queue; false means that there is nothing to
// send now.
func (sub *subscriber) fill(b *batch, l *lane) bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	g := &sub.limiter
	switch {
	case sub.gone || l.state == laneGone:
		g.done()
		return false
	case l.n == 0: // its notices were given up
		sub.forget(l)
		g.done()
		return false
	case sub.def.Disabled != "": // since it was let through, or since its last webhook
		for l.n > 0 && sub.giveUp(l, ReasonDisabled, 0) {
		}
		if l.n > 0 {
			sub.park(l, sub.d.options.MaxBackoff)
		} else {
			sub.forget(l)
		}
		g.done()
		return false
	case g.circuitOpen: // since it was let through; a pause for the sake of the rate does not concern it
		g.waiting.push(l)
		g.done()
		return false
	}
	b.reset(sub)
	sub.d.pack.pack(l, b)
	sub.d.spans.pick(b)
	g.sending++
	return true
}

// settle records an attempt's outcome and decides what becomes of its lanes.
func (sub *subscriber) settle(b *batch, o webhook.Outcome) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	g, d := &sub.limiter, sub.d
	g.sending--
	defer g.done()
	if sub.gone || o.Status == 0 && d.ctx.Err() != nil {
		return // broken off by the end: the next process tries again
	}
	sub.last = o
	g.onResult(o)
	for _, part := range b.parts {
		part.clearSending()
	}
	if o.Delivered() {
		d.Webhooks.Add(1)
		sub.delivered(b)
		return
	}
	for _, part := range b.parts {
		sub.failed(part.lane, o)
	}
	if o.Status == http.StatusGone {
		// The definition is changed in another goroutine: that takes the lock of all subscriptions, and a
		// log that is synced.
		address := b.Target.URL().String()
		d.owned.Go(func() { d.disable(sub.id, address, "it answered 410 Gone") })
	}
}

// failed decides what becomes of a lane whose first notice was not delivered. The lock is held.
func (sub *subscriber) failed(l *lane, o webhook.Outcome) {
	d, tries := sub.d, l.first.tries
	if sub.def.Disabled != "" || tries >= d.options.MaxAttempts && sub.giveUp(l, o.Reason(), o.Status) {
		sub.release(l)
		return
	}
	wait := max(o.RetryAfter, d.backoff.wait(tries))
	d.report(d.options.Store.Journal.Failed(sub.id, subscription.Waiting{Seq: l.first.notice.Seq, Tries: tries, Next: time.Now().Add(wait)}))
	sub.park(l, wait)
}

// delivered takes a batch's notices off its lanes. The lock is held.
func (sub *subscriber) delivered(b *batch) {
	seqs := make([]uint64, 0, 8)
	for _, part := range b.parts {
		for range part.n {
			it := sub.take(part.lane)
			seqs = append(seqs, it.notice.Seq)
			sub.counts.Delivered++
		}
	}
	sub.d.report(sub.d.options.Store.Journal.Delivered(sub.id, seqs...))
	for _, part := range b.parts {
		sub.release(part.lane)
	}
	sub.signalRoom()
}

// take takes the first item off a lane; it is not pending any more. The lock is held.
func (sub *subscriber) take(l *lane) *item {
	it := l.pop()
	sub.d.decPending(1)
	sub.d.Loaded.Add(-it.notice.Cost())
	return it
}

// resume loads a notice of which attempts may have failed before; replayed says that it was a dead
// letter. The lock is held.
func (sub *subscriber) resume(n *notice.Notice, w subscription.Waiting, replayed bool) {
	it := &item{notice: n, tries: w.Tries, replayed: replayed}
	l, fresh := sub.lane(n.Key)
	l.append(it)
	sub.d.Loaded.Add(n.Cost())
	switch wait := min(time.Until(w.Next), max(sub.d.options.MaxBackoff, webhook.MaxRetryAfter)); { // the clock may have been wrong
	case !fresh:
	case wait > 0:
		sub.park(l, wait)
	default:
		sub.limiter.enqueue(l)
	}
}

// sendTest sends one notice to one subscription, now and once.
func (sub *subscriber) sendTest(n *notice.Notice) webhook.Outcome {
	sub.mu.Lock()
	w := webhook.Webhook{Target: sub.target, Notices: []*notice.Notice{n}}
	sub.mu.Unlock()
	return sub.d.options.Sender.Send(sub.d.ctx, sub.id, &w)
}
