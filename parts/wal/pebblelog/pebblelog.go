// Package pebblelog keeps the records of a wal.Log in pebble, an LSM key-value store: a record under its
// number as eight bytes, big-endian. It is for those who know how to operate pebble, and for comparison;
// segment files are faster and go on after a full disk.
//
// It is not for disks that run full in earnest: pebble cannot go on after its own log could not be written.
// Write therefore answers wal.ErrFull while there is still room for what pebble does on its own account, and
// when pebble gives up nevertheless, the log answers wal.ErrFailed until it is opened again; where pebble
// gives up on a goroutine of its own, or while it begins a new file of its log, the process ends and says why.
//
// The goroutines are pebble's; Close ends them and waits.
package pebblelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/parts/wal"
)

// memTable is how many bytes pebble collects before it writes a table: few enough that a restart reads
// little, many enough that tables are few.
const memTable = 16 << 20

// reserve is how many bytes must stay free for what pebble writes by itself: the tables of two full memory
// tables, and as much again while they are merged.
const reserve = 4 * memTable

// store is a wal.Backend.
type store struct {
	db  *pebble.DB
	fs  vfs.FS
	dir string

	// open is held for reading by what uses db, and for writing by Close.
	open   sync.RWMutex
	closed bool
	first  atomic.Uint64
	next   atomic.Uint64
	failed error // set by the goroutine that writes; see guard
	stuck  bool  // pebble gave up with its locks held, so that closing it would wait for ever
}

// Open opens the log in a folder, which is made when it is missing. At most one may be open at a time.
func Open(dir string) (wal.Backend, error) { return open(dir, vfs.Default) }

func open(dir string, fs vfs.FS) (*store, error) {
	db, err := pebble.Open(dir, &pebble.Options{
		FS:                 fs,
		MemTableSize:       memTable,
		FormatMajorVersion: pebble.FormatNewest,
		Logger:             logger{},
	})
	if err != nil {
		return nil, fmt.Errorf("opening the pebble log in %s: %w", dir, err)
	}
	s := &store{db: db, fs: fs, dir: dir}
	if err := s.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("reading the pebble log in %s: %w", dir, err), db.Close())
	}
	return s, nil
}

// key is where a record lies. Numbers begin at 1; under key(0) lies the first number kept.
func key(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// recover finds the bounds. When all records were trimmed, the first number kept is the next to be given.
func (s *store) recover() error {
	first := uint64(1)
	value, closer, err := s.db.Get(key(0))
	switch {
	case err == nil:
		if len(value) != 8 {
			return fmt.Errorf("the first number kept has %d bytes, not 8: this is no log of ours", len(value))
		}
		first = binary.BigEndian.Uint64(value)
		closer.Close()
	case !errors.Is(err, pebble.ErrNotFound):
		return err
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: key(first)})
	if err != nil {
		return err
	}
	next := first
	if it.Last() {
		if len(it.Key()) != 8 {
			return errors.Join(fmt.Errorf("the key %x is no number: this is no log of ours", it.Key()), it.Close())
		}
		next = binary.BigEndian.Uint64(it.Key()) + 1
	}
	s.first.Store(first)
	s.next.Store(next)
	return it.Close()
}

// Write stores all batches as one batch of pebble's, whole or not at all.
func (s *store) Write(batches [][][]byte) error {
	size, records := 0, uint64(0)
	for _, batch := range batches {
		for _, record := range batch {
			size += len(record)
			records++
		}
	}
	next := s.next.Load()
	err := s.guard(func() error {
		if usage, err := s.fs.GetDiskUsage(s.dir); err == nil && usage.AvailBytes < reserve+2*uint64(size) {
			return fmt.Errorf("%w: %d MiB are free in %s, pebble needs %d MiB to work in", wal.ErrFull, usage.AvailBytes>>20, s.dir, reserve>>20)
		}
		b := s.db.NewBatchWithSize(size + 32*int(records))
		defer b.Close()
		seq := next
		for _, batch := range batches {
			for _, record := range batch {
				if err := b.Set(key(seq), record, nil); err != nil {
					return err
				}
				seq++
			}
		}
		return b.Commit(pebble.NoSync)
	})
	if err == nil {
		s.next.Store(next + records)
	}
	return err
}

// Sync makes pebble's log durable. After an error the log has failed: pebble cannot undo what it wrote.
func (s *store) Sync() error {
	return s.guard(func() error { return s.db.LogData(nil, pebble.Sync) })
}

// Trim drops records with a range deletion; pebble gives their space back when it merges tables.
func (s *store) Trim(before uint64) error {
	before = min(before, s.next.Load())
	if before <= s.first.Load() {
		return nil
	}
	// Before it is so: a scan that sees records missing then knows why.
	s.first.Store(before)
	return s.guard(func() error {
		b := s.db.NewBatch()
		defer b.Close()
		if err := errors.Join(b.Set(key(0), key(before), nil), b.DeleteRange(key(1), key(before), nil)); err != nil {
			return err
		}
		return b.Commit(pebble.NoSync)
	})
}

func (s *store) Scan(from uint64, visit func(seq uint64, record []byte) error) error {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return wal.ErrClosed
	}
	for from < s.next.Load() {
		end, err := s.scan(from, s.next.Load(), visit)
		if errors.Is(err, wal.ErrStop) {
			return nil
		}
		if err != nil {
			return err
		}
		from = end
	}
	if first := s.first.Load(); from < first {
		return &wal.TrimmedError{First: first}
	}
	return nil
}

// scan visits the records from one number up to another, which it returns.
func (s *store) scan(from, to uint64, visit func(seq uint64, record []byte) error) (uint64, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: key(from), UpperBound: key(to)})
	if err != nil {
		return 0, fmt.Errorf("reading the pebble log in %s: %w", s.dir, err)
	}
	defer it.Close()
	// Asked after the iterator was made: what it does not show was trimmed before.
	if first := s.first.Load(); from < first {
		return 0, &wal.TrimmedError{First: first}
	}
	for it.First(); it.Valid(); it.Next() {
		if seq := binary.BigEndian.Uint64(it.Key()); seq != from {
			return 0, &wal.DamageError{From: from, Next: seq, Where: "missing in the pebble log in " + s.dir}
		}
		if err := visit(from, it.Value()); err != nil {
			return 0, err
		}
		from++
	}
	if err := it.Error(); err != nil {
		return 0, fmt.Errorf("reading record %d of the pebble log in %s: %w", from, s.dir, err)
	}
	if from != to {
		return 0, &wal.DamageError{From: from, Next: to, Where: "missing in the pebble log in " + s.dir}
	}
	return to, nil
}

func (s *store) Bounds() (first, next uint64) {
	first = s.first.Load() // before next, so that it is never the larger
	return first, s.next.Load()
}

// Size is what pebble's log and tables take on the disk, that of trimmed records included until pebble has
// merged them away.
func (s *store) Size() int64 {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return 0
	}
	return int64(s.db.Metrics().DiskSpaceUsage())
}

// Close waits until scans have ended. After pebble gave up with its locks held, its goroutines and its lock
// on the folder stay until the process ends; the error says so.
func (s *store) Close() error {
	s.open.Lock()
	defer s.open.Unlock()
	if s.closed {
		return wal.ErrClosed
	}
	s.closed = true
	if s.stuck {
		return fmt.Errorf("%w and cannot be closed before the process ends", s.failed)
	}
	return s.db.Close()
}
