package store

import (
	"github.com/cockroachdb/pebble/v2"

	"dyno/services/ledger/store/index"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl/history"
)

// maxReason bounds the reason of a mark, in bytes.
const maxReason = 1000

// Mark records that a ledger has its hash and fails verification at L4, and why. The mark is
// durable on return, before the caller stores the ledger: a mark of a ledger that is not stored has
// no effect.
func (s *Store) Mark(number uint32, reason string) error {
	if len(reason) > maxReason {
		reason = reason[:maxReason]
	}
	return s.note(func(b *pebble.Batch) error { return index.SetMark(b, number, reason) })
}

// Unmark removes the marks of ledgers that are about to be proved again.
func (s *Store) Unmark(r history.Range) error {
	if r.Len() == 0 {
		return nil
	}
	return s.note(func(b *pebble.Batch) error { return index.DeleteMarks(b, r) })
}

// Marks are the marked ledgers of a range that are stored.
func (s *Store) Marks(r history.Range) (marks trust.Marks, err error) {
	stored := s.Stored()
	err = s.index.EachMark(r, func(number uint32, reason string) {
		if stored.Has(number) {
			marks.Add(number, reason)
		}
	})
	marks.Sort()
	return marks, err
}

// Everything is the range of all possible ledgers.
var Everything = history.Range{From: 1, To: ^uint32(0)}
