package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
	"dyno/services/ledger/store/flat"
)

// Append stores proved ledgers together with the progress, and then indexes them; they are durable
// when Append returns without an error. It sorts the transactions of each ledger by their place in
// it, which is the order in which they are read, and sets IDs that are not set yet. A ledger that
// is stored already is skipped if its bytes are the same; with other bytes it is an ErrConflict.
// After an error no ledger of the batch is stored, except after ErrFailed, when it is unknown until
// the store is opened again.
func (s *Store) Append(ledgers []*xrpl.Ledger, p Progress) error {
	b, err := s.prepare(ledgers)
	if err != nil {
		return err
	}
	return s.commit(b, ledgers, p)
}

type batch struct {
	*pebble.Batch
	ledgers []prepared // ledgers that are new
}

type prepared struct {
	entry
	header []byte
	frame  []byte // nil: it is in the packs already, at ref
}

func (b *batch) indexes() []uint32 {
	out := make([]uint32, len(b.ledgers))
	for i := range b.ledgers {
		out[i] = b.ledgers[i].index
	}
	return out
}

// prepare encodes ledgers. It changes no state, so several calls may run concurrently.
func (s *Store) prepare(ledgers []*xrpl.Ledger) (*batch, error) {
	if !s.writable {
		return nil, errReadOnly
	}
	size, index := 0, 0
	for _, l := range ledgers {
		size += maxHead + bodySize(l)
		index += perLedger + len(l.Transactions)*perTransaction
	}
	if err := s.room(size + index); err != nil {
		return nil, err
	}
	b := &batch{Batch: s.db.NewBatchWithSize(index)}
	mem := s.scratch.Get().(*scratch)
	defer s.scratch.Put(mem)
	mem.places = mem.places[:0]
	seen := make(map[uint32]*xrpl.Ledger, len(ledgers))
	for _, l := range ledgers {
		if err := s.add(b, l, seen, mem); err != nil {
			b.Close()
			return nil, fmt.Errorf("storing ledger %d: %w", l.Index, err)
		}
	}
	if err := setTransactions(b.Batch, mem.places); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// perLedger and perTransaction are their approximate size in the indexes, in bytes.
const (
	perLedger      = 256
	perTransaction = 64
)

// add puts a ledger into a batch, unless the batch or the store has it.
func (s *Store) add(b *batch, l *xrpl.Ledger, seen map[uint32]*xrpl.Ledger, mem *scratch) error {
	h, err := xrpl.ParseHeader(l.Header)
	if err != nil {
		return err
	}
	hash := h.Hash()
	switch {
	case h.Index != l.Index || h.Index == 0:
		return fmt.Errorf("%w: its header is of ledger %d", xrpl.ErrIndex, h.Index)
	case !l.Hash.IsZero() && l.Hash != hash:
		return fmt.Errorf("%w: its header hashes to %v, not to %v", xrpl.ErrHash, hash, l.Hash)
	case len(l.Transactions) > xrpl.MaxTransactions:
		return fmt.Errorf("it has %d transactions, more than %d", len(l.Transactions), xrpl.MaxTransactions)
	}
	ref, kept := s.accepted(h.Index, hash)
	if !kept {
		if err := xrpl.SortByIndex(l.Transactions); err != nil {
			return err
		}
	}
	if twin := seen[l.Index]; twin != nil {
		return conflict(twin, l)
	}
	seen[l.Index] = l
	if s.Stored().Has(l.Index) {
		var stored xrpl.Ledger
		if err := s.Ledger(l.Index, &stored); err != nil {
			return fmt.Errorf("comparing it with the stored one: %w", err)
		}
		return conflict(&stored, l)
	}
	one := prepared{entry: entry{h.Index, hash, ref}, header: l.Header}
	if !kept {
		one.frame = s.frameLedger(nil, "", hash, l, mem)
	}
	b.ledgers = append(b.ledgers, one)
	return s.addIndexes(b.Batch, l, hash, mem)
}

// addIndexes puts a ledger's index entries into a batch, except for its place in the packs; its
// transactions' entries go into mem.
func (s *Store) addIndexes(b *pebble.Batch, l *xrpl.Ledger, hash xrpl.Hash, mem *scratch) error {
	if err := setHash(b, hash, l.Index); err != nil {
		return err
	}
	for i := range l.Transactions {
		tx := &l.Transactions[i]
		if tx.ID.IsZero() {
			tx.ID = xrpl.TransactionID(tx.Blob)
		}
		mem.places = append(mem.places, placed{tx.ID, Place{l.Index, i}})
	}
	if !s.accounts {
		return nil
	}
	return setAccounts(b, l, mem)
}

func conflict(a, b *xrpl.Ledger) error {
	if same(a, b) {
		return nil
	}
	return ErrConflict
}

func setHash(b *pebble.Batch, hash xrpl.Hash, index uint32) error {
	op := b.SetDeferred(1+len(hash), 4)
	op.Key[0] = kindHash
	copy(op.Key[1:], hash[:])
	binary.BigEndian.PutUint32(op.Value, index)
	return op.Finish()
}

type placed struct {
	id xrpl.Hash
	Place
}

// setTransactions indexes transactions by their ids. It sorts them first: pebble's memory table
// finds the place of a key from that of the one before.
func setTransactions(b *pebble.Batch, places []placed) error {
	slices.SortFunc(places, func(a, b placed) int { return bytes.Compare(a.id[:], b.id[:]) })
	var value [4 + binary.MaxVarintLen64]byte
	for i := range places {
		p := &places[i]
		v := appendPlace(value[:0], p.Place)
		op := b.SetDeferred(1+len(p.id), len(v))
		op.Key[0] = kindTransaction
		copy(op.Key[1:], p.id[:])
		copy(op.Value, v)
		if err := op.Finish(); err != nil {
			return err
		}
	}
	return nil
}

// commit stores a batch. If another caller has stored one of its ledgers since it was prepared,
// commit compares them.
func (s *Store) commit(b *batch, ledgers []*xrpl.Ledger, p Progress) error {
	for {
		again, err := s.try(b, p)
		if err != nil {
			return err // pebble may still use the batch's memory
		}
		if err := b.Close(); err != nil || !again {
			return err
		}
		if b, err = s.prepare(ledgers); err != nil {
			return err
		}
	}
}

func (s *Store) try(b *batch, p Progress) (again bool, err error) {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return false, ErrClosed
	}
	s.apply.Lock()
	defer s.apply.Unlock()
	next := state{stored: s.Stored(), lacking: s.durable.Load().lacking, progress: p}
	for _, r := range runs(b.indexes()) {
		if len(next.stored.Missing(r)) != 1 || next.stored.Missing(r)[0] != r {
			return true, nil
		}
		next.stored = next.stored.With(r)
	}
	if len(next.stored) > maxRanges {
		return false, fmt.Errorf("the stored ledgers would be %d ranges, more than %d: fill gaps before you begin new ones", len(next.stored), maxRanges)
	}
	var end flat.Position
	if err := s.guard(func() (err error) { end, err = s.write(b, p); return err }); err != nil {
		return false, err
	}
	s.received.stored(b.ledgers)
	if err := errors.Join(setEntries(b), s.setState(b.Batch, &next, end)); err != nil {
		return false, err
	}
	if err := s.guard(func() error { return s.db.Apply(b.Batch, pebble.NoSync) }); err != nil {
		return false, err
	}
	s.durable.Store(&next)
	return false, nil
}

