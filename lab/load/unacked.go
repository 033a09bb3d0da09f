package load

import "sync/atomic"

// unacked holds the intended times of the requests that were not reported as delivered yet. The
// sequence number gives a request its slot, or one of a few others across the table while that is
// taken, so that the many requests that an overloaded service refuses do not displace the accepted
// ones that still wait. A word holds the intended time, which of those slots it is in, and the
// number of times that the sequence has gone round the slots, so a late delivery never matches
// another request.
type unacked struct {
	base  int64 // subtracted from instants, so that 52 bits of ns last for 52 days
	slots []atomic.Uint64
	shift uint // log2 of the number of slots
}

const (
	intendedBits = 52
	intendedMask = 1<<intendedBits - 1
	choiceBits   = 4
	choices      = 1 << choiceBits // slots that a request can be in
)

// newUnacked makes room for n requests from each of the shards: one shard may carry them
// all, and uses only the slots of its own sequence numbers.
func newUnacked(n, shards int, start int64) *unacked {
	a := &unacked{base: start - 1, shift: 10} // no request is intended before the start, so no word is 0
	for 1<<a.shift < n*max(shards, 1) {
		a.shift++
	}
	a.slots = make([]atomic.Uint64, 1<<a.shift)
	return a
}

// slot returns a slot of a request. They are far apart, because requests that wait are next to each
// other.
func (a *unacked) slot(seq, choice uint64) *atomic.Uint64 {
	return &a.slots[(seq+choice<<(a.shift-choiceBits))&uint64(len(a.slots)-1)]
}

func (a *unacked) word(seq, choice uint64, intended int64) uint64 {
	return (seq>>a.shift<<choiceBits|choice)<<intendedBits | uint64(intended-a.base)&intendedMask
}

// Put enters a request. If all its slots are taken, it replaces a request, which Put returns.
func (a *unacked) Put(seq uint64, intended int64) (old int64, overwritten bool) {
	for choice := range uint64(choices) {
		if a.slot(seq, choice).CompareAndSwap(0, a.word(seq, choice, intended)) {
			return 0, false
		}
	}
	was := a.slot(seq, 0).Swap(a.word(seq, 0, intended))
	return int64(was&intendedMask) + a.base, was != 0
}

// Take removes a request that was delivered, or that will not be.
func (a *unacked) Take(seq uint64) (intended int64, ok bool) {
	for choice := range uint64(choices) {
		slot := a.slot(seq, choice)
		was := slot.Load()
		if was != 0 && was>>intendedBits == a.word(seq, choice, a.base)>>intendedBits && slot.CompareAndSwap(was, 0) {
			return int64(was&intendedMask) + a.base, true
		}
	}
	return 0, false
}

// Clear empties a slot, and returns the intended time of the request that was in it.
func (a *unacked) Clear(slot int) (intended int64, ok bool) {
	was := a.slots[slot].Swap(0)
	return int64(was&intendedMask) + a.base, was != 0
}

// Len returns the number of slots.
func (a *unacked) Len() int { return len(a.slots) }

// Any reports whether a request awaits its delivery.
func (a *unacked) Any() bool {
	for i := range a.slots {
		if a.slots[i].Load() != 0 {
			return true
		}
	}
	return false
}
