// Package timers runs the functions of very many timers in one goroutine. A dispatcher with a
// million keys that wait for their next attempt has a million timers, and when many are due at a
// time, as after a virtual machine or a process was stopped for a while, time.AfterFunc would start
// a goroutine for each.
//
// It is not for precision (a timer fires up to one tick late, never early, if the functions of the
// timers before it were short) nor for periodic work.
//
// A Queue owns no goroutine. The caller runs Run in one; the timers' functions run in it, one after
// the other, so they must be short. Under testing/synctest it is deterministic.
package timers

import (
	"container/heap"
	"context"
	"math"
	"sync"
	"time"
)

// forever is until a timer is started.
const forever = time.Duration(math.MaxInt64)

// Queue is a set of timers. Its methods are safe for concurrent use.
type Queue struct {
	tick   time.Duration
	origin time.Time
	wake   chan struct{} // holds at most one value

	mu      sync.Mutex
	pending timers
	next    time.Duration // the tick after the last that fired
	alarm   time.Duration // when Run wakes; 0: it is awake
}

// Timer runs a function some time after it was started. Embed it in the value that waits; do not
// copy it or use it with two queues.
type Timer struct {
	f        func()
	deadline time.Duration // since the queue's origin, in whole ticks
	place    int           // in timers, from 1 on; 0: not pending
}

// Init sets the function. It runs without the queue's lock: it may start and stop timers, including
// its own. Init is called once, before the timer is started.
func (t *Timer) Init(f func()) { t.f = f }

// New returns a queue whose timers fire on ticks of a duration, so that those which are due within
// one wake it once.
func New(tick time.Duration) *Queue {
	return &Queue{tick: tick, origin: time.Now(), wake: make(chan struct{}, 1)}
}

// Run fires timers until ctx ends; remaining timers stay pending. Timers of one tick fire in no
// particular order. Runs must not overlap; another may follow.
func (q *Queue) Run(ctx context.Context) {
	clock := time.NewTimer(forever)
	defer clock.Stop()
	for ctx.Err() == nil {
		f, sleep := q.take()
		if f != nil {
			f()
			continue
		}
		clock.Reset(sleep)
		select {
		case <-ctx.Done():
		case <-q.wake:
		case <-clock.C:
		}
	}
}

// take returns the function of the timer that is due first, or how long none is due.
func (q *Queue) take() (f func(), sleep time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.alarm = forever
	if len(q.pending) == 0 {
		return nil, forever
	}
	first := q.pending[0]
	if wait := first.deadline - time.Since(q.origin); wait > 0 {
		q.alarm = first.deadline
		return nil, wait
	}
	q.alarm = 0
	heap.Pop(&q.pending)
	// Timers started from now on belong to the next tick, so a timer that restarts itself immediately
	// cannot delay the others.
	q.next = first.deadline + q.tick
	return first.f, 0
}

// Start makes t fire after d (0 or less: on the next tick). A pending timer is moved. If t's
// function is running, it will run once more.
func (q *Queue) Start(t *Timer, d time.Duration) {
	deadline := q.deadline(d)
	q.mu.Lock()
	t.deadline = max(deadline, q.next)
	if t.place > 0 {
		heap.Fix(&q.pending, t.place-1)
	} else {
		heap.Push(&q.pending, t)
	}
	earlier := t.deadline < q.alarm
	if earlier {
		q.alarm = 0
	}
	q.mu.Unlock()
	if earlier {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
}

// Stop reports whether it prevented t from firing: its function will then not run. It returns false
// when the function has run, is running or was not scheduled, and does not wait for it.
func (q *Queue) Stop(t *Timer) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.place == 0 {
		return false
	}
	heap.Remove(&q.pending, t.place-1)
	return true
}

// deadline returns the first tick that does not begin before d has passed.
func (q *Queue) deadline(d time.Duration) time.Duration {
	at := time.Since(q.origin)
	at += min(max(d, 0), forever-at) // 292 years
	if begun := at % q.tick; begun > 0 && at < forever-q.tick {
		at += q.tick - begun
	}
	return at
}

// timers is a heap of them, by deadline.
type timers []*Timer

func (p timers) Len() int           { return len(p) }
func (p timers) Less(i, j int) bool { return p[i].deadline < p[j].deadline }

func (p timers) Swap(i, j int) {
	p[i], p[j] = p[j], p[i]
	p[i].place, p[j].place = i+1, j+1
}

func (p *timers) Push(t any) {
	*p = append(*p, t.(*Timer))
	t.(*Timer).place = len(*p)
}

func (p *timers) Pop() any {
	last := len(*p) - 1
	t := (*p)[last]
	(*p)[last], *p = nil, (*p)[:last]
	t.place = 0
	return t
}
