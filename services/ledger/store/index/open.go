// Package index finds stored ledgers: by their number and hash, by their transactions' ids, and by
// account. It is pebble with the keys below, without a log: what a crash loses is made again from
// the packs, by services/ledger/store. It also holds what the store says about itself.
//
// It is not for ledgers, which are records of the packs, and it decides nothing about them. Its
// goroutines are pebble's, which Close waits for.
//
// # Keys
//
//	l INDEX4            ledger: HASH32 HEADER118 REF12
//	h HASH32            INDEX4
//	t ID32              INDEX4 and the transaction's place in the ledger, as a varint
//	a ACCOUNT20 INDEX4  places of its transactions in that ledger: varints, each the distance to
//	                    the one before
//	u INDEX4            why a ledger with the right hash fails verification at L4
//	d FILE4 OFFSET8     damage of a pack that could not be indexed: its end, as 8 bytes; a 1 after
//	                    that: repaired
//	p FILE4             minimum number of bytes of a pack, as 8 bytes
//	m/NAME              what the store says about itself
//
// Numbers are big-endian.
package index

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

var (
	// ErrMissing means that a key is not there.
	ErrMissing = errors.New("not stored")
	// ErrClosed means that Close was called.
	ErrClosed = errors.New("the store is closed")
)

// RepairHint says what to do about damage.
const RepairHint = "; ledgersync check --repair removes the damaged bytes, and sync fetches the ledgers again"

// memTable is the number of bytes that pebble collects before it writes tables. After a crash they
// are rebuilt from the packs, so they should be few; and while they fit into a processor's cache,
// keys are sorted faster.
const memTable = 8 << 20

// Reserve is the number of bytes that must stay free for pebble's own writes: the tables of its
// full memory tables, and as much again while they are merged.
const Reserve = 4 * memTable

// Options configure Open. The zero value of FS is the disk's.
type Options struct {
	FS       vfs.FS
	ReadOnly bool
	Log      bool                  // it has a log, as that of format 1 has
	Pebble   func(*pebble.Options) // may change pebble's options; nil: unchanged
}

// options are for small values that are written once, under random keys of 33 bytes.
func (o Options) options() *pebble.Options {
	p := &pebble.Options{
		FS:                    o.FS,
		ReadOnly:              o.ReadOnly,
		DisableWAL:            !o.Log, // the packs are the log
		FormatMajorVersion:    pebble.FormatValueSeparation,
		MemTableSize:          memTable,
		L0CompactionThreshold: 8,
		L0StopWritesThreshold: 64,
		Logger:                logger{},
		// Damage is an error of the reading call, and no reason to end the process.
		EventListener: &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}},
	}
	p.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	if o.Pebble != nil {
		o.Pebble(p)
	}
	return p
}

// DB is an index. Its methods may be called from many goroutines.
type DB struct {
	db       *pebble.DB
	view     pebble.Reader // db; or db with entries that are only in memory
	data     string        // folder that it is in, for errors
	writable bool
	failure  failure

	open   sync.RWMutex // held for reading by users of view, and for writing by Close
	closed bool
}

// Open opens the index in a folder, and makes it if it is missing and may be written.
func Open(dir string, o Options) (d *DB, err error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	defer func() { // pebble may panic
		if said := recover(); said != nil {
			err = fmt.Errorf("opening %s: %v", dir, said)
		}
	}()
	db, err := pebble.Open(dir, o.options())
	if err != nil {
		return nil, err
	}
	return &DB{db: db, view: db, data: o.FS.PathDir(dir), writable: !o.ReadOnly}, nil
}

// Exists reports whether there is an index in a folder, or one that cannot be read.
func Exists(dir string, disk vfs.FS) bool {
	there, err := pebble.Peek(dir, disk)
	return !errors.Is(err, fs.ErrNotExist) && (err != nil || there.Exists)
}

// Explain says what to do about an error of Open.
func Explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) || err.Error() == "lock held by current process":
		return fmt.Errorf("another process has it open; stop that one or choose another folder (%w)", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; run it as the folder's owner", err)
	}
	return fmt.Errorf("its index cannot be read: %w%s", FirstLine(err), RepairHint)
}

// FirstLine is an error of pebble's without its following lines, which repeat the first.
func FirstLine(err error) error { return firstLine{err} }

type firstLine struct{ error }

func (f firstLine) Error() string { line, _, _ := strings.Cut(f.error.Error(), "\n"); return line }
func (f firstLine) Unwrap() error { return f.error }

// Get is the value of a key.
func (d *DB) Get(key []byte) ([]byte, error) {
	d.open.RLock()
	defer d.open.RUnlock()
	if d.closed {
		return nil, ErrClosed
	}
	value, closer, err := d.view.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w%s", d.data, FirstLine(err), RepairHint)
	}
	return bytes.Clone(value), closer.Close()
}

// errEnough ends each early, without an error.
var errEnough = errors.New("enough")

// each visits the keys of a range in ascending order, or descending, until visit returns an error.
// Keys and values are valid only until visit returns.
func (d *DB) each(keys *pebble.IterOptions, descending bool, visit func(key, value []byte) error) error {
	d.open.RLock()
	defer d.open.RUnlock()
	if d.closed {
		return ErrClosed
	}
	it, err := d.view.NewIter(keys)
	if err != nil {
		return err
	}
	begin, step := it.First, it.Next
	if descending {
		begin, step = it.Last, it.Prev
	}
	for ok := begin(); ok && err == nil; ok = step() {
		err = visit(it.Key(), it.Value())
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return errors.Join(err, it.Error(), it.Close())
}

// Each visits the keys that begin with a byte.
func (d *DB) Each(kind byte, visit func(key, value []byte) error) error {
	return d.each(&pebble.IterOptions{LowerBound: []byte{kind}, UpperBound: []byte{kind + 1}}, false, visit)
}

// Empty reports whether there is no key at all.
func (d *DB) Empty() (empty bool, err error) {
	empty = true
	err = d.each(nil, false, func(_, _ []byte) error { empty = false; return errEnough })
	return empty, err
}

// Batch makes an empty batch of changes with room for some bytes.
func (d *DB) Batch(size int) *pebble.Batch { return d.db.NewBatchWithSize(size) }

// Overlay shows the entries of a batch as if they were applied; the index keeps the batch.
func (d *DB) Overlay(b *pebble.Batch) { d.view = b }

// IndexedBatch makes an empty batch for Overlay.
func (d *DB) IndexedBatch() *pebble.Batch { return d.db.NewIndexedBatch() }

// Apply makes the changes of a batch.
func (d *DB) Apply(b *pebble.Batch) error {
	return d.Guard(func() error { return d.db.Apply(b, pebble.NoSync) })
}

// LogSize is the number of bytes of the log.
func (d *DB) LogSize() uint64 {
	m := d.db.Metrics().WAL
	return m.Size + m.ObsoletePhysicalSize
}

// Close closes the index after the calls in progress. After a write that failed with pebble's locks
// held it leaves pebble open: the failure was reported, and closing would block forever.
func (d *DB) Close() (err error) {
	d.open.Lock()
	defer d.open.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	if d.failure.stuck.Load() {
		return nil
	}
	defer func() { // pebble panics also here on a fatal error
		if said := recover(); said != nil {
			err = fmt.Errorf("closing %s: %v", d.data, said)
		}
	}()
	if d.writable && !d.Failed() {
		err = d.db.Flush() // there is no log
	}
	if err := d.db.Close(); err != nil && !errors.Is(err, pebble.ErrClosed) {
		return fmt.Errorf("closing %s: %w", d.data, err)
	}
	return err
}
