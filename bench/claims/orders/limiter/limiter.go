// Package limiter limits the concurrency of requests, and queues further ones: in order, for a
// limited time and up to a limited number. A request that is refused immediately costs next to
// nothing; a request whose caller has given up still costs as much as one that is answered.
//
// There are two kinds: a fixed limit, and one that adapts to latency and outcomes like TCP's window
// (additive increase, multiplicative decrease). A request takes one unit or more.
//
// It does not limit rates: golang.org/x/time/rate does. (golang.org/x/sync/semaphore has neither a
// limit on waiting requests nor an adaptive limit.) chaind has a smaller one, which is fixed. It
// starts no goroutines.
package limiter

import (
	"context"
	"errors"
	"time"
)

var (
	// ErrFull means that MaxWaiting requests already wait.
	ErrFull = errors.New("limiter: too many requests wait")

	// ErrTimeout means that a request has waited for MaxWait.
	ErrTimeout = errors.New("limiter: waited too long")
)

// Limiter admits requests.
type Limiter interface {
	// Acquire waits for its turn to take weight units, at least 1. A weight above the limit takes all
	// of it. Errors are ErrFull, ErrTimeout and that of ctx.
	Acquire(ctx context.Context, weight int) (Permit, error)
	Stats() Stats
}

// Stats are a limiter's gauges and counters.
type Stats struct {
	Limit   int    // units
	InUse   int    // units; above Limit for a while after a cut
	Waiting int    // requests
	Refused uint64 // requests, with ErrFull or ErrTimeout, since the start
}

// Outcome is how a request ended, from the limiter's point of view.
type Outcome uint8

const (
	// Good means that it was answered, even with a refusal; its duration counts, too.
	Good Outcome = iota
	// Dropped means that the called server did not answer, was too slow, or was overloaded.
	Dropped
	// Ignored means that the outcome shows nothing: the caller gave up early, or no request was made.
	Ignored
)

// Permit admits one request. It is released once.
type Permit struct {
	in    *semaphore
	units int
	begin time.Time // for adaptive limits
}

// Release returns the units. It does nothing on the zero Permit.
func (p Permit) Release(o Outcome) {
	if p.in != nil {
		p.in.release(p, o)
	}
}

// Fixed configures a fixed limit.
type Fixed struct {
	Limit      int           // units; 0 means 1
	MaxWaiting int           // requests; 0 means that none waits
	MaxWait    time.Duration // 0 means as long as the request's context lasts
}

// NewFixed returns a weighted semaphore.
func NewFixed(c Fixed) Limiter {
	return newSemaphore(max(c.Limit, 1), c.MaxWaiting, c.MaxWait)
}

// AIMD configures an adaptive limit. It starts at Min.
type AIMD struct {
	Min, Max   int           // units; 0 means 1 and Min
	Target     time.Duration // from a permit to its release; a longer request cuts the limit; 0: only Dropped does
	MaxWaiting int           // requests; 0 means that none waits
	MaxWait    time.Duration // 0 means as long as the request's context lasts
}

// NewAIMD returns an adaptive limiter: one unit more after a limit's worth of good outcomes, a
// quarter less after a bad one.
func NewAIMD(c AIMD) Limiter {
	c.Min = max(c.Min, 1)
	c.Max = max(c.Max, c.Min)
	s := newSemaphore(c.Min, c.MaxWaiting, c.MaxWait)
	s.control = &control{AIMD: c}
	return s
}
