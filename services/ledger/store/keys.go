package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"dyno/parts/xrpl"
)

// The first byte of a key says what it is.
const (
	kindLedger      = 'l'
	kindHash        = 'h'
	kindTransaction = 't'
	kindAccount     = 'a'
	kindEvidence    = 'e'
	kindAnswer      = 'E'
)

func metaKey(name string) []byte { return []byte("m/" + name) }

func ledgerKey(index uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{kindLedger}, index)
}

func hashKey(h xrpl.Hash) []byte { return append([]byte{kindHash}, h[:]...) }

func transactionKey(id xrpl.Hash) []byte { return append([]byte{kindTransaction}, id[:]...) }

func accountKey(account xrpl.AccountID, index uint32) []byte {
	return binary.BigEndian.AppendUint32(append([]byte{kindAccount}, account[:]...), index)
}

// Place is where a transaction is: in which ledger, and at which position of its transactions, from 0.
type Place struct {
	Index    uint32
	Position int
}

func appendPlace(b []byte, p Place) []byte {
	return binary.AppendUvarint(binary.BigEndian.AppendUint32(b, p.Index), uint64(p.Position))
}

func parsePlace(b []byte) (Place, error) {
	if len(b) > 4 {
		if position, n := binary.Uvarint(b[4:]); n == len(b)-4 && position < xrpl.MaxTransactions {
			return Place{binary.BigEndian.Uint32(b), int(position)}, nil
		}
	}
	return Place{}, fmt.Errorf("the index of transactions is damaged: %x is no place", b)
}

// bounds are the keys of a kind: all that begin with a byte.
func bounds(kind byte) *pebble.IterOptions {
	return &pebble.IterOptions{LowerBound: []byte{kind}, UpperBound: []byte{kind + 1}}
}

// get reads a copy of what is under a key.
func (s *Store) get(key []byte) ([]byte, error) {
	var out []byte
	err := s.view(key, func(value []byte) error {
		out = append(out, value...)
		return nil
	})
	return out, err
}

// view shows what is under a key, which is pebble's and only good until visit returns.
func (s *Store) view(key []byte, visit func([]byte) error) error {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return ErrClosed
	}
	value, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return ErrMissing
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", s.dir, err)
	}
	return errors.Join(visit(value), closer.Close())
}
