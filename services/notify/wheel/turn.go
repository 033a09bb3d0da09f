package wheel

import (
	"math/bits"
	"time"
)

// turn does a bounded amount of work and returns the next action: fire t, or sleep, or, when it
// returns neither, call turn again.
func (w *Wheel) turn() (t *Timer, sleep time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alarm = 0
	if t = w.due.first(); t != nil {
		w.unlink(t)
		return t, 0
	}
	elapsed := time.Since(w.origin)
	now := uint64(elapsed / w.tick)
	slot, at := w.next()
	if at > now {
		w.alarm = at
		if at == never {
			return nil, forever
		}
		return nil, time.Duration(at)*w.tick - elapsed
	}
	if slot < slots {
		// Timers started from now on belong to the next tick, so a timer that restarts itself immediately
		// cannot delay the others.
		w.cursor = at + 1
		w.occupied[0] &^= 1 << slot
		w.due.takeAll(&w.slots[slot])
		return nil, 0
	}
	w.cursor = at
	w.descend(slot)
	return nil, 0
}

// next returns the occupied slot whose time begins first, and the tick at which it does. If several
// begin together, it returns that of the highest level, because it may hold timers for the others.
func (w *Wheel) next() (slot int, at uint64) {
	at = never
	for level, occupied := range w.occupied {
		if occupied == 0 {
			continue
		}
		// No slot of a level is behind the cursor, so the lowest is the next.
		s := bits.TrailingZeros64(occupied)
		shift := level * digit
		begin := w.cursor>>shift>>digit<<digit<<shift | uint64(s)<<shift
		if begin <= at {
			slot, at = level<<digit|s, begin
		}
	}
	return slot, at
}

// descend moves the timers of a slot to lower levels.
func (w *Wheel) descend(slot int) {
	for range batch {
		t := w.slots[slot].first()
		if t == nil {
			return
		}
		w.unlink(t)
		w.place(t)
	}
}

// place inserts t by the digit in which its deadline, or the cursor if that is later, differs from
// the cursor.
func (w *Wheel) place(t *Timer) {
	tick := max(t.deadline, w.cursor)
	level := (bits.Len64(tick^w.cursor|1) - 1) / digit
	s := tick >> (level * digit) % slots
	t.slot = uint16(level<<digit | int(s))
	w.slots[t.slot].append(t)
	w.occupied[level] |= 1 << s
	w.pending++
}

// unlink removes t from its slot, or from the list of due timers.
func (w *Wheel) unlink(t *Timer) {
	t.unlink()
	if w.slots[t.slot].first() == nil {
		w.occupied[t.slot>>digit] &^= 1 << (t.slot % slots)
	}
	w.pending--
}
