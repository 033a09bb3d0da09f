// Package sealing says when a node makes a block, and of how many transactions at most: the seam
// between answering soon and sharing the cost of a block among many.
//
// It is not for which transactions are taken, nor for making the block. It starts no goroutines.
package sealing

import (
	"context"
	"slices"
	"time"

	"dyno/parts/refusal"
)

// Config sizes the policies.
type Config struct {
	Interval time.Duration `set:"block_interval" default:"10ms" min:"1ms" max:"1m" doc:"time from one block to the next, at least, for seal=timer and timer-large; ten times that is the longest wait of seal=count"`
	Max      int           `set:"block_max" default:"10000" min:"1" max:"1000000" doc:"transactions in a block, at most, for seal=timer-large; the block's gas bounds them, too"`
}

// few is the number of transactions that make a block of the policies count and timer.
const few = 50

// Policy says when a block is due. One goroutine uses it.
type Policy struct {
	Max int // transactions in a block

	interval time.Duration // from a block to the next, unless enough wait earlier
	enough   int           // transactions for which the interval is cut short; 0: none are
	last     time.Time     // of the last block
}

// Policies are the names of the policies.
var Policies = []string{"each", "count", "timer", "timer-large"}

// New returns a policy by its name: each (a block for each transaction), count (a block of 50, or
// of those there are after ten intervals), timer (a block of at most 50 when the interval is over,
// or earlier when they are there), timer-large (a block of all there are when the interval is
// over).
func New(name string, c Config) (*Policy, error) {
	all := []Policy{
		{Max: 1},
		{Max: min(few, c.Max), interval: 10 * c.Interval, enough: min(few, c.Max)},
		{Max: min(few, c.Max), interval: c.Interval, enough: min(few, c.Max)},
		{Max: c.Max, interval: c.Interval},
	}
	i := slices.Index(Policies, name)
	if i < 0 {
		return nil, refusal.Unknown("policy", name, Policies...)
	}
	return &all[i], nil
}

// Wait returns when a block is due: there are transactions, and the time has come or there are
// enough. Ready receives a value when waiting may have grown. The error is that of ctx.
func (p *Policy) Wait(ctx context.Context, ready <-chan struct{}, waiting func() int) error {
	for waiting() == 0 {
		select {
		case <-ready:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if left := p.interval - time.Since(p.last); left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		for over := false; !over && (p.enough == 0 || waiting() < p.enough); {
			select {
			case <-ready:
			case <-timer.C:
				over = true
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	p.last = time.Now()
	return ctx.Err()
}
