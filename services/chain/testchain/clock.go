package testchain

import (
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
