package backfill

import (
	"errors"
	"fmt"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
)

// Missing says that a ledger could be had from nobody, or from nobody rightly.
type Missing struct {
	Index uint32
	Gap   history.Range // what is not stored because of it, or for the same cause
	Err   error         // the last trouble
}

func (m *Missing) Error() string {
	if m.Gap.From < m.Index {
		return fmt.Sprintf("ledger %d could not be had, nor what is below it down to %d: %v", m.Index, m.Gap.From, m.Err)
	}
	return fmt.Sprintf("ledger %d could not be had: %v", m.Index, m.Err)
}

func (m *Missing) Unwrap() error { return m.Err }

// Mismatch says that the range does not fit onto what is stored below it. The range's lowest ledger is not stored.
type Mismatch struct {
	Index  uint32    // of the ledger below the range
	Stored xrpl.Hash // that it is stored with
	Proved xrpl.Hash // that the ledger above it names as its parent's
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("ledger %d is stored as %v, and the parent of ledger %d, which is proved, is %v: what was stored below was proved from another anchor, or not at all; download it into another folder",
		m.Index, m.Stored, m.Index+1, m.Proved)
}

// Disowned says that the range's top is not, by what every server says, what Config.Trusted says. No server is blamed for
// it. Errors.Is it ErrFork.
type Disowned struct {
	Index   uint32
	Trusted xrpl.Hash
	Said    xrpl.Hash // by every server that answered
	Servers int       // that said it
}

func (d *Disowned) Error() string {
	return fmt.Sprintf("ledger %d is to be %v, by the anchor or by what is stored above it; all %d servers that were asked say %v: is that the right anchor, or the right folder?", d.Index, d.Trusted, d.Servers, d.Said)
}

func (d *Disowned) Unwrap() error { return ErrFork }

// gaps are the stretches that could not be had, from the top down. The list is bounded: where servers have next to
// nothing of a range, the hundredth stretch tells no more.
type gaps struct {
	list []*Missing
	more int // ledgers
}

const maxGaps = 100

// add takes note of a range right below, or further down, than the last one.
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

// err is nil if nothing is missing.
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
