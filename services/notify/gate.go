package notify

import (
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"dyno/agent/monotonic"
	"dyno/parts/wheel"
	"dyno/services/notify/journal"
)

// breakerFailures in a row open a subscription's circuit breaker: it gets nothing until a pause is over, then
// one webhook, and if that fails a pause twice as long. Five: fewer, and a receiver that restarts is
// suspected; more, and one that hangs holds more workers for longer.
const breakerFailures = 5

// firstLimit is how many webhooks a receiver is trusted with before it has answered any: as many keys do not
// wait for one another.
const firstLimit = 4

// trust sets that, to less when there are so many subscriptions that if one in a hundred hangs, these could have
// more than half of the workers: until others take their places, nobody else would get anything.
func (g *gate) trust(subscriptions, workers int) {
	hang := max(1, subscriptions/100)
	g.limit = min(g.most, max(1, min(firstLimit, workers/2/hang)))
}

// gate keeps one receiver from taking more than its share: it lets a number of its lanes to the workers and
// holds the others back. The number starts at a few and rises by one with each delivery, as TCP's window does
// at its start, up to what the subscription allows; it is halved when the receiver says or shows that it is
// overloaded. So a receiver that hangs from the first webhook on holds a few workers, and few of those for long.
//
// Its fields are guarded by the subscription's mutex.
type gate struct {
	d       *Dispatcher
	sub     *subscription
	most    int // webhooks in flight that the subscription allows
	limit   int // that it is trusted with now
	out     int // lanes that were let through, whose webhooks have not come back
	sending int // of these, with a worker
	waiting fifo
	limiter *rate.Limiter // nil: no limit

	failures  int       // in a row
	paused    bool      // nothing goes through until the timer fires
	throttled bool      // the receiver asked for the pause, or the breaker did
	until     time.Time // when the pause ends
	timer     wheel.Timer
}

func (g *gate) init(d *Dispatcher, sub *subscription) {
	g.d, g.sub, g.limit = d, sub, firstLimit
	g.timer.Init(func() {
		sub.mu.Lock()
		defer sub.mu.Unlock()
		if !time.Now().Before(g.until) { // nobody made the pause longer meanwhile
			g.resume()
		}
	})
}

// configure takes a definition over; inflight is what the assembly allows.
func (g *gate) configure(def journal.Definition, inflight int) {
	g.most = inflight
	if def.Concurrency > 0 {
		g.most = min(g.most, def.Concurrency)
	} else {
		g.most = min(g.most, defaultConcurrency)
	}
	g.limit = min(g.limit, g.most)
	switch {
	case def.RatePerS == 0:
		g.limiter = nil
	case g.limiter == nil || g.limiter.Limit() != rate.Limit(def.RatePerS):
		g.limiter = rate.NewLimiter(rate.Limit(def.RatePerS), max(1, int(2*def.RatePerS*tick.Seconds()))) // as pauses end on ticks
	}
}

// ready takes a lane that has something to deliver and that nobody holds.
func (g *gate) ready(l *lane) {
	l.state = laneReady
	g.waiting.push(l)
	g.release()
}

// release lets lanes through, as many as may be.
func (g *gate) release() {
	for !g.paused && g.out < g.limit && g.waiting.len() > 0 {
		if g.limiter != nil {
			if r := g.limiter.Reserve(); r.Delay() > 0 {
				wait := r.Delay()
				r.Cancel()
				g.pause(wait, false)
				return
			}
		}
		l := g.waiting.pop()
		g.out++
		g.d.out.Add(1)
		l.queued = monotonic.Now()
		g.d.lanes.put(l)
	}
}

// back says that a lane that was let through has come back.
func (g *gate) back() {
	g.out--
	g.release()
	g.d.returned() // last: as long as there are more, the dispatcher is not idle
}

// pause holds everything back for a time. It does not shorten a pause: of webhooks that were in flight
// together, one may be answered with a Retry-After and the next without.
func (g *gate) pause(wait time.Duration, throttled bool) {
	g.throttled = g.paused && g.throttled || throttled
	if until := time.Now().Add(wait); !g.paused || until.After(g.until) {
		g.paused, g.until = true, until
		g.d.wheel.Start(&g.timer, wait)
	}
}

func (g *gate) resume() {
	g.d.wheel.Stop(&g.timer)
	g.paused, g.throttled = false, false
	g.release()
}

// judge draws the consequences of an attempt for the whole subscription.
func (g *gate) judge(o outcome) {
	if o.delivered() {
		g.failures = 0
		g.limit = min(g.limit+1, g.most)
		return
	}
	if g.paused && g.failures >= breakerFailures { // it was in flight when the breaker opened: no new evidence
		g.pause(o.after, true)
		return
	}
	g.failures++
	if o.overloaded() || o.status == 0 || o.status >= 500 {
		g.limit = max(1, g.limit/2)
	}
	switch open := g.failures - breakerFailures; {
	case open >= 0:
		g.limit = 1
		g.pause(max(o.after, g.d.backoff(open+1)), true)
	case o.overloaded():
		g.pause(max(o.after, g.d.backoff(g.failures)), true)
	}
}

// overloaded reports whether the receiver says that it has too much to do.
func (o outcome) overloaded() bool {
	switch o.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// fifo is a queue of lanes.
type fifo struct {
	lanes []*lane
	head  int
}

func (f *fifo) len() int { return len(f.lanes) - f.head }

func (f *fifo) push(l *lane) { f.lanes = append(f.lanes, l) }

func (f *fifo) peek() *lane { return f.lanes[f.head] }

func (f *fifo) pop() *lane {
	l := f.lanes[f.head]
	f.lanes[f.head] = nil
	switch f.head++; {
	case f.head == len(f.lanes):
		*f = fifo{} // lets go of the memory of a burst
	case f.head >= 1024 && f.head*2 >= len(f.lanes):
		n := copy(f.lanes, f.lanes[f.head:])
		clear(f.lanes[n:])
		f.lanes, f.head = f.lanes[:n], 0
	}
	return l
}
