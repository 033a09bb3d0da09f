package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"dyno/parts/xrpl"
	"dyno/services/ledger/store/flat"
)

// The first byte of a key is its kind.
const (
	kindLedger      = 'l'
	kindHash        = 'h'
	kindTransaction = 't'
	kindAccount     = 'a'
	kindPack        = 'p'
	kindMark        = 'u'
	kindDamage      = 'd'
)

func metaKey(name string) []byte { return []byte("m/" + name) }

func ledgerKey(index uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{kindLedger}, index)
}

func packKey(number uint32) []byte { return binary.BigEndian.AppendUint32([]byte{kindPack}, number) }

func damageKey(d flat.Damage) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32([]byte{kindDamage}, d.File.Number), uint64(d.From))
}

func hashKey(h xrpl.Hash) []byte { return append([]byte{kindHash}, h[:]...) }

func transactionKey(id xrpl.Hash) []byte { return append([]byte{kindTransaction}, id[:]...) }

func accountKey(account xrpl.AccountID, index uint32) []byte {
	return binary.BigEndian.AppendUint32(append([]byte{kindAccount}, account[:]...), index)
}

// Place is a transaction's ledger, and its position among the ledger's transactions, from 0.
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

type indexed struct {
	entry
	header []byte
}

func setEntry(b *pebble.Batch, e entry, header []byte) error {
	op := b.SetDeferred(5, len(e.hash)+len(header)+refSize)
	op.Key[0] = kindLedger
	binary.BigEndian.PutUint32(op.Key[1:], e.index)
	appendRef(append(append(op.Value[:0], e.hash[:]...), header...), e.ref)
	return op.Finish()
}

func (s *Store) lookUp(index uint32) (x indexed, err error) {
	value, err := s.get(ledgerKey(index))
	if err == nil && len(value) != len(x.hash)+xrpl.HeaderSize+refSize {
		err = fmt.Errorf("%w: its place in the index has %d bytes", flat.ErrDamaged, len(value))
	}
	if err != nil {
		return x, err
	}
	header := value[len(x.hash) : len(x.hash)+xrpl.HeaderSize]
	return indexed{entry{index, xrpl.Hash(value), parseRef(value[len(value)-refSize:])}, header}, nil
}

func (s *Store) get(key []byte) ([]byte, error) {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return nil, ErrClosed
	}
	value, closer, err := s.index.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w%s", s.dir, firstLine{err}, repairHint)
	}
	return bytes.Clone(value), closer.Close()
}
