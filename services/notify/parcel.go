package notify

import (
	"net/http"
	"net/url"
)

// parcel is what goes into one webhook: the first notices of one lane, or of several lanes of one
// subscription. It belongs to one worker and is used again.
type parcel struct {
	sub     *subscription
	request *http.Request // what the subscription's webhooks have in common
	target  *url.URL
	parts   []part
	notices []*notice
	bytes   int   // of the notices
	legs    []leg // of the notices that are traced
}

// part is how many notices a lane gave.
type part struct {
	lane *lane
	n    int
}

// settled says that the attempt at these is over.
func (p part) settled() {
	it := p.lane.first
	for range p.n {
		it.sending = false
		it = it.behind
	}
}

func (p *parcel) reset(sub *subscription) {
	clear(p.parts)
	clear(p.notices)
	clear(p.legs)
	p.sub, p.request, p.target = sub, sub.request, sub.request.URL
	p.parts, p.notices, p.bytes, p.legs = p.parts[:0], p.notices[:0], 0, p.legs[:0]
}

// maxWebhookBytes is where a batch ends although the subscriber would take more notices: a thousand of
// 1 KiB. Receivers commonly refuse bodies above a few MiB; a webhook can exceed this by one notice.
const maxWebhookBytes = 1 << 20

// add takes up to n notices of a lane, which is running from now on. A lane that failed before gives one
// only, so that a notice which its receiver cannot digest is found and does not take others with it.
func (p *parcel) add(l *lane, n int) {
	l.state = laneRunning
	if l.first.tries > 0 {
		n = 1
	}
	taken := 0
	for it := l.first; it != nil && taken < n && (p.bytes < maxWebhookBytes || taken == 0); it = it.behind {
		it.sending = true
		if it.tries++; it.tries > 1 {
			l.sub.counts.Retried++
		}
		p.notices = append(p.notices, it.notice)
		p.bytes += it.notice.size()
		taken++
	}
	p.parts = append(p.parts, part{l, taken})
}

// packer decides what goes into a webhook.
type packer interface {
	// inflight is how many webhooks to a subscription there may be at once.
	inflight(sub *subscription) int
	// pack fills p, beginning with a lane that has something; others that wait at the gate may go along. The
	// subscription's mutex is held.
	pack(l *lane, p *parcel)
}

// newPackers names the implementations of the seam "batching".
var newPackers = map[string]func(c Config) packer{
	"single": func(Config) packer { return single{} },
	"batch":  func(c Config) packer { return batching{c.BatchInflight} },
}

// single sends one notice per webhook, whatever the subscriber asked for.
type single struct{}

func (single) inflight(*subscription) int { return maxConcurrency }

func (single) pack(l *lane, p *parcel) { p.add(l, 1) }

// batching gives a subscriber that asked for it all that waits for it, up to its maximum, in one webhook.
// A few webhooks at most are in flight to such a subscriber; what comes meanwhile waits at the gate and goes
// together. So batches grow with the load, and nothing waits for a batch to fill while there is none.
type batching struct {
	most int // webhooks to one subscriber at once
}

func (b batching) inflight(sub *subscription) int {
	if sub.def.Batch > 1 {
		return b.most
	}
	return maxConcurrency
}

func (b batching) pack(l *lane, p *parcel) {
	batch := max(p.sub.def.Batch, 1)
	if l.first.tries > 0 { // alone, so that one which cannot be digested takes no others with it
		p.add(l, 1)
		return
	}
	p.add(l, batch)
	for g := &p.sub.gate; len(p.notices) < batch && p.bytes < maxWebhookBytes && g.waiting.len() > 0; {
		l := g.waiting.peek()
		if l.n > 0 && l.first.tries > 0 {
			return
		}
		if g.waiting.pop(); l.n > 0 {
			p.add(l, batch-len(p.notices))
		} else {
			g.d.forget(l) // what it held was given up
		}
	}
}
