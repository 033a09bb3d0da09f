package store

import (
	"errors"
	"fmt"

	"dyno/services/ledger/store/flat"
	"dyno/services/ledger/store/index"
	"dyno/services/ledger/store/record"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// Ledger reads a ledger, with its transactions in their order. The bytes are new; of into only the
// slice of transactions is reused. ErrMissing: it is not stored.
func (s *Store) Ledger(number uint32, into *xrpl.Ledger) error {
	e, _, err := s.index.Ledger(number)
	if err == nil {
		err = s.read(e, into)
	}
	if err != nil {
		return fmt.Errorf("ledger %d: %w", number, err)
	}
	return nil
}

func (s *Store) read(e record.Entry, into *xrpl.Ledger) error {
	b, err := s.packs.Read(e.Ref, nil)
	if errors.Is(err, flat.ErrClosed) {
		return ErrClosed
	}
	if err != nil {
		return fmt.Errorf("%w%s", err, index.RepairHint)
	}
	_, r, err := record.ParseLedger(b)
	if err != nil {
		return err
	}
	if r.Hash != e.Hash || r.Index() != e.Index {
		return fmt.Errorf("%w: the index says %v, and the record is ledger %d, %v", flat.ErrDamaged, e.Hash, r.Index(), r.Hash)
	}
	return s.codec.Read(r, into)
}

// Header reads a ledger's header and hash. ErrMissing: it is not stored.
func (s *Store) Header(number uint32) (h xrpl.Header, hash xrpl.Hash, err error) {
	e, header, err := s.index.Ledger(number)
	if err == nil {
		h, err = xrpl.ParseHeader(header)
	}
	if err != nil {
		return h, hash, fmt.Errorf("ledger %d: %w", number, err)
	}
	return h, e.Hash, nil
}

// ByHash finds a ledger by its hash. ErrMissing: it is not stored.
func (s *Store) ByHash(h xrpl.Hash) (uint32, error) { return s.index.ByHash(h) }

// Transaction finds a transaction by its id. ErrMissing: it is not stored.
func (s *Store) Transaction(id xrpl.Hash) (index.Place, error) { return s.index.Transaction(id) }

// AccountTransactions is that of the index. ErrNoAccounts: the store has no index by account;
// ErrLacking: the index does not have all of the range yet.
func (s *Store) AccountTransactions(account xrpl.AccountID, from, to uint32, marker *index.Place, limit int, forward bool) ([]index.Place, *index.Place, error) {
	if !s.accounts {
		return nil, nil, ErrNoAccounts
	}
	asked := history.Range{From: from, To: to}
	if rest := s.durable.Load().lacking.Missing(asked); rest.Len() != asked.Len() {
		return nil, nil, ErrLacking
	}
	return s.index.AccountTransactions(account, asked, marker, limit, forward)
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
