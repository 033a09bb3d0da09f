package node

import (
	"context"
	"fmt"
	"time"

	"dyno/parts/refusal"
)

// Sealing sizes the policies.
type Sealing struct {
	Interval time.Duration `set:"block_interval" default:"10ms" min:"1ms" max:"1m" doc:"time from one block to the next, at least, for seal=timer"`
	Longest  time.Duration `set:"block_interval_max" default:"50ms" min:"1ms" max:"1m" doc:"time from one block to the next, at most, for seal=timer (block_interval where that is longer), while more transactions arrive and making blocks takes more than an eighth of the time: they cost less for each transaction when they are larger"`
	Idle     time.Duration `set:"block_idle" default:"0s" min:"0s" max:"1h" doc:"time from a block to an empty one while no transaction waits, for programs that wait for several confirmations (block_interval with seal=timer where that is longer); 0: no empty blocks"`
	Max      int           `set:"block_max" default:"10000" min:"1" max:"1000000" doc:"transactions in a block, at most, for seal=timer; the block's gas bounds them, too"`
}

// Policy says when a block is due, and of how many transactions at most: the seam between answering
// soon and sharing the cost of a block among many. One goroutine uses it.
type Policy struct {
	Max int // transactions in a block

	interval, longest time.Duration // from a block to the next
	idle              time.Duration // to an empty one; 0: there is none

	empty bool // the block that is due may be empty

	last time.Time     // of the last block
	took time.Duration // that it took to make
	room int           // transactions that it would have had with half of its gas
}

// leastApart is how many times as long as a block took to make the next comes after it, at least,
// within block_interval_max.
const leastApart = 8

// NewPolicy returns a policy by its name: each (a block for each transaction), or timer (a block of
// all there are when the interval is over).
func NewPolicy(name string, c Sealing) (*Policy, error) {
	if c.Idle > 0 && c.Idle < time.Millisecond {
		return nil, fmt.Errorf("block_idle is %v: give at least 1ms, or 0 for no empty blocks", c.Idle)
	}
	switch name {
	case "each":
		return &Policy{Max: 1, idle: c.Idle}, nil
	case "timer":
		idle := c.Idle
		if idle > 0 {
			idle = max(idle, c.Interval)
		}
		return &Policy{Max: c.Max, interval: c.Interval, longest: c.Longest, idle: idle}, nil
	}
	return nil, refusal.Unknown("policy", name, "each", "timer")
}

// Wait returns when a block is due: there are transactions, and the time has come, or there were none
// for a while. Ready receives a value when waiting may have grown, and coming says whether it is about
// to. The error is that of ctx.
func (p *Policy) Wait(ctx context.Context, ready <-chan struct{}, waiting func() int, coming func() bool) error {
	var idle <-chan time.Time
	if p.empty = false; p.idle > 0 {
		timer := time.NewTimer(p.idle)
		defer timer.Stop()
		idle = timer.C
	}
	for waiting() == 0 {
		select {
		case <-ready:
		case <-idle:
			p.empty, p.last = true, time.Now()
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := sleep(ctx, p.interval-time.Since(p.last)); err != nil {
		return err
	}
	if err := p.grow(ctx, waiting, coming); err != nil {
		return err
	}
	p.last = time.Now()
	return ctx.Err()
}

// Made notes the block for which Wait has returned: how long it took, without what it waited for
// disks and other nodes, and how many of such transactions use half of a block's gas. With more, the
// base fee would rise, and a full block would make the others wait.
func (p *Policy) Made(took time.Duration, half int) { p.took, p.room = took, half }

// grow waits for a larger block while making blocks takes too much of the time and more
// transactions are on their way. When none are, clients may be waiting for this one.
func (p *Policy) grow(ctx context.Context, waiting func() int, coming func() bool) error {
	due := p.last.Add(min(leastApart*p.took, p.longest))
	for waiting() < min(p.room, p.Max) && coming() {
		left := time.Until(due)
		if left <= 0 {
			break
		}
		if err := sleep(ctx, min(left, p.interval/4)); err != nil {
			return err
		}
	}
	return nil
}

// sleep returns after a time, or with the error of ctx when that ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
