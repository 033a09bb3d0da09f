package limiter

import (
	"context"
	"sync"
	"time"
)

// semaphore admits requests in order. Lighter requests do not overtake a heavy one, which would
// otherwise never be admitted.
type semaphore struct {
	maxWaiting int
	maxWait    time.Duration
	waiters    sync.Pool // of *waiter

	mu          sync.Mutex
	limit       int
	inUse       int
	first, last *waiter
	waiting     int
	refused     uint64
	control     *control // nil means a fixed limit
}

// waiter is a waiting request. It is reused, including its channel and timer.
type waiter struct {
	weight     int
	units      int           // units granted
	ready      chan struct{} // holds one value when admitted
	timer      *time.Timer
	next, prev *waiter
}

func newSemaphore(limit, maxWaiting int, maxWait time.Duration) *semaphore {
	s := &semaphore{limit: limit, maxWaiting: maxWaiting, maxWait: maxWait}
	s.waiters.New = func() any { return &waiter{ready: make(chan struct{}, 1)} }
	return s
}

func (s *semaphore) Acquire(ctx context.Context, weight int) (Permit, error) {
	if err := ctx.Err(); err != nil {
		return Permit{}, err
	}
	weight = max(weight, 1)
	s.mu.Lock()
	if s.first == nil && s.fits(weight) {
		units := s.take(weight)
		s.mu.Unlock()
		return s.permit(units), nil
	}
	if s.waiting >= s.maxWaiting {
		s.refused++
		s.mu.Unlock()
		return Permit{}, ErrFull
	}
	w := s.waiters.Get().(*waiter)
	w.weight = weight
	s.push(w)
	s.mu.Unlock()
	return s.wait(ctx, w)
}

// wait returns when a waiter was admitted, or its time is over.
func (s *semaphore) wait(ctx context.Context, w *waiter) (Permit, error) {
	var late <-chan time.Time
	if s.maxWait > 0 {
		late = w.start(s.maxWait)
	}
	var err error
	select {
	case <-w.ready:
	case <-ctx.Done():
		err = s.leave(w, ctx.Err())
	case <-late:
		err = s.leave(w, ErrTimeout)
	}
	if late != nil {
		w.timer.Stop()
	}
	units := w.units
	w.weight, w.units = 0, 0
	s.waiters.Put(w)
	if err != nil {
		return Permit{}, err
	}
	return s.permit(units), nil
}

func (w *waiter) start(d time.Duration) <-chan time.Time {
	if w.timer == nil {
		w.timer = time.NewTimer(d)
	} else {
		w.timer.Reset(d)
	}
	return w.timer.C
}

// leave withdraws a waiter and returns the reason, unless the waiter was admitted meanwhile.
func (s *semaphore) leave(w *waiter, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.units > 0 {
		<-w.ready
		return nil
	}
	s.remove(w)
	if why == ErrTimeout {
		s.refused++
	}
	s.admit() // the next may need fewer units
	return why
}

func (s *semaphore) permit(units int) Permit {
	p := Permit{in: s, units: units}
	if s.control != nil {
		p.begin = time.Now()
	}
	return p
}

func (s *semaphore) release(p Permit, o Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.control != nil {
		s.limit = s.control.next(s.limit, s.inUse, p, o)
	}
	s.inUse -= p.units
	s.admit()
}

// admit admits the waiters that fit, in order.
func (s *semaphore) admit() {
	for w := s.first; w != nil && s.fits(w.weight); w = s.first {
		s.remove(w)
		w.units = s.take(w.weight)
		w.ready <- struct{}{}
	}
}

// fits reports whether a weight fits now, or takes the whole limit.
func (s *semaphore) fits(weight int) bool { return s.inUse+min(weight, s.limit) <= s.limit }

func (s *semaphore) take(weight int) (units int) {
	units = min(weight, s.limit)
	s.inUse += units
	return units
}

func (s *semaphore) push(w *waiter) {
	w.prev = s.last
	if s.last == nil {
		s.first = w
	} else {
		s.last.next = w
	}
	s.last = w
	s.waiting++
}

func (s *semaphore) remove(w *waiter) {
	if w.prev == nil {
		s.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		s.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
	s.waiting--
}

func (s *semaphore) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Limit: s.limit, InUse: s.inUse, Waiting: s.waiting, Refused: s.refused}
}
