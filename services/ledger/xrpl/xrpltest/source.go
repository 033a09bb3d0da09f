package xrpltest

import (
	"errors"
	"fmt"

	"dyno/services/ledger/xrpl"
)

// ErrMissing is the error of a Source for a ledger that it does not have.
var ErrMissing = errors.New("not there")

// Source holds ledgers by index, as a pack.Source.
type Source map[uint32]*xrpl.Ledger

// SourceOf returns a source of a chain.
func SourceOf(chain []*xrpl.Ledger) Source {
	s := Source{}
	for _, l := range chain {
		s[l.Index] = l
	}
	return s
}

// Ledger reads a ledger.
func (s Source) Ledger(index uint32, into *xrpl.Ledger) error {
	l, ok := s[index]
	if !ok {
		return fmt.Errorf("ledger %d: %w", index, ErrMissing)
	}
	*into = *l
	return nil
}

// Header reads a ledger's header, and hashes it.
func (s Source) Header(index uint32) (xrpl.Header, xrpl.Hash, error) {
	var l xrpl.Ledger
	if err := s.Ledger(index, &l); err != nil {
		return xrpl.Header{}, xrpl.Hash{}, err
	}
	h, err := xrpl.ParseHeader(l.Header)
	return h, h.Hash(), err
}
