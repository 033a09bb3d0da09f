package store

import (
	"bytes"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"dyno/services/ledger/store/record"
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
	b := s.index.Batch(0)
	defer b.Close()
	if err := change(b); err != nil {
		return err
	}
	err := s.index.Guard(func() error {
		_, err := s.packs.Append(record.FrameNote(b.Repr()))
		return errors.Join(err, s.packs.Sync())
	})
	if err != nil {
		return err
	}
	return s.index.Apply(b)
}

func (r *replay) note(change []byte) error {
	b := r.index.Batch(0)
	defer b.Close()
	if err := b.SetRepr(bytes.Clone(change[1:])); err != nil {
		return nil // written by another version of pebble
	}
	return r.batch.Apply(b, nil)
}
