package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
	"dyno/services/ledger/store/flat"
)

// Ledger reads a ledger, with its transactions in their order. The bytes are new; of into only the
// slice of transactions is reused. ErrMissing: it is not stored.
func (s *Store) Ledger(index uint32, into *xrpl.Ledger) error {
	x, err := s.lookUp(index)
	if err == nil {
		err = s.read(x.entry, into)
	}
	if err != nil {
		return fmt.Errorf("ledger %d: %w", index, err)
	}
	return nil
}

func (s *Store) read(e entry, into *xrpl.Ledger) error {
	b, err := s.packs.Read(e.ref, nil)
	if errors.Is(err, flat.ErrClosed) {
		return ErrClosed
	}
	if err != nil {
		return fmt.Errorf("%w%s", err, repairHint)
	}
	_, r, err := parseLedger(b)
	if err != nil {
		return err
	}
	if r.hash != e.hash || r.index() != e.index {
		return fmt.Errorf("%w: the index says %v, and the record is ledger %d, %v", flat.ErrDamaged, e.hash, r.index(), r.hash)
	}
	return s.into(r, into)
}

// Header reads a ledger's header and hash. ErrMissing: it is not stored.
func (s *Store) Header(index uint32) (h xrpl.Header, hash xrpl.Hash, err error) {
	x, err := s.lookUp(index)
	if err == nil {
		h, err = xrpl.ParseHeader(x.header)
	}
	if err != nil {
		return h, hash, fmt.Errorf("ledger %d: %w", index, err)
	}
	return h, x.hash, nil
}

// ByHash finds a ledger by its hash. ErrMissing: it is not stored.
func (s *Store) ByHash(h xrpl.Hash) (index uint32, err error) {
	value, err := s.get(hashKey(h))
	if err == nil && len(value) != 4 {
		err = errors.New("the index of hashes is damaged")
	}
	if err != nil {
		return 0, fmt.Errorf("ledger %v: %w", h, err)
	}
	return binary.BigEndian.Uint32(value), nil
}

// Transaction finds a transaction by its id. ErrMissing: it is not stored.
func (s *Store) Transaction(id xrpl.Hash) (Place, error) {
	value, err := s.get(transactionKey(id))
	if err != nil {
		return Place{}, fmt.Errorf("transaction %v: %w", id, err)
	}
	return parsePlace(value)
}

// Span completes a range that must be stored: From 0 is the lowest stored ledger, To 0 the highest.
func (s *Store) Span(r history.Range) (history.Range, error) {
	stored := s.Stored()
	if len(stored) == 0 {
		return r, errors.New("nothing is stored yet; run sync first")
	}
	if r.From == 0 {
		r.From = stored[0].From
	}
	if r.To == 0 {
		r.To = stored[len(stored)-1].To
	}
	if r.Len() == 0 {
		return r, fmt.Errorf("ledgers %d to %d end before they begin", r.From, r.To)
	}
	if gaps := stored.Missing(r); len(gaps) > 0 {
		return r, fmt.Errorf("of ledgers %v, %v are not stored; choose --from and --to out of %v, or sync them", r, gaps, stored)
	}
	return r, nil
}
