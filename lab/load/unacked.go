package load

import "sync/atomic"

// unacked holds the intended times of requests that were not yet reported as delivered. A
// request's sequence number determines its slot, and 15 others, far apart, that it may use while
// that one is taken. An overloaded service refuses many requests; thanks to the other slots these
// do not displace the accepted ones that still wait. A slot's word holds the intended time, which
// of its slots the request is in, and how often the sequence numbers have gone round all slots,
// so a late delivery never matches another request.
type unacked struct {
	base  int64 // subtracted from instants, so that 52 bits of ns suffice for 52 days
	slots []atomic.Uint64
	shift uint // log2 of the number of slots
}

const (
	intendedBits = 52
	intendedMask = 1<<intendedBits - 1
	choiceBits   = 4
	choices      = 1 << choiceBits // slots that a request can be in
)

// newUnacked makes room for n requests of each shard: one shard may carry them all, and uses only
// the slots of its own sequence numbers.
func newUnacked(n, shards int, start int64) *unacked {
	a := &unacked{base: start - 1, shift: 10} // every request is due after this, so that no word is 0
	for 1<<a.shift < n*max(shards, 1) {
		a.shift++
	}
	a.slots = make([]atomic.Uint64, 1<<a.shift)
	return a
}

// slot returns one of the slots that a request may use. They are far apart, because requests that
// wait often have neighbouring numbers.
func (a *unacked) slot(seq, choice uint64) *atomic.Uint64 {
	return &a.slots[(seq+choice<<(a.shift-choiceBits))&uint64(len(a.slots)-1)]
}

func (a *unacked) word(seq, choice uint64, intended int64) uint64 {
	return (seq>>a.shift<<choiceBits|choice)<<intendedBits | uint64(intended-a.base)&intendedMask
}

// Put adds a request. If all its slots are taken, Put replaces another request and returns its
// intended time.
func (a *unacked) Put(seq uint64, intended int64) (old int64, overwritten bool) {
	for choice := range uint64(choices) {
		if a.slot(seq, choice).CompareAndSwap(0, a.word(seq, choice, intended)) {
			return 0, false
		}
	}
	was := a.slot(seq, 0).Swap(a.word(seq, 0, intended))
	return int64(was&intendedMask) + a.base, was != 0
}

// Take removes a request that was delivered or will not be delivered.
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

// Any reports whether any request waits for its delivery.
func (a *unacked) Any() bool {
	for i := range a.slots {
		if a.slots[i].Load() != 0 {
			return true
		}
	}
	return false
}
