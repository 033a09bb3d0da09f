package notify

import (
	"time"

	"dyno/agent/monotonic"
)

// lane is what one subscription is still to get of one key, in order. Its fields are guarded by the
// subscription's mutex.
type lane struct {
	sub   *subscription
	key   string
	hash  uint64
	state laneState
	first *item // nil: nothing left
	last  *item
	n     int
	timer *time.Timer // of a parked lane

	parked int64 // when it was last, ns, monotonic
}

// laneState says who will next look at a lane. Only one does, so one webhook at most is in flight per
// key. A lane without items is in no state: it is forgotten.
type laneState uint8

const (
	laneReady   laneState = iota // in the queue, or in its subscription's waiting list
	laneRunning                  // with a worker
	laneParked                   // failed; waits for its timer
	laneGone                     // its subscription has gone
)

// item is one notice that one subscription has not got yet.
type item struct {
	notice       *notice
	accepted     int64 // ns, monotonic
	tries        int
	behind       *item // in the lane
	older, newer *item // among all of the subscription's
}

// append puts a notice at the end of a lane.
func (l *lane) append(n *notice) {
	it := &item{notice: n, accepted: monotonic.Now()}
	if l.first == nil {
		l.first = it
	} else {
		l.last.behind = it
	}
	l.last = it
	l.n++
	l.sub.ages.push(it)
}

// pop takes the first item off.
func (l *lane) pop() *item {
	it := l.first
	if l.first = it.behind; l.first == nil {
		l.last = nil
	}
	l.n--
	l.sub.ages.remove(it)
	return it
}

// ages chains a subscription's items in the order of their acceptance, so that the oldest is always
// known, however far the others have got.
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
