package store

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
)

// Append stores ledgers with their indexes, together with the set of all that are stored and the progress, in one
// batch, which is durable when Append returns without an error. It sorts the transactions of each ledger by their place in
// it, which is the order in which they are read. A ledger that is stored already is left out if its bytes are the
// same; with other bytes it is an ErrConflict. After an error nothing of the batch is stored, but for ErrFailed,
// which leaves open whether it is, until the store is opened again.
func (s *Store) Append(ledgers []*xrpl.Ledger, p Progress) error {
	b, err := s.prepare(ledgers)
	if err == nil {
		b, err = s.begin(b, ledgers, p)
	}
	if err != nil {
		return err
	}
	return s.finish(b)
}

// batch is ledgers on their way to the disk.
type batch struct {
	*pebble.Batch
	indexes []uint32 // which are new
	size    int      // bytes

	sequence uint64 // its place among all batches
	after    state
}

func (b *batch) close() { b.Batch.Close() }

// retained is how large a batch's memory may be to be used again, in bytes: 32 large ledgers.
const retained = 16 << 20

// prepare encodes ledgers. It changes nothing, so that several may be prepared at once.
func (s *Store) prepare(ledgers []*xrpl.Ledger) (*batch, error) {
	if !s.writable {
		return nil, errReadOnly
	}
	size := 0
	for _, l := range ledgers {
		size += maxHead + bodySize(l) + len(l.Transactions)*perTransaction
	}
	if err := s.room(size); err != nil {
		return nil, err
	}
	b := &batch{Batch: s.db.NewBatchWithSize(size, pebble.WithMaxRetainedSizeBytes(retained)), size: size}
	var mem scratch
	seen := make(map[uint32]*xrpl.Ledger, len(ledgers))
	for _, l := range ledgers {
		if err := s.add(b, l, seen, &mem); err != nil {
			b.close()
			return nil, fmt.Errorf("storing ledger %d: %w", l.Index, err)
		}
	}
	return b, nil
}

// perTransaction is about what a transaction takes in the index, in bytes.
const perTransaction = 64

// add puts a ledger into a batch, unless it is there or stored already.
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
	case len(l.Transactions) > maxTransactions:
		return fmt.Errorf("it has %d transactions, more than %d", len(l.Transactions), maxTransactions)
	}
	if err := xrpl.SortByIndex(l.Transactions); err != nil {
		return err
	}
	if twin := seen[l.Index]; twin != nil {
		return conflict(twin, l)
	}
	seen[l.Index] = l
	if s.taken().Has(l.Index) {
		var stored xrpl.Ledger
		if err := s.Ledger(l.Index, &stored); err != nil {
			return fmt.Errorf("comparing it with the one that is stored: %w", err)
		}
		return conflict(&stored, l)
	}
	b.indexes = append(b.indexes, l.Index)
	if err := s.setLedger(b.Batch, l.Index, hash, l, mem); err != nil {
		return err
	}
	if err := setIndexes(b.Batch, l, hash); err != nil || !s.accounts {
		return err
	}
	return setAccounts(b.Batch, l, mem)
}

func conflict(a, b *xrpl.Ledger) error {
	if same(a, b) {
		return nil
	}
	return ErrConflict
}

// setIndexes makes a ledger's hash and transactions known.
func setIndexes(b *pebble.Batch, l *xrpl.Ledger, hash xrpl.Hash) error {
	op := b.SetDeferred(1+len(hash), 4)
	copy(op.Key, hashKey(hash))
	binary.BigEndian.PutUint32(op.Value, l.Index)
	if err := op.Finish(); err != nil {
		return err
	}
	var key [1 + len(xrpl.Hash{})]byte
	var place [4 + binary.MaxVarintLen64]byte
	key[0] = kindTransaction
	for i := range l.Transactions {
		id := xrpl.TransactionID(l.Transactions[i].Blob)
		copy(key[1:], id[:])
		if err := b.Set(key[:], appendPlace(place[:0], Place{l.Index, i}), nil); err != nil {
			return err
		}
	}
	return nil
}

// taken is what is stored with what is on its way.
func (s *Store) taken() history.Set {
	s.apply.Lock()
	defer s.apply.Unlock()
	return s.applied
}

// begin applies a batch of these ledgers: from here on it is read, and durable after every batch that was applied
// before. It answers with the batch, which finish has to end.
func (s *Store) begin(b *batch, ledgers []*xrpl.Ledger, p Progress) (*batch, error) {
	for {
		again, err := s.try(b, p)
		if err == nil && !again {
			return b, nil
		}
		if err != nil {
			return nil, err // what became of the batch's memory is pebble's to know
		}
		b.close()
		if b, err = s.prepare(ledgers); err != nil {
			return nil, err
		}
	}
}

// try applies a batch. It answers again when somebody else has applied one of the ledgers since it was prepared: they
// have to be compared.
func (s *Store) try(b *batch, p Progress) (again bool, err error) {
	s.open.RLock() // until finish: Close waits
	defer func() {
		if again || err != nil {
			s.open.RUnlock()
		}
	}()
	if s.closed {
		return false, ErrClosed
	}
	s.apply.Lock()
	defer s.apply.Unlock()
	next := s.applied
	for _, i := range b.indexes {
		if next.Has(i) {
			return true, nil
		}
	}
	for _, r := range runs(b.indexes) {
		next = next.With(r)
	}
	if err := setState(b.Batch, next, p); err != nil {
		return false, err
	}
	if err := s.guard(func() error { return s.db.ApplyNoSyncWait(b.Batch, pebble.Sync) }); err != nil {
		return false, err
	}
	s.sequence++
	s.applied = next
	b.after = state{sequence: s.sequence, stored: next, progress: p}
	return false, nil
}

// finish waits until a batch that was begun is durable, and says so.
func (s *Store) finish(b *batch) error {
	defer s.open.RUnlock()
	if err := s.guard(b.SyncWait); err != nil {
		return err
	}
	b.close()
	for {
		old := s.durable.Load()
		if old.sequence >= b.after.sequence || s.durable.CompareAndSwap(old, &b.after) {
			return nil
		}
	}
}

// runs are the ranges that some ledgers make up, which come in any order but once.
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
