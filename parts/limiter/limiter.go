// Package limiter bounds how much is under way at once, and how many wait for their turn: in order, for a bounded
// time, and beyond a bounded number not at all. A request that is refused at once costs next to nothing; one that
// waits longer than its caller does costs as much as one that is answered, for nobody.
//
// There are two kinds: a limit that is fixed, and one that adapts as TCP's window does (additive increase,
// multiplicative decrease), to how long things take and how they end. A request takes one unit or more.
//
// It does not bound rates: that is golang.org/x/time/rate. (golang.org/x/sync/semaphore has neither a bound on
// who waits nor a limit that moves.) It starts no goroutines.
package limiter

import (
	"context"
	"errors"
	"time"
)

var (
	// ErrFull says that MaxWaiting requests wait already.
	ErrFull = errors.New("limiter: too many requests wait")

	// ErrTimeout says that a request waited for MaxWait.
	ErrTimeout = errors.New("limiter: waited too long")
)

// Limiter lets requests in.
type Limiter interface {
	// Acquire waits for its turn to take so many units, at least 1. A weight above the limit takes all of it.
	// Errors are ErrFull, ErrTimeout and that of ctx.
	Acquire(ctx context.Context, weight int) (Permit, error)
	Stats() Stats
}

// Stats is how things stand.
type Stats struct {
	Limit   int    // units
	InUse   int    // units; above Limit for a while after that was cut
	Waiting int    // requests
	Refused uint64 // requests, with ErrFull or ErrTimeout, since the start
}

// Outcome is how a request ended, as far as its limiter is concerned.
type Outcome uint8

const (
	// Good says that it was answered, be it with a refusal; how long that took counts, too.
	Good Outcome = iota
	// Dropped says that what it asked did not answer, or not in time, or had too much to do.
	Dropped
	// Ignored says that it tells nothing: its caller gave up early, or nothing was asked.
	Ignored
)

// Permit is for one request. It is released once.
type Permit struct {
	gate  *gate
	units int
	begin time.Time // for limits that adapt
}

// Release gives the units back. That of a Permit which no limiter gave does nothing.
func (p Permit) Release(o Outcome) {
	if p.gate != nil {
		p.gate.release(p, o)
	}
}

// Fixed configures a limit that stays.
type Fixed struct {
	Limit      int           // units; 0: 1
	MaxWaiting int           // requests; 0: none waits
	MaxWait    time.Duration // 0: as long as the request's context lasts
}

// NewFixed makes a weighted semaphore.
func NewFixed(c Fixed) Limiter {
	return newGate(max(c.Limit, 1), c.MaxWaiting, c.MaxWait)
}

// AIMD configures a limit that adapts. It begins at Min.
type AIMD struct {
	Min, Max   int           // units; 0: 1, and Min
	Target     time.Duration // from a permit to its release: what takes longer cuts the limit; 0: only what is Dropped does
	MaxWaiting int           // requests; 0: none waits
	MaxWait    time.Duration // 0: as long as the request's context lasts
}

// NewAIMD makes a limiter that finds its limit: one unit more for a limit's worth of good outcomes, a quarter less
// for a bad one.
func NewAIMD(c AIMD) Limiter {
	c.Min = max(c.Min, 1)
	c.Max = max(c.Max, c.Min)
	g := newGate(c.Min, c.MaxWaiting, c.MaxWait)
	g.control = &control{AIMD: c}
	return g
}
