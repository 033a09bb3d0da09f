package history

import "fmt"

// Stored is an order of the soak in the database at the end, read directly.
type Stored struct {
	Row
	Key    Key
	Audits int // number of its audit records
}

// Ending compares the acknowledged orders with the final state, after all writers have stopped.
type Ending struct {
	h     *History
	there map[int64]bool
}

// End starts the comparison.
func (h *History) End() *Ending { return &Ending{h: h, there: map[int64]bool{}} }

// Stored judges one order.
func (e *Ending) Stored(s Stored) {
	e.there[s.UID] = true
	e.h.mu.RLock()
	known, submitted := e.h.rows[s.UID], e.h.pending[s.Key]
	e.h.mu.RUnlock()
	breaks := func(kind Kind, why string) {
		e.h.Break(kind, "at the end order %d %s; %+v", s.UID, why, s)
	}
	switch {
	case known == nil && submitted == nil:
		breaks(Unwritten, "is in the database, and was never submitted")
	case submitted != nil && submitted.uid != 0 && submitted.uid != s.UID:
		breaks(Repeated, fmt.Sprintf("is in the database in addition to order %d, of the same submission", submitted.uid))
	case submitted != nil && s.Audits != 1:
		breaks(Unaudited, fmt.Sprintf("has %d audit records", s.Audits))
	case submitted != nil && submitted.account != s.Account, known != nil && known.account != s.Account:
		breaks(Foreign, "belongs to another account in the database")
	case !s.holds(s.Key.Derive(s.Version)):
		breaks(Torn, "does not have the contents of its version")
	case known != nil:
		if floor, _ := known.floor(); s.Version < floor || s.Version > known.ceiling() {
			breaks(Missing, fmt.Sprintf("has not the last version of %d to %d", floor, known.ceiling()))
		}
	}
}

// Close judges the missing orders.
func (e *Ending) Close() {
	e.h.mu.RLock()
	defer e.h.mu.RUnlock()
	for uid, r := range e.h.rows {
		if !e.there[uid] {
			e.h.Break(Missing, "at the end order %d of %s is not in the database", uid, r.account)
		}
	}
}
