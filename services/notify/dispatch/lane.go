package dispatch

import (
	"time"

	"dyno/agent/monotonic"
	"dyno/services/notify/notice"
	"dyno/services/notify/timers"
)

// lane is what one subscription has not got of one key, in order, as far as it is in memory. Its
// fields are guarded by the subscriber's lock.
type lane struct {
	sub   *subscriber
	key   string
	state laneState
	first *item // nil means that the lane is empty
	last  *item
	n     int
	timer timers.Timer // of a parked lane

	following *lane // in the queue that holds this one, of its limiter or to the workers

	parked int64     // when it was last parked, ns, monotonic
	due    time.Time // when the parking ends
	queued int64     // when it was last let through to the workers, ns, monotonic
}

// laneState says what holds a lane. Only one holder does, so at most one webhook is in flight for
// each key. A lane without items is forgotten as soon as it has no holder.
type laneState uint8

const (
	laneReady   laneState = iota // at its receiver's limiter, or in the queue
	laneRunning                  // with a worker
	laneParked                   // failed; waits for its timer
	laneGone                     // forgotten
)

// item is one notice that one subscription has not got yet.
type item struct {
	notice       *notice.Notice
	since        int64 // when it came into its lane, ns, monotonic
	tries        int
	sending      bool  // the last of its tries is in progress
	replayed     bool  // it was a dead letter
	next         *item // in the lane
	older, newer *item // among all of the receiver's
}

// owedSince is since when a subscription is owed it, unix time in ns: a dead letter, since it was
// replayed.
func (it *item) owedSince() int64 {
	if it.replayed {
		return time.Now().UnixNano() - (monotonic.Now() - it.since)
	}
	return it.notice.Accepted
}

// append puts an item at the end of a lane.
func (l *lane) append(it *item) {
	it.since = monotonic.Now()
	if l.first == nil {
		l.first = it
	} else {
		l.last.next = it
	}
	l.last = it
	l.n++
	sub := l.sub
	sub.n++
	sub.bytes += it.notice.Cost()
	sub.byAge.push(it)
}

// pop takes the first item off.
func (l *lane) pop() *item {
	it := l.first
	if l.first = it.next; l.first == nil {
		l.last = nil
	}
	l.n--
	sub := l.sub
	sub.n--
	sub.bytes -= it.notice.Cost()
	sub.byAge.remove(it)
	return it
}

// lane returns the lane of a key and whether it is new, in which case it has no holder yet.
func (sub *subscriber) lane(key string) (l *lane, fresh bool) {
	if l = sub.lanes[key]; l != nil {
		return l, false
	}
	l = &lane{sub: sub, key: key}
	l.timer.Init(l.unpark)
	sub.lanes[key] = l
	return l, true
}

// forget drops a lane.
func (sub *subscriber) forget(l *lane) {
	sub.d.timers.Stop(&l.timer)
	l.state = laneGone
	delete(sub.lanes, l.key)
}

// release goes on with a lane that a worker has come back with, or whose timer has fired.
func (sub *subscriber) release(l *lane) {
	if l.n > 0 {
		sub.limiter.enqueue(l)
	} else {
		sub.forget(l)
	}
}

// park lets a lane wait for its timer: it holds no worker, and other lanes go on.
func (sub *subscriber) park(l *lane, wait time.Duration) {
	l.state, l.parked, l.due = laneParked, monotonic.Now(), time.Now().Add(wait)
	sub.d.timers.Start(&l.timer, wait)
}

func (l *lane) unpark() {
	l.sub.mu.Lock()
	defer l.sub.mu.Unlock()
	if l.state == laneParked {
		l.sub.release(l)
	}
}

// byAge chains a receiver's items in the order in which they came, so that the oldest is always
// known, whichever others are delivered first.
type byAge struct{ oldest, newest *item }

func (a *byAge) push(it *item) {
	if it.older = a.newest; it.older == nil {
		a.oldest = it
	} else {
		it.older.newer = it
	}
	a.newest = it
}

func (a *byAge) remove(it *item) {
	if it.older == nil {
		a.oldest = it.newer
	} else {
		it.older.newer = it.newer
	}
	if it.newer == nil {
		a.newest = it.older
	} else {
		it.newer.older = it.older
	}
	it.older, it.newer = nil, nil
}
