package node

import (
	"context"
	"time"

	"dyno/parts/refusal"
)

// Sealing sizes the policies.
type Sealing struct {
	Interval time.Duration `set:"block_interval" default:"10ms" min:"1ms" max:"1m" doc:"time from one block to the next, at least, for seal=timer"`
	Max      int           `set:"block_max" default:"10000" min:"1" max:"1000000" doc:"transactions in a block, at most, for seal=timer; the block's gas bounds them, too"`
}

// Policy says when a block is due, and of how many transactions at most: the seam between answering
// soon and sharing the cost of a block among many. One goroutine uses it.
type Policy struct {
	Max int // transactions in a block

	interval time.Duration // from a block to the next
	last     time.Time     // of the last block
}

// NewPolicy returns a policy by its name: each (a block for each transaction), or timer (a block of
// all there are when the interval is over).
func NewPolicy(name string, c Sealing) (*Policy, error) {
	switch name {
	case "each":
		return &Policy{Max: 1}, nil
	case "timer":
		return &Policy{Max: c.Max, interval: c.Interval}, nil
	}
	return nil, refusal.Unknown("policy", name, "each", "timer")
}

// Wait returns when a block is due: there are transactions, and the time has come. Ready receives a
// value when waiting may have grown. The error is that of ctx.
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
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.last = time.Now()
	return ctx.Err()
}
