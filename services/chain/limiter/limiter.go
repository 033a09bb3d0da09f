// Package limiter limits the number of requests at a time, and queues further ones: in order, for a
// limited time and up to a limited number. A request that is refused immediately costs next to
// nothing; a request whose caller has given up still costs as much as one that is answered. WithTimeout limits
// the time of a request, but for what it waits for others.
//
// It does not limit rates: golang.org/x/time/rate does. (golang.org/x/sync/semaphore has no limit
// on waiting requests.) It starts no goroutines.
package limiter

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

var (
	// ErrFull means that MaxWaiting requests already wait.
	ErrFull = errors.New("limiter: too many requests wait")

	// ErrTimeout means that a request has waited for MaxWait.
	ErrTimeout = errors.New("limiter: waited too long")
)

// Options of a Limiter.
type Options struct {
	Limit      int           // requests at a time, at least 1
	MaxWaiting int           // further ones, which wait
	MaxWait    time.Duration // 0: as long as the request's context lasts
}

// Limiter admits requests. Any goroutine may use it.
type Limiter struct {
	o        Options
	admitted chan struct{} // a value for each request; goroutines wait to send in their order
	waiting  atomic.Int64
}

// New returns a limiter that has admitted none.
func New(o Options) *Limiter {
	return &Limiter{o: o, admitted: make(chan struct{}, o.Limit)}
}

// Limit is the number of requests at a time.
func (l *Limiter) Limit() int { return l.o.Limit }

// Acquire waits for its turn. Errors are ErrFull, ErrTimeout and that of ctx; without one the
// caller calls Release.
func (l *Limiter) Acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l.admitted <- struct{}{}:
		return nil
	default:
	}
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > int64(l.o.MaxWaiting) {
		return ErrFull
	}
	var late <-chan time.Time
	if l.o.MaxWait > 0 {
		timer := time.NewTimer(l.o.MaxWait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case l.admitted <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
		return ErrTimeout
	}
}

// Release makes room for another request.
func (l *Limiter) Release() { <-l.admitted }
