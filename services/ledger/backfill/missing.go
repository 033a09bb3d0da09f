package backfill

import (
	"errors"
	"fmt"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// Missing reports a ledger that no server sent, or none sent rightly.
type Missing struct {
	Index uint32
	Gap   history.Range // ledgers that are not stored because of it, or for the same cause
	Err   error         // the last failure
}

func (m *Missing) Error() string {
	if m.Gap.From < m.Index {
		return fmt.Sprintf("ledger %d could not be fetched, nor those below it down to %d: %v", m.Index, m.Gap.From, m.Err)
	}
	return fmt.Sprintf("ledger %d could not be fetched: %v", m.Index, m.Err)
}

func (m *Missing) Unwrap() error { return m.Err }

// Mismatch reports that the range does not continue what is stored below it. The range's lowest
// ledger is not stored.
type Mismatch struct {
	Index  uint32    // of the ledger below the range
	Stored xrpl.Hash // its stored hash
	Proved xrpl.Hash // the hash that the ledger above it names as its parent
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("ledger %d is stored as %v, but the parent of the proved ledger %d is %v: the stored ledgers were proved from another anchor, or not at all; download into another folder",
		m.Index, m.Stored, m.Index+1, m.Proved)
}

// AnchorRejected reports that every server that answered has another hash for the range's top than
// Config.Trusted. No fault is recorded against a server for it. Errors.Is finds ErrFork in it.
type AnchorRejected struct {
	Index    uint32
	Trusted  xrpl.Hash
	Reported xrpl.Hash // by every server that answered
	Servers  int       // number of servers that reported it
}

func (d *AnchorRejected) Error() string {
	return fmt.Sprintf("ledger %d must have the hash %v, by the anchor or by what is stored above it; all %d servers that were asked say %v: check the anchor, or the folder", d.Index, d.Trusted, d.Servers, d.Reported)
}

func (d *AnchorRejected) Unwrap() error { return ErrFork }

// gaps are the stretches that could not be fetched, from the top down. The list is bounded: where
// servers have next to none of a range, a hundredth stretch adds no information.
type gaps struct {
	list []*Missing
	more int // ledgers
}

const maxGaps = 100

// add records a missing range at any distance below the last one, and joins adjacent ranges.
func (g *gaps) add(r history.Range, err error) {
	n := len(g.list)
	switch {
	case g.more == 0 && n > 0 && g.list[n-1].Gap.From == r.To+1:
		g.list[n-1].Gap.From = r.From
	case n == maxGaps:
		g.more += r.Len()
	default:
		g.list = append(g.list, &Missing{Index: r.To, Gap: r, Err: err})
	}
}

func (g *gaps) err() error {
	if g.more == 0 && len(g.list) == 1 {
		return g.list[0]
	}
	errs := make([]error, 0, len(g.list)+1)
	for _, m := range g.list {
		errs = append(errs, m)
	}
	if g.more > 0 {
		errs = append(errs, fmt.Errorf("and %d more ledgers", g.more))
	}
	return errors.Join(errs...)
}
