package notify

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"dyno/agent/monotonic"
	"dyno/services/notify/journal"
)

// work sends one webhook after another until the queue is closed.
func (d *Dispatcher) work(w *worker) {
	buf := make([]*lane, 1)
	p := new(parcel)
	for l := d.lanes.take(w.number, buf); l != nil; l = d.lanes.take(w.number, buf) {
		if !d.fill(p, l) {
			continue
		}
		d.busy.Add(1)
		w.begin()
		d.spans.begin(p)
		began := monotonic.Now()
		o := d.send(p)
		d.attempts.Add(1)
		d.tasks.observe(o, monotonic.Now()-began)
		d.spans.end(p, o)
		goOn := w.end()
		d.busy.Add(-1)
		d.settle(p, o)
		if !goOn {
			return
		}
	}
}

// fill makes a parcel of a lane that was taken from the queue; false: there is nothing to send now.
func (d *Dispatcher) fill(p *parcel, l *lane) bool {
	sub := l.sub
	sub.mu.Lock()
	defer sub.mu.Unlock()
	g := &sub.gate
	switch {
	case sub.gone || l.state == laneGone:
		g.back()
		return false
	case l.n == 0: // what it held was given up
		d.forget(l)
		g.back()
		return false
	case sub.def.Disabled != "": // since it was let through, or since its last webhook
		for l.n > 0 && d.giveUp(l, reasonDisabled, 0) {
		}
		if l.n > 0 {
			d.park(l, d.config.MaxBackoff)
		} else {
			d.forget(l)
		}
		g.back()
		return false
	case g.throttled: // since it was let through; a pause for the sake of the rate does not concern it
		g.waiting.push(l)
		g.back()
		return false
	}
	p.reset(sub)
	d.pack.pack(l, p)
	d.spans.pick(p)
	g.sending++
	return true
}

// settle books an attempt's outcome and decides what becomes of its lanes.
func (d *Dispatcher) settle(p *parcel, o outcome) {
	sub := p.sub
	sub.mu.Lock()
	defer sub.mu.Unlock()
	g := &sub.gate
	g.sending--
	defer g.back()
	if sub.gone || o.status == 0 && d.ctx.Err() != nil {
		return // broken off by the end: the next process tries again
	}
	sub.last = o
	g.judge(o)
	for _, part := range p.parts {
		part.settled()
	}
	if o.delivered() {
		d.webhooks.Add(1)
		d.delivered(p)
		return
	}
	for _, part := range p.parts {
		l := part.lane
		if tries := l.first.tries; sub.def.Disabled != "" {
			d.next(l)
		} else if tries >= d.config.MaxAttempts && d.giveUp(l, o.reason(), o.status) {
			d.next(l)
		} else {
			wait := max(o.after, d.backoff(tries))
			d.note(d.journal.Failed(sub.id, journal.Waiting{Seq: l.first.notice.seq, Tries: tries, Next: time.Now().Add(wait)}))
			d.park(l, wait)
		}
	}
	if o.status == http.StatusGone {
		// The definition is changed apart: that takes the dispatcher's mutex, and a log that is synced.
		target := p.target.String()
		d.owned.Go(func() { d.disable(sub.id, target, "it answered 410 Gone") })
	}
}

// delivered takes what a parcel held off its lanes.
func (d *Dispatcher) delivered(p *parcel) {
	sub := p.sub
	seqs := make([]uint64, 0, 8)
	for _, part := range p.parts {
		for range part.n {
			it := d.take(part.lane)
			seqs = append(seqs, it.notice.seq)
			sub.counts.Delivered++
		}
	}
	d.note(d.journal.Delivered(sub.id, seqs...))
	for _, part := range p.parts {
		d.next(part.lane)
	}
	d.pager.hasRoom(sub)
}

// take takes the first item off a lane; it is pending no more.
func (d *Dispatcher) take(l *lane) *item {
	it := l.pop()
	d.settled(1)
	d.loaded.Add(-it.notice.cost())
	return it
}

// giveUp makes a dead letter of a lane's first item; false: it could not, and the item stays.
func (d *Dispatcher) giveUp(l *lane, reason string, status int) bool {
	it := l.first
	if !d.bury(l.sub, it.notice, journal.Letter{Attempts: it.tries, Reason: reason, Status: status}) {
		return false
	}
	d.take(l)
	d.pager.hasRoom(l.sub)
	return true
}

// bury keeps a notice as a dead letter; false: the journal has no room for it.
func (d *Dispatcher) bury(sub *subscription, n *notice, letter journal.Letter) bool {
	record := n.appendRecord(nil)
	letter.Seq, letter.Size, letter.Died = n.seq, len(record), time.Now()
	purged, err := d.journal.Bury(sub.id, letter, record)
	if err != nil {
		d.note(err)
		return false
	}
	sub.counts.Dead++
	sub.counts.Purged += int64(purged)
	return true
}

// next goes on with a lane that a worker has come back with.
func (d *Dispatcher) next(l *lane) {
	if l.n > 0 {
		l.sub.gate.ready(l)
	} else {
		d.forget(l)
	}
}

// park lets a lane wait on the wheel: it holds no worker, and other lanes go on.
func (d *Dispatcher) park(l *lane, wait time.Duration) {
	l.state, l.parked, l.due = laneParked, monotonic.Now(), time.Now().Add(wait)
	d.wheel.Start(&l.timer, wait)
}

func (d *Dispatcher) unpark(l *lane) {
	l.sub.mu.Lock()
	defer l.sub.mu.Unlock()
	if l.state == laneParked {
		d.next(l)
	}
}

// backoff doubles with every attempt; half of it is random, so that receivers are not hit in step.
func (d *Dispatcher) backoff(tries int) time.Duration {
	wait := min(d.config.Backoff<<min(max(tries-1, 0), 20), d.config.MaxBackoff)
	return wait/2 + rand.N(wait/2+1)
}

// note looks at an error of the journal. What it does not hold is delivered again by the next process; so it
// is no reason to stop, unless the journal has failed for good.
func (d *Dispatcher) note(err error) {
	if err != nil {
		d.failing(err)
	}
}

// reason says in words why a notice was given up after its last attempt.
func (o outcome) reason() string {
	if o.status == 0 {
		return o.err
	}
	return "answered " + strconv.Itoa(o.status) + " " + http.StatusText(o.status)
}
