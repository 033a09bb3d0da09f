package dispatch

import (
	"dyno/services/notify/subscription"
	"dyno/services/notify/webhook"
)

// batch is what goes into one webhook: the first notices of one lane, or of several lanes of one
// subscription. It belongs to one worker, which uses it again.
type batch struct {
	webhook.Webhook
	sub    *subscriber
	parts  []batchPart
	bytes  int            // of the notices
	traced []deliverySpan // of the notices that have a trace
}

// batchPart is how many notices a lane gave.
type batchPart struct {
	lane *lane
	n    int
}

// clearSending marks the attempt at a part's notices as over.
func (p batchPart) clearSending() {
	it := p.lane.first
	for range p.n {
		it.sending = false
		it = it.next
	}
}

func (b *batch) reset(sub *subscriber) {
	clear(b.parts)
	clear(b.Notices)
	clear(b.traced)
	b.sub, b.bytes = sub, 0
	b.Webhook = webhook.Webhook{Target: sub.target, Notices: b.Notices[:0]}
	b.parts, b.traced = b.parts[:0], b.traced[:0]
}

// maxWebhookBytes is where a batch ends although the subscriber would take more notices: a thousand
// of 1 KiB. Receivers commonly refuse bodies above a few MiB; a webhook can exceed this by one
// notice.
const maxWebhookBytes = 1 << 20

// add takes up to n notices of a lane, which is running from now on. A lane that failed before
// gives one only, so that a notice which its receiver cannot process is found and does not take
// others with it.
func (b *batch) add(l *lane, n int) {
	l.state = laneRunning
	if l.first.tries > 0 {
		n = 1
	}
	taken := 0
	for it := l.first; it != nil && taken < n && (b.bytes < maxWebhookBytes || taken == 0); it = it.next {
		it.sending = true
		if it.tries++; it.tries > 1 {
			l.sub.counts.Retried++
		}
		b.Notices = append(b.Notices, it.notice)
		b.bytes += it.notice.Size()
		taken++
	}
	b.parts = append(b.parts, batchPart{l, taken})
}

// packer decides what goes into a webhook.
type packer interface {
	// inflight bounds the webhooks in flight to a subscription.
	inflight(def subscription.Definition) int
	// pack fills b, beginning with a lane that has something; others that wait at the limiter may go
	// along. The subscriber's lock is held.
	pack(l *lane, b *batch)
}

// packers names the implementations of the seam "batching".
var packers = map[string]packer{"single": single{}, "batch": batching{}}

// single sends one notice per webhook, whatever the subscriber asked for.
type single struct{}

func (single) inflight(subscription.Definition) int { return maxConcurrency }

func (single) pack(l *lane, b *batch) { b.add(l, 1) }

// batching gives a subscriber that asked for batches all that waits for it, up to its maximum, in
// one webhook. A few webhooks at most are in flight to such a subscriber; what comes meanwhile
// waits at the limiter and goes together. So batches grow with the load, and without load no notice
// waits for a batch to fill.
type batching struct{}

// batchInflight bounds the webhooks in flight to one subscriber that gets batches.
const batchInflight = 8

func (batching) inflight(def subscription.Definition) int {
	if def.Batch > 1 {
		return batchInflight
	}
	return maxConcurrency
}

func (batching) pack(l *lane, b *batch) {
	sub := b.sub
	most := max(sub.def.Batch, 1)
	if l.first.tries > 0 { // alone, so that one which the receiver cannot process takes no others with it
		b.add(l, 1)
		return
	}
	b.add(l, most)
	for q := &sub.limiter.waiting; len(b.Notices) < most && b.bytes < maxWebhookBytes && q.n > 0; {
		l := q.first
		if l.n > 0 && l.first.tries > 0 {
			return
		}
		if q.pop(); l.n > 0 {
			b.add(l, most-len(b.Notices))
		} else {
			sub.forget(l) // its notices were given up
		}
	}
}
