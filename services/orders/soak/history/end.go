package history

import "fmt"

// Stored is an order of the soak as the database has it at the end, read past the gateway.
type Stored struct {
	Row
	Key    Key
	Audits int // its audit records
}

// Ending compares what was acknowledged with what is there at the end, when nobody writes any more.
type Ending struct {
	h     *History
	there map[int64]bool
}

// End begins to compare.
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
		breaks(Unwritten, "is in the database, and nobody made it")
	case submitted != nil && submitted.uid != 0 && submitted.uid != s.UID:
		breaks(Repeated, fmt.Sprintf("is in the database beside order %d, of the same submission", submitted.uid))
	case submitted != nil && s.Audits != 1:
		breaks(Unaudited, fmt.Sprintf("has %d audit records", s.Audits))
	case submitted != nil && submitted.account != s.Account, known != nil && known.account != s.Account:
		breaks(Foreign, "is another account's in the database")
	case !s.holds(s.Key.Derive(s.Version)):
		breaks(Torn, "does not hold what its version does")
	case known != nil:
		if floor, _ := known.floor(); s.Version < floor || s.Version > known.ceiling() {
			breaks(Missing, fmt.Sprintf("has not the last version of %d to %d", floor, known.ceiling()))
		}
	}
}

// Close judges what is not there.
func (e *Ending) Close() {
	e.h.mu.RLock()
	defer e.h.mu.RUnlock()
	for uid, r := range e.h.rows {
		if !e.there[uid] {
			e.h.Break(Missing, "at the end order %d of %s is not in the database", uid, r.account)
		}
	}
}
