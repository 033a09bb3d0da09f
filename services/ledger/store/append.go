package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"dyno/services/ledger/store/flat"
	"dyno/services/ledger/store/index"
	"dyno/services/ledger/store/record"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// Append stores proved ledgers together with the progress, and then indexes them; they are durable
// when Append returns without an error. It sorts the transactions of each ledger by their place in
// it, which is the order in which they are read, and sets IDs that are not set yet. A ledger that
// is stored already is skipped if its bytes are the same; with other bytes it is an ErrConflict.
// After an error no ledger of the batch is stored, except after ErrFailed, when it is unknown until
// the store is opened again.
func (s *Store) Append(ledgers []*xrpl.Ledger, p Progress) error {
	for {
		b, err := s.prepare(ledgers)
		if err != nil {
			return err
		}
		again, err := s.try(b, p)
		if err != nil {
			return err // pebble may still use the batch's memory
		}
		if err := b.Close(); err != nil || !again {
			return err
		}
	}
}

// batch is ledgers that are encoded, and their entries in the index.
type batch struct {
	*pebble.Batch
	ledgers []prepared // ledgers that are new
}

type prepared struct {
	record.Entry
	header []byte
	frame  []byte // nil: it is in the packs already, at Ref
}

// prepare encodes ledgers. It changes no state.
func (s *Store) prepare(ledgers []*xrpl.Ledger) (*batch, error) {
	if !s.writable {
		return nil, errReadOnly
	}
	size, indexed := 0, 0
	for _, l := range ledgers {
		size += record.Size(l)
		indexed += perLedger + len(l.Transactions)*perTransaction
	}
	if err := s.room(size + indexed); err != nil {
		return nil, err
	}
	b := &batch{Batch: s.index.Batch(indexed)}
	mem := s.scratch.Get().(*scratch)
	defer s.scratch.Put(mem)
	mem.Reset()
	seen := make(map[uint32]*xrpl.Ledger, len(ledgers))
	for _, l := range ledgers {
		if err := s.add(b, l, seen, mem); err != nil {
			b.Close()
			return nil, fmt.Errorf("storing ledger %d: %w", l.Index, err)
		}
	}
	if err := mem.SetTransactions(b.Batch); err != nil {
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
	one := prepared{Entry: record.Entry{Index: h.Index, Hash: hash, Ref: ref}, header: l.Header}
	if !kept {
		one.frame = s.codec.FrameLedger(nil, "", hash, l, &mem.body)
	}
	b.ledgers = append(b.ledgers, one)
	return mem.Add(b.Batch, l, hash, s.accounts)
}

func conflict(a, b *xrpl.Ledger) error {
	if same(a, b) {
		return nil
	}
	return ErrConflict
}

// try stores a batch, unless another caller has stored one of its ledgers since they were prepared:
// then they must be compared again.
func (s *Store) try(b *batch, p Progress) (again bool, err error) {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return false, ErrClosed
	}
	s.apply.Lock()
	defer s.apply.Unlock()
	next := *s.durable.Load()
	next.progress = p
	added := make([]history.Range, len(b.ledgers))
	for i := range b.ledgers {
		at := b.ledgers[i].Index
		if next.stored.Has(at) {
			return true, nil
		}
		added[i] = history.Range{From: at, To: at}
	}
	next.stored = next.stored.With(added...)
	if len(next.stored) > maxRanges {
		return false, fmt.Errorf("the stored ledgers would be %d ranges, more than %d: fill gaps before you begin new ones", len(next.stored), maxRanges)
	}
	var end flat.Position
	if err := s.index.Guard(func() (err error) { end, err = s.write(b, p); return err }); err != nil {
		return false, err
	}
	s.received.stored(b.ledgers)
	if err := s.setState(b.Batch, &next, end); err != nil {
		return false, err
	}
	if err := s.index.Apply(b.Batch); err != nil {
		return false, err
	}
	s.durable.Store(&next)
	return false, nil
}

// write makes a batch durable in the packs, and returns where they end then.
func (s *Store) write(b *batch, p Progress) (end flat.Position, err error) {
	entries := make([]record.Entry, len(b.ledgers))
	for i := range b.ledgers {
		l := &b.ledgers[i]
		if l.frame != nil {
			if l.Ref, err = s.packs.Append(l.frame); err != nil {
				return end, err
			}
		}
		if entries[i], err = l.Entry, index.SetLedger(b.Batch, l.Entry, l.header); err != nil {
			return end, err
		}
	}
	about, err := json.Marshal(About{onOff(s.accounts), p, s.Network()})
	if err != nil {
		return end, fmt.Errorf("progress: %w", err)
	}
	ref, err := s.packs.Append(record.FrameProved(about, entries))
	if err != nil {
		return end, err
	}
	return ref.End(), errors.Join(s.packs.Sync(), s.evidence.sync())
}

func same(a, b *xrpl.Ledger) bool {
	return a.Index == b.Index && bytes.Equal(a.Header, b.Header) && slices.EqualFunc(a.Transactions, b.Transactions, func(a, b xrpl.Transaction) bool {
		return bytes.Equal(a.Blob, b.Blob) && bytes.Equal(a.Meta, b.Meta)
	})
}

// room refuses a write without room on the disk, while pebble has room to finish its own.
func (s *Store) room(size int) error {
	usage, err := s.fs.GetDiskUsage(s.existing())
	if err != nil || usage.AvailBytes >= index.Reserve+2*uint64(size) {
		return nil // a file system that does not report its free space is tried
	}
	return fmt.Errorf("%w: %d MiB are free for %s, which needs %d MiB to work in; make room, or move the folder to a larger disk",
		ErrFull, usage.AvailBytes>>20, s.dir, (index.Reserve+2*uint64(size))>>20)
}

// existing is the store's folder, or the nearest existing parent.
func (s *Store) existing() string {
	dir := s.dir
	for _, err := s.fs.Stat(dir); err != nil && s.fs.PathDir(dir) != dir; _, err = s.fs.Stat(dir) {
		dir = s.fs.PathDir(dir)
	}
	return dir
}
