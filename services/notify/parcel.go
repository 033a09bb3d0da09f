package notify

// parcel is what goes into one webhook: the first notices of one lane, or of several lanes of one
// subscription. It belongs to one worker and is used again.
type parcel struct {
	sub     *subscription
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

func (p *parcel) reset(sub *subscription) {
	clear(p.parts)
	clear(p.notices)
	clear(p.legs)
	p.sub, p.parts, p.notices, p.bytes, p.legs = sub, p.parts[:0], p.notices[:0], 0, p.legs[:0]
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
		if it.tries++; it.tries > 1 {
			l.sub.counts.Retried++
		}
		p.notices = append(p.notices, it.notice)
		p.bytes += it.notice.size()
		taken++
	}
	p.parts = append(p.parts, part{l, taken})
}

// packer decides what goes into a webhook. All methods are called with the subscription's mutex held.
type packer interface {
	// ready says that a lane has something to deliver and that nobody holds it.
	ready(l *lane)
	// pack fills p with what is to be sent now that a worker took entry from the queue; maybe nothing.
	pack(entry *lane, p *parcel)
	// done says that the worker has come back from sending p.
	done(p *parcel)
}

// newPackers names the implementations of the seam "batching".
var newPackers = map[string]func(c Config, put func(*lane)) packer{
	"single": func(_ Config, put func(*lane)) packer { return single{put} },
	"batch": func(c Config, put func(*lane)) packer {
		return batching{single: single{put}, inflight: c.BatchInflight}
	},
}

// single sends one notice per webhook, whatever the subscriber asked for.
type single struct{ put func(*lane) }

func (s single) ready(l *lane) {
	l.state = laneReady
	s.put(l)
}

func (s single) pack(entry *lane, p *parcel) {
	if entry.state == laneReady {
		p.add(entry, 1)
	}
}

func (s single) done(*parcel) {}

// batching gives a subscriber that asked for it all that waits for it, up to its maximum, in one webhook.
// A few webhooks at most are in flight to such a subscriber; what comes meanwhile goes together. So
// batches grow with the load, and nothing waits for a batch to fill while there is none.
type batching struct {
	single
	inflight int // webhooks to one subscriber at once
}

// gathering is the state of a subscription that gets batches.
type gathering struct {
	token   *lane   // stands in the queue for "this subscription has lanes waiting"
	queued  bool    // the token is in the queue
	sending int     // webhooks in flight
	waiting []*lane // ready, oldest first
}

func (b batching) ready(l *lane) {
	if l.sub.batch == 1 {
		b.single.ready(l)
		return
	}
	l.state = laneReady
	l.sub.gather.waiting = append(l.sub.gather.waiting, l)
	b.kick(l.sub)
}

// kick sees to it that a worker comes for what waits.
func (b batching) kick(sub *subscription) {
	g := &sub.gather
	if len(g.waiting) > 0 && !g.queued && g.sending < b.inflight {
		g.queued = true
		b.put(g.token)
	}
}

func (b batching) pack(entry *lane, p *parcel) {
	g := &entry.sub.gather
	if entry != g.token {
		b.single.pack(entry, p)
		return
	}
	g.queued = false
	g.sending++
	n := 0
	for n < len(g.waiting) && len(p.notices) < p.sub.batch && p.bytes < maxWebhookBytes {
		if l := g.waiting[n]; l.state == laneReady {
			p.add(l, p.sub.batch-len(p.notices))
		}
		n++
	}
	clear(g.waiting[:n])
	if g.waiting = g.waiting[n:]; len(g.waiting) == 0 {
		g.waiting = nil
	}
	if len(p.parts) == 0 {
		g.sending--
	}
	b.kick(entry.sub)
}

func (b batching) done(p *parcel) {
	if p.sub.batch > 1 {
		p.sub.gather.sending--
		b.kick(p.sub)
	}
}
