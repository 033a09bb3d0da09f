package load

import (
	"fmt"
	"sync/atomic"
)

// Delivered reports a receipt: the offer with that sequence number reached its destination at an
// instant. It is safe for concurrent use and does nothing unless a recording is in progress. An
// impossible instant, before the offer or after the run, ends the run with an error.
func (r *Recorder) Delivered(seq uint64, at int64) { r.DeliveredUnits(seq, at, max(r.plan.Units, 1)) }

// DeliveredUnits reports the receipt of an offer of which some units, n, were accepted.
func (r *Recorder) DeliveredUnits(seq uint64, at int64, n int) {
	r.deliverMu.Lock()
	defer r.deliverMu.Unlock()
	s := r.deliver
	if s == nil {
		return
	}
	intended, matched := r.pendingReceipts.take(seq)
	if at > r.latest || matched && at < intended-window {
		r.fail(fmt.Errorf("a receipt is stamped %d ns, and its offer was due at %d ns: the sink does not read this machine's monotonic clock", at, intended))
		return
	}
	s.Advance(at)
	if !matched {
		s.cur.measured.duplicates += int64(n)
		return
	}
	s.lastDone = max(s.lastDone, at)
	s.cur.client.Delivered += int64(n)
	if intended >= s.measureFrom {
		s.cur.measured.delivered += int64(n)
		s.record(&s.cur.delivery, at-intended)
	}
}

// undelivered counts an offer whose receipt had not arrived at now.
func (r *Recorder) undelivered(intended, now int64) {
	r.deliverMu.Lock()
	defer r.deliverMu.Unlock()
	s := r.deliver
	if intended >= s.measureFrom {
		s.cur.measured.undelivered += s.units
		s.record(&s.cur.delivery, now-intended)
	}
}

// advanceDeliveries advances the windows of the receipts' shard while no receipt arrives.
func (r *Recorder) advanceDeliveries(now int64) {
	r.deliverMu.Lock()
	defer r.deliverMu.Unlock()
	if r.deliver != nil {
		r.deliver.Advance(now)
	}
}

// expireAll counts every offer that still awaits its receipt as undelivered.
func (r *Recorder) expireAll(now int64) {
	if r.pendingReceipts == nil {
		return
	}
	for i := range r.pendingReceipts.slots {
		if intended, ok := r.pendingReceipts.clear(uint64(i)); ok {
			r.undelivered(intended, now)
		}
	}
}

// pendingReceipts holds the intended times of the offers that have no receipt yet. The sequence
// number gives an offer its slot, or one of a few others across the table while that is taken, so
// that the many offers that an overloaded service refuses do not displace the accepted ones that
// still wait. A word holds the intended time, which of those slots it is in, and the number of
// times that the sequence has gone round the slots, so a late receipt never matches another offer.
type pendingReceipts struct {
	base  int64 // subtracted from instants, so that 52 bits of ns last for 52 days
	slots []atomic.Uint64
	shift uint // log2 of the number of slots
}

const (
	intendedBits = 52
	intendedMask = 1<<intendedBits - 1
	choiceBits   = 4
	choices      = 1 << choiceBits // slots that an offer can be in
)

// newPendingReceipts makes room for n offers from each of the shards: one shard may carry them
// all, and uses only the slots of its own sequence numbers.
func newPendingReceipts(n, shards int, start int64) *pendingReceipts {
	a := &pendingReceipts{base: start - 1, shift: 10} // no offer is intended before the start, so no word is 0
	for 1<<a.shift < n*max(shards, 1) {
		a.shift++
	}
	a.slots = make([]atomic.Uint64, 1<<a.shift)
	return a
}

// slot returns a slot of an offer. They are far apart, because offers that wait are next to each
// other.
func (a *pendingReceipts) slot(seq, choice uint64) *atomic.Uint64 {
	return &a.slots[(seq+choice<<(a.shift-choiceBits))&uint64(len(a.slots)-1)]
}

func (a *pendingReceipts) word(seq, choice uint64, intended int64) uint64 {
	return (seq>>a.shift<<choiceBits|choice)<<intendedBits | uint64(intended-a.base)&intendedMask
}

// put enters an offer. If all its slots are taken, it replaces an offer, which put returns.
func (a *pendingReceipts) put(seq uint64, intended int64) (old int64, overwritten bool) {
	for choice := range uint64(choices) {
		if a.slot(seq, choice).CompareAndSwap(0, a.word(seq, choice, intended)) {
			return 0, false
		}
	}
	was := a.slot(seq, 0).Swap(a.word(seq, 0, intended))
	return int64(was&intendedMask) + a.base, was != 0
}

// take removes the offer of a receipt, or one that will not be delivered.
func (a *pendingReceipts) take(seq uint64) (intended int64, ok bool) {
	for choice := range uint64(choices) {
		slot := a.slot(seq, choice)
		was := slot.Load()
		if was != 0 && was>>intendedBits == a.word(seq, choice, a.base)>>intendedBits && slot.CompareAndSwap(was, 0) {
			return int64(was&intendedMask) + a.base, true
		}
	}
	return 0, false
}

func (a *pendingReceipts) clear(slot uint64) (intended int64, ok bool) {
	was := a.slots[slot].Swap(0)
	return int64(was&intendedMask) + a.base, was != 0
}

func (a *pendingReceipts) any() bool {
	for i := range a.slots {
		if a.slots[i].Load() != 0 {
			return true
		}
	}
	return false
}
