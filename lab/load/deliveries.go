package load

import (
	"fmt"
	"sync/atomic"
)

// Delivered reports a receipt: the offer of that sequence number reached its destination at an instant.
// It is safe for concurrent use, and without effect while nothing is recorded. An instant that cannot be,
// before the offer or after the run, ends the run with an error.
func (r *Recorder) Delivered(seq uint64, at int64) {
	r.deliverMu.Lock()
	defer r.deliverMu.Unlock()
	s := r.deliver
	if s == nil {
		return
	}
	intended, matched := r.awaiting.take(seq)
	if at > r.latest || matched && at < intended-window {
		r.fail(fmt.Errorf("a receipt is stamped %d ns, and its offer was due at %d ns: the sink does not read this machine's monotonic clock", at, intended))
		return
	}
	s.Advance(at)
	if !matched {
		s.cur.measured.duplicates++
		return
	}
	s.lastDone = max(s.lastDone, at)
	s.cur.client.Delivered++
	if intended >= s.measureFrom {
		s.cur.measured.delivered++
		s.record(&s.cur.delivery, at-intended)
	}
}

// undelivered counts an offer whose receipt did not come before now.
func (r *Recorder) undelivered(intended, now int64) {
	r.deliverMu.Lock()
	defer r.deliverMu.Unlock()
	s := r.deliver
	if intended >= s.measureFrom {
		s.cur.measured.undelivered++
		s.record(&s.cur.delivery, now-intended)
	}
}

// advanceDeliveries moves the receipts' shard on while no receipt comes.
func (r *Recorder) advanceDeliveries(now int64) {
	r.deliverMu.Lock()
	defer r.deliverMu.Unlock()
	if r.deliver != nil {
		r.deliver.Advance(now)
	}
}

// forget counts every offer that still awaits its receipt as undelivered.
func (r *Recorder) forget(now int64) {
	if r.awaiting == nil {
		return
	}
	for i := range r.awaiting.slots {
		if intended, ok := r.awaiting.clear(uint64(i)); ok {
			r.undelivered(intended, now)
		}
	}
}

// awaiting holds the intended times of the offers that have no receipt yet, each in the slot that its
// sequence number names. A word carries both the intended time and the number of the lap that the
// sequence has made over the slots, so that a late receipt never passes for that of the offer which
// took its slot over.
type awaiting struct {
	base  int64 // subtracted from instants, so that 52 bits of ns last for 52 days
	slots []atomic.Uint64
	shift uint // log2 of the number of slots
}

const (
	intendedBits = 52
	intendedMask = 1<<intendedBits - 1
)

// newAwaiting makes room for n offers from each of the shards, since one shard may carry them all and
// uses only the slots of its own sequence numbers.
func newAwaiting(n, shards int, start int64) *awaiting {
	a := &awaiting{base: start - 1, shift: 10} // no offer is intended before the start, so no word is 0
	for 1<<a.shift < n*max(shards, 1) {
		a.shift++
	}
	a.slots = make([]atomic.Uint64, 1<<a.shift)
	return a
}

func (a *awaiting) slot(seq uint64) *atomic.Uint64 { return &a.slots[seq&uint64(len(a.slots)-1)] }

func (a *awaiting) word(seq uint64, intended int64) uint64 {
	return seq>>a.shift<<intendedBits | uint64(intended-a.base)&intendedMask
}

// put enters an offer and returns the one whose place it took, if that still waited.
func (a *awaiting) put(seq uint64, intended int64) (old int64, overwritten bool) {
	was := a.slot(seq).Swap(a.word(seq, intended))
	return int64(was&intendedMask) + a.base, was != 0
}

// take removes an offer whose receipt came.
func (a *awaiting) take(seq uint64) (intended int64, ok bool) {
	slot := a.slot(seq)
	was := slot.Load()
	if was == 0 || was>>intendedBits != a.word(seq, a.base)>>intendedBits || !slot.CompareAndSwap(was, 0) {
		return 0, false
	}
	return int64(was&intendedMask) + a.base, true
}

// drop removes an offer that nobody will deliver.
func (a *awaiting) drop(seq uint64, intended int64) {
	a.slot(seq).CompareAndSwap(a.word(seq, intended), 0)
}

func (a *awaiting) clear(slot uint64) (intended int64, ok bool) {
	was := a.slots[slot].Swap(0)
	return int64(was&intendedMask) + a.base, was != 0
}

func (a *awaiting) any() bool {
	for i := range a.slots {
		if a.slots[i].Load() != 0 {
			return true
		}
	}
	return false
}
