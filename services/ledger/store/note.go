package store

import (
	"bytes"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"dyno/services/ledger/store/flat"
)

// note changes index entries that cannot be rebuilt from ledgers. The change is durable on return:
// the batch is a record of the packs, in pebble's format.
func (s *Store) note(change func(*pebble.Batch) error) error {
	s.open.RLock()
	defer s.open.RUnlock()
	switch {
	case s.closed:
		return ErrClosed
	case !s.writable:
		return errReadOnly
	}
	s.apply.Lock()
	defer s.apply.Unlock()
	b := s.db.NewBatch()
	defer b.Close()
	if err := change(b); err != nil {
		return err
	}
	frame := append(append(flat.Begin(nil), recordNote), b.Repr()...)
	return s.guard(func() error {
		if _, err := s.packs.Append(frame); err != nil {
			return err
		}
		return errors.Join(s.packs.Sync(), s.db.Apply(b, pebble.NoSync))
	})
}

func (r *replay) note(record []byte) error {
	b := r.db.NewBatch()
	defer b.Close()
	if err := b.SetRepr(bytes.Clone(record[1:])); err != nil {
		return nil // written by another version of pebble
	}
	return r.batch.Apply(b, nil)
}