// write makes a batch durable in the packs, and returns where they end then.
func (s *Store) write(b *batch, p Progress) (end flat.Position, err error) {
	entries := make([]entry, len(b.ledgers))
	for i := range b.ledgers {
		l := &b.ledgers[i]
		if l.frame != nil {
			if l.ref, err = s.packs.Append(l.frame); err != nil {
				return end, err
			}
		}
		entries[i] = l.entry
	}
	frame, err := frameProved(proved{onOff(s.accounts), p}, entries)
	if err != nil {
		return end, err
	}
	ref, err := s.packs.Append(frame)
	if err != nil {
		return end, err
	}
	return ref.End(), errors.Join(s.packs.Sync(), s.evidence.Sync())
}

func setEntries(b *batch) error {
	for i := range b.ledgers {
		if err := setEntry(b.Batch, b.ledgers[i].entry, b.ledgers[i].header); err != nil {
			return err
		}
	}
	return nil
}

// runs are the ranges of some ledgers, given in any order and each once.
func runs(indexes []uint32) (set history.Set) {
	for _, i := range indexes {
		n := len(set)
		switch {
		case n > 0 && set[n-1].To+1 == i:
			set[n-1].To = i
		case n > 0 && set[n-1].From == i+1:
			set[n-1].From = i
		default:
			set = append(set, history.Range{From: i, To: i})
		}
	}
	return set
}
