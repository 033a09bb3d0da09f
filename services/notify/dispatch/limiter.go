package dispatch

import (
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"dyno/agent/monotonic"
	"dyno/services/notify/subscription"
	"dyno/services/notify/timers"
	"dyno/services/notify/webhook"
)

// breakerFailures in a row open a receiver's circuit breaker: it gets nothing until a pause is
// over, then one webhook, and if that fails a pause twice as long. Five: fewer, and a receiver that
// restarts is suspected; more, and one that hangs holds more workers for longer.
const breakerFailures = 5

// firstLimit is how many webhooks may be in flight to a receiver before it has answered any: as
// many keys do not wait for one another.
const firstLimit = 4

// receiverLimiter bounds what one receiver takes: it lets a number of its lanes to the workers and
// holds the others back. The number starts at a few and rises by one with each delivery, as TCP's
// window does at its start, up to what the subscription allows; it is halved when the receiver says
// or shows that it is overloaded. So a receiver that hangs from the first webhook on holds a few
// workers, and few of those for long.
//
// Its fields are guarded by the subscriber's lock.
type receiverLimiter struct {
	outlet  *outlet
	most    int // webhooks in flight that the subscription allows
	limit   int // webhooks that may be in flight now
	out     int // lanes that were let through, whose webhooks have not come back
	sending int // lanes among these that are with a worker
	waiting laneQueue
	rate    *rate.Limiter // nil means no limit

	failures    int       // in a row
	paused      bool      // no lane goes through until the timer fires
	circuitOpen bool      // the receiver asked for the pause, or the breaker did
	until       time.Time // when the pause ends
	timer       timers.Timer
}

func (g *receiverLimiter) init(o *outlet, mu *sync.Mutex) {
	g.outlet, g.limit = o, firstLimit
	g.timer.Init(func() {
		mu.Lock()
		defer mu.Unlock()
		if !time.Now().Before(g.until) { // the pause was not made longer meanwhile
			g.resume()
		}
	})
}

// configure takes a definition over; inflight is what the assembly allows.
func (g *receiverLimiter) configure(def subscription.Definition, inflight int) {
	g.most = inflight
	if def.Concurrency > 0 {
		g.most = min(g.most, def.Concurrency)
	} else {
		g.most = min(g.most, DefaultConcurrency)
	}
	g.limit = min(g.limit, g.most)
	switch {
	case def.RatePerS == 0:
		g.rate = nil
	case g.rate == nil || g.rate.Limit() != rate.Limit(def.RatePerS):
		g.rate = rate.NewLimiter(rate.Limit(def.RatePerS), max(1, int(2*def.RatePerS*Tick.Seconds()))) // as pauses end on ticks
	}
}

// enqueue takes a lane that has something to deliver and has no holder.
func (g *receiverLimiter) enqueue(l *lane) {
	l.state = laneReady
	g.waiting.push(l)
	g.release()
}

// release lets as many lanes through as the limits permit.
func (g *receiverLimiter) release() {
	for !g.paused && g.out < g.limit && g.waiting.n > 0 {
		if g.rate != nil {
			if r := g.rate.Reserve(); r.Delay() > 0 {
				wait := r.Delay()
				r.Cancel()
				g.pause(wait, false)
				return
			}
		}
		l := g.waiting.pop()
		g.out++
		g.outlet.out.Add(1)
		l.queued = monotonic.Now()
		g.outlet.queue.put(l)
	}
}

// done counts a lane that was let through and has come back.
func (g *receiverLimiter) done() {
	g.out--
	g.release()
	if g.outlet.out.Add(-1) == 0 { // last: as long as there are more lanes, the deliverer is not idle
		g.outlet.signalIdle()
	}
}

// pause holds all lanes back for a time. It does not shorten a pause: of webhooks that were in
// flight together, one may be answered with a Retry-After and the next without.
func (g *receiverLimiter) pause(wait time.Duration, circuitOpen bool) {
	g.circuitOpen = g.paused && g.circuitOpen || circuitOpen
	if until := time.Now().Add(wait); !g.paused || until.After(g.until) {
		g.paused, g.until = true, until
		g.outlet.timers.Start(&g.timer, wait)
	}
}

// retry ends all pauses, since what made the receiver fail may be over.
func (g *receiverLimiter) retry() {
	g.failures = 0
	g.resume()
}

func (g *receiverLimiter) resume() {
	g.outlet.timers.Stop(&g.timer)
	g.paused, g.circuitOpen = false, false
	g.release()
}

// onResult adjusts the limit and the breaker to an attempt's outcome.
func (g *receiverLimiter) onResult(o webhook.Outcome) {
	if o.Delivered() {
		g.failures = 0
		g.limit = min(g.limit+1, g.most)
		return
	}
	if g.paused && g.failures >= breakerFailures { // it was in flight when the breaker opened: no new evidence
		g.pause(o.RetryAfter, true)
		return
	}
	g.failures++
	if o.Overloaded() || o.Status == 0 || o.Status >= 500 {
		g.limit = max(1, g.limit/2)
	}
	switch open := g.failures - breakerFailures; {
	case open >= 0:
		g.limit = 1
		g.pause(max(o.RetryAfter, g.outlet.backoff.wait(open+1)), true)
	case o.Overloaded():
		g.pause(max(o.RetryAfter, g.outlet.backoff.wait(g.failures)), true)
	}
}

// backoff is how long to wait after failed attempts.
type backoff struct{ first, most time.Duration }

// wait doubles with every attempt; half of it is random, so that receivers are not hit in step.
func (b backoff) wait(tries int) time.Duration {
	wait := min(b.first<<min(max(tries-1, 0), 20), b.most)
	return wait/2 + rand.N(wait/2+1)
}

// laneQueue is a queue of lanes, first in, first out. It links the lanes themselves: a lane is in
// one queue at most, since it has one holder.
type laneQueue struct {
	first, last *lane
	n           int
}

func (q *laneQueue) push(l *lane) {
	if q.first == nil {
		q.first = l
	} else {
		q.last.following = l
	}
	q.last = l
	q.n++
}

func (q *laneQueue) pop() *lane {
	l := q.first
	if q.first = l.following; q.first == nil {
		q.last = nil
	}
	l.following = nil
	q.n--
	return l
}
