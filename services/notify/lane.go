package notify

import (
	"hash/maphash"
	"time"

	"dyno/agent/monotonic"
	"dyno/parts/wheel"
)

// hashSeed spreads keys over whatever a queue keeps apart.
var hashSeed = maphash.MakeSeed()

// lane is what one subscription is still to get of one key, in order, as far as it is in memory. Its fields
// are guarded by the subscription's mutex.
type lane struct {
	sub   *subscription
	key   string
	hash  uint64
	state laneState
	first *item // nil: nothing left
	last  *item
	n     int
	timer wheel.Timer // of a parked lane

	parked int64     // when it was last, ns, monotonic
	due    time.Time // until when
	queued int64     // when it was last let through to the workers, ns, monotonic
}

// laneState says who will next look at a lane. Only one does, so one webhook at most is in flight per
// key. A lane without items is forgotten as soon as nobody holds it.
type laneState uint8

const (
	laneReady   laneState = iota // at its subscription's gate, or in the queue
	laneRunning                  // with a worker
	laneParked                   // failed; waits for its timer
	laneGone                     // forgotten
)

// item is one notice that one subscription has not got yet.
type item struct {
	notice       *notice
	since        int64 // when it came into its lane, ns, monotonic
	tries        int
	sending      bool  // the last of its tries is under way
	letter       bool  // it was a dead letter, which is replayed
	behind       *item // in the lane
	older, newer *item // among all of the subscription's
}

// append puts an item at the end of a lane.
func (l *lane) append(it *item) {
	it.since = monotonic.Now()
	if l.first == nil {
		l.first = it
	} else {
		l.last.behind = it
	}
	l.last = it
	l.n++
	l.sub.n++
	l.sub.bytes += it.notice.cost()
	l.sub.ages.push(it)
}

// pop takes the first item off.
func (l *lane) pop() *item {
	it := l.first
	if l.first = it.behind; l.first == nil {
		l.last = nil
	}
	l.n--
	l.sub.n--
	l.sub.bytes -= it.notice.cost()
	l.sub.ages.remove(it)
	return it
}

// lane returns the lane of a key and whether it is new, in which case nobody holds it yet.
func (d *Dispatcher) lane(sub *subscription, key string) (l *lane, fresh bool) {
	if l = sub.lanes[key]; l != nil {
		return l, false
	}
	l = &lane{sub: sub, key: key, hash: maphash.String(hashSeed, key)}
	l.timer.Init(func() { d.unpark(l) })
	sub.lanes[key] = l
	return l, true
}

// forget lets go of a lane.
func (d *Dispatcher) forget(l *lane) {
	d.wheel.Stop(&l.timer)
	l.state = laneGone
	delete(l.sub.lanes, l.key)
}

// ages chains a subscription's items in the order in which they came, so that the oldest is always known,
// however far the others have got.
type ages struct{ oldest, newest *item }

func (a *ages) push(it *item) {
	if it.older = a.newest; it.older == nil {
		a.oldest = it
	} else {
		it.older.newer = it
	}
	a.newest = it
}

func (a *ages) remove(it *item) {
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
