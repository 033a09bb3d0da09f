package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
)

// Append stores ledgers with their indexes, together with the set of all that are stored and the progress, in one
// batch, which is durable when Append returns without an error. It sorts the transactions of each ledger by their place
// in it, which is the order in which they are read, and sets the IDs that are not set yet. A ledger that is stored
// already is left out if its bytes are the same; with other bytes it is an ErrConflict. After an error nothing of the
// batch is stored, but for ErrFailed, which leaves open whether it is, until the store is opened again.
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

	after state
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
	mem := s.scratch.Get().(*scratch)
	defer s.scratch.Put(mem)
	mem.places = mem.places[:0]
	seen := make(map[uint32]*xrpl.Ledger, len(ledgers))
	for _, l := range ledgers {
		if err := s.add(b, l, seen, mem); err != nil {
			b.close()
			return nil, fmt.Errorf("storing ledger %d: %w", l.Index, err)
		}
	}
	if err := setTransactions(b.Batch, mem.places); err != nil {
		b.close()
		return nil, err
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
	case len(l.Transactions) > xrpl.MaxTransactions:
		return fmt.Errorf("it has %d transactions, more than %d", len(l.Transactions), xrpl.MaxTransactions)
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
	if err := setHash(b.Batch, hash, l.Index); err != nil {
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
	return setAccounts(b.Batch, l, mem)
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

// placed is where a transaction is.
type placed struct {
	id xrpl.Hash
	Place
}

// setTransactions makes transactions known by their ids. It puts them in order first: pebble's memory table finds the
// place of the next key from that of the one before.
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
