package testchain

import (
	"math/big"
	"time"

	"dyno/services/chain/jsonrpc"
)

// clock says which time blocks have, in seconds since 1970.
type clock struct {
	offset int64   // of the chain's time from the clock's
	last   uint64  // of the last block, or as the time was set
	exact  *uint64 // of the next block; nil: it is not set
	step   uint64  // from one block to the next; 0: as the clock has it
}

// next is the time of a block that is made now, after which the clock goes on from it.
func (k *clock) next(now time.Time) uint64 {
	t := uint64(max(now.Unix()+k.offset, 0))
	switch {
	case k.exact != nil:
		t = *k.exact
		k.exact, k.offset = nil, int64(t)-now.Unix()
	case k.step > 0:
		t = k.last + k.step
	case t <= k.last:
		t = k.last + 1
	}
	k.last = t
	return t
}

// set sets the time of the next block.
func (k *clock) set(t uint64) error {
	if t < k.last {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "Timestamp error: %d is lower than previous block's timestamp", t)
	}
	k.exact = &t
	return nil
}

// reset sets the time, to an earlier one, too.
func (k *clock) reset(t uint64, now time.Time) {
	k.offset, k.last, k.exact = int64(t)-now.Unix(), t, nil
}

// longest bounds the seconds that pass by one call: longer than anything is tested with, and far from 64 bits.
var longest = big.NewInt(1 << 40)

// increase lets seconds pass, from the present or from the last block, whichever is later: blocks that are
// made within one second are a second apart each.
func (k *clock) increase(seconds int64, now time.Time) {
	k.offset = max(k.offset, int64(k.last)-now.Unix()) + seconds
}

// increaseTime is the record of evm_increaseTime; journals of before have that name where the time went on
// from the present alone.
const increaseTime = "increaseTime"

func (c *Chain) increaseTime(by quantity) (any, error) {
	if by.Cmp(longest) > 0 {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "%v seconds are too many", &by.Int)
	}
	c.clock.increase(by.Int64(), c.now)
	return c.clock.offset, nil
}

func (c *Chain) increaseTimeBefore(by quantity) (any, error) {
	if !by.IsInt64() {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "%v seconds are too many", &by.Int)
	}
	c.clock.offset += by.Int64()
	return c.clock.offset, nil
}

func (c *Chain) setStep(n quantity) (any, error) {
	step, err := n.uint64()
	if err == nil {
		c.clock.step = step
	}
	return nil, err
}

func (c *Chain) setNextBlockTimestamp(n quantity) (any, error) {
	t, err := n.uint64()
	if err != nil {
		return nil, err
	}
	return nil, c.clock.set(t)
}

// setTime sets the time, in seconds or milliseconds since 1970, also to an earlier one. It answers
// by how many seconds it went on.
func (c *Chain) setTime(n quantity) (any, error) {
	t, err := n.uint64()
	if err != nil {
		return nil, err
	}
	if t > 1e12 {
		t /= 1000
	}
	was := c.now.Unix() + c.clock.offset
	c.clock.reset(t, c.now)
	return max(int64(t)-was, 0), nil
}
