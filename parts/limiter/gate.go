package limiter

import (
	"context"
	"sync"
	"time"
)

// gate lets requests in, in order. One that needs much is not overtaken by those that need less, or it would
// never come to its turn.
type gate struct {
	maxWaiting int
	maxWait    time.Duration
	waiters    sync.Pool // of *waiter

	mu          sync.Mutex
	limit       int
	inUse       int
	first, last *waiter
	waiting     int
	refused     uint64
	control     *control // nil: the limit stays
}

// waiter is a request that waits. It is used again, and its channel and timer with it.
type waiter struct {
	weight     int
	units      int           // that it was given
	ready      chan struct{} // holds one when it was let in
	timer      *time.Timer
	next, prev *waiter
}

func newGate(limit, maxWaiting int, maxWait time.Duration) *gate {
	g := &gate{limit: limit, maxWaiting: maxWaiting, maxWait: maxWait}
	g.waiters.New = func() any { return &waiter{ready: make(chan struct{}, 1)} }
	return g
}

func (g *gate) Acquire(ctx context.Context, weight int) (Permit, error) {
	if err := ctx.Err(); err != nil {
		return Permit{}, err
	}
	weight = max(weight, 1)
	g.mu.Lock()
	if g.first == nil && g.fits(weight) {
		units := g.take(weight)
		g.mu.Unlock()
		return g.permit(units), nil
	}
	if g.waiting >= g.maxWaiting {
		g.refused++
		g.mu.Unlock()
		return Permit{}, ErrFull
	}
	w := g.waiters.Get().(*waiter)
	w.weight = weight
	g.push(w)
	g.mu.Unlock()
	return g.wait(ctx, w)
}

// wait returns when a waiter was let in, or gives up.
func (g *gate) wait(ctx context.Context, w *waiter) (Permit, error) {
	var late <-chan time.Time
	if g.maxWait > 0 {
		late = w.start(g.maxWait)
	}
	var err error
	select {
	case <-w.ready:
	case <-ctx.Done():
		err = g.leave(w, ctx.Err())
	case <-late:
		err = g.leave(w, ErrTimeout)
	}
	if late != nil {
		w.timer.Stop()
	}
	units := w.units
	w.weight, w.units = 0, 0
	g.waiters.Put(w)
	if err != nil {
		return Permit{}, err
	}
	return g.permit(units), nil
}

func (w *waiter) start(d time.Duration) <-chan time.Time {
	if w.timer == nil {
		w.timer = time.NewTimer(d)
	} else {
		w.timer.Reset(d)
	}
	return w.timer.C
}

// leave gives up, and returns why, unless the waiter was let in at this moment.
func (g *gate) leave(w *waiter, why error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.units > 0 {
		<-w.ready
		return nil
	}
	g.remove(w)
	if why == ErrTimeout {
		g.refused++
	}
	g.admit() // the next may need less
	return why
}

func (g *gate) permit(units int) Permit {
	p := Permit{gate: g, units: units}
	if g.control != nil {
		p.begin = time.Now()
	}
	return p
}

func (g *gate) release(p Permit, o Outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.control != nil {
		g.limit = g.control.next(g.limit, g.inUse, p, o)
	}
	g.inUse -= p.units
	g.admit()
}

// admit lets in who may, the first first.
func (g *gate) admit() {
	for w := g.first; w != nil && g.fits(w.weight); w = g.first {
		g.remove(w)
		w.units = g.take(w.weight)
		w.ready <- struct{}{}
	}
}

// fits reports whether there is room, now, for a weight or for as much of it as there ever is.
func (g *gate) fits(weight int) bool { return g.inUse+min(weight, g.limit) <= g.limit }

func (g *gate) take(weight int) (units int) {
	units = min(weight, g.limit)
	g.inUse += units
	return units
}

func (g *gate) push(w *waiter) {
	w.prev = g.last
	if g.last == nil {
		g.first = w
	} else {
		g.last.next = w
	}
	g.last = w
	g.waiting++
}

func (g *gate) remove(w *waiter) {
	if w.prev == nil {
		g.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		g.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
	g.waiting--
}

func (g *gate) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Stats{Limit: g.limit, InUse: g.inUse, Waiting: g.waiting, Refused: g.refused}
}
