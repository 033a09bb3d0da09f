package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"dyno/services/ledger/history"
	"dyno/services/ledger/trust"
)

// maxReason bounds the reason of a mark, in bytes.
const maxReason = 1000

func markKey(index uint32) []byte { return binary.BigEndian.AppendUint32([]byte{kindMark}, index) }

// Mark records that a ledger has its hash and fails verification at L4, and why. The mark is
// durable on return, before the caller stores the ledger: a mark of a ledger that is not stored has
// no effect.
func (s *Store) Mark(index uint32, reason string) error {
	if len(reason) > maxReason {
		reason = reason[:maxReason]
	}
	return s.note(func(b *pebble.Batch) error { return b.Set(markKey(index), []byte(reason), nil) })
}

// Unmark removes the marks of ledgers that are about to be proved again.
func (s *Store) Unmark(r history.Range) error {
	if r.Len() == 0 {
		return nil
	}
	end := append(markKey(r.To), 0)
	return s.note(func(b *pebble.Batch) error { return b.DeleteRange(markKey(r.From), end, nil) })
}

// Marks are the marked ledgers of a range that are stored.
func (s *Store) Marks(r history.Range) (marks trust.Marks, err error) {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return marks, ErrClosed
	}
	it, err := s.index.NewIter(&pebble.IterOptions{LowerBound: markKey(r.From), UpperBound: append(markKey(r.To), 0)})
	if err != nil {
		return marks, err
	}
	stored := s.Stored()
	for it.First(); it.Valid(); it.Next() {
		if len(it.Key()) != 1+4 {
			return marks, errors.Join(fmt.Errorf("the mark %x is damaged", it.Key()), it.Close())
		}
		if index := binary.BigEndian.Uint32(it.Key()[1:]); stored.Has(index) {
			marks.Add(index, string(it.Value()))
		}
	}
	marks.Sort()
	return marks, errors.Join(it.Error(), it.Close())
}

// Everything is the range of all possible ledgers.
var Everything = history.Range{From: 1, To: ^uint32(0)}
