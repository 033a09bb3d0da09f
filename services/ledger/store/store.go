// Package store keeps proved ledgers on disk, in pebble: a blob per ledger, an index of transactions by their id and,
// where it was asked for, one by account. It knows which ledgers it has, and what the sync that fills it was asked for.
//
//	s, err := store.Open(dir, store.Options{})
//	err = s.Append(ledgers, progress) // durable on return
//	err = s.Ledger(90_000_000, &ledger)
//	err = s.Close()
//
// What belongs together is written together: ledgers, their indexes, the set of ledgers that are stored and the
// progress are one batch of pebble's, whole or not at all, and batches become durable in the order in which they were
// applied. A process that is killed therefore loses what was under way and nothing before it.
//
// It is not for proving: Append stores what it is given, Check proves again what is there. It is not for two processes
// at once: the folder is locked.
//
// The goroutines are pebble's, of which Close waits, a Writer's, which its Close ends, and Check's, which it waits for.
//
// # Keys
//
//	l INDEX4              ledger: see ledger.go
//	h HASH32              INDEX4
//	t ID32                INDEX4 and the transaction's place in the ledger, as a varint
//	a ACCOUNT20 INDEX4    the places of its transactions in that ledger: varints, each the distance to the one before
//	e, E SEQ8             what is known of a wrong answer; the answer itself
//	m/NAME                format, accounts, stored (the set of ledgers, as servers write it), progress (JSON)
//
// Numbers are big-endian.
package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/zstd"

	"dyno/services/ledger/history"
)

// Format is the version of what is described above. Raise it whenever an older program could not read it.
const Format = 1

// folder is where pebble's files are in the data folder: apart, since it has a LOCK of its own.
const folder = "ledgers"

var (
	// ErrMissing is for a ledger, a hash or a transaction that is not stored.
	ErrMissing = errors.New("not stored")
	// ErrConflict is for a ledger that is stored already, with other bytes.
	ErrConflict = errors.New("stored already with other bytes")
	// ErrNoAccounts is for questions by account to a store that has no such index.
	ErrNoAccounts = errors.New("this store has no index by account; it is made when the store is, with accounts=on")
	// ErrFull is for a disk with too little room. Nothing was written; it may be tried again.
	ErrFull = errors.New("the disk is full")
	// ErrFailed is for a store that could not write, until it is opened again.
	ErrFailed   = errors.New("the store has failed")
	errReadOnly = errors.New("the store was opened for reading only")
	// ErrClosed is for a store after Close.
	ErrClosed = errors.New("the store is closed")
)

// Options is how a store is opened.
type Options struct {
	// Accounts is "on" for an index by account, "off" for none, and "" for what the store has; a new one has none.
	Accounts string

	// Compression of what is written from now on: "none", "s2" or "zstd"; "" is s2. Each is read by all.
	Compression string

	// ReadOnly is for a look at it: nothing is written, and a store that does not exist is not made.
	ReadOnly bool

	// FS is the file system; nil is the disk's.
	FS vfs.FS

	// Pebble may change pebble's options. It is for benchmarks.
	Pebble func(*pebble.Options)
}

// Store is ledgers on disk. Its methods may be called from many goroutines.
type Store struct {
	db       *pebble.DB
	fs       vfs.FS
	dir      string // pebble's
	accounts bool
	encoding byte // of ledgers that are written
	encoder  *zstd.Encoder
	decoder  *zstd.Decoder
	scratch  sync.Pool // of *scratch
	writable bool
	lock     io.Closer // of the data folder; nil: it is the caller's

	// open is held for reading by what uses db, and for writing by Close.
	open   sync.RWMutex
	closed bool

	apply    sync.Mutex  // held while a batch is applied: batches are applied, and become durable, one after another
	applied  history.Set // guarded by apply: what is stored with what is on its way to the disk
	sequence uint64      // guarded by apply: of the last batch that was applied

	durable atomic.Pointer[state]
	failure failure
	shelf   shelf
}

// state is what the store knows of itself as of a batch.
type state struct {
	sequence uint64
	stored   history.Set
	progress Progress
}

// Open opens the store in a data folder and makes it if it is missing.
func Open(dir string, o Options) (*Store, error) {
	s, err := open(dir, o)
	if err != nil {
		return nil, fmt.Errorf("store in %s: %w", dir, err)
	}
	return s, nil
}

func open(dir string, o Options) (*Store, error) {
	s := &Store{fs: o.FS, dir: filepath.Join(dir, folder), writable: !o.ReadOnly}
	s.scratch.New = func() any { return new(scratch) }
	if s.fs == nil {
		s.fs = vfs.Default
	}
	if err := s.openCodec(o.Compression); err != nil {
		return nil, err
	}
	options := pebbleOptions(s.fs, o.ReadOnly)
	if o.Pebble != nil {
		o.Pebble(options)
	}
	if err := s.ready(); err != nil {
		return nil, err
	}
	db, err := pebble.Open(s.dir, options)
	if err != nil {
		return nil, explain(err)
	}
	s.db = db
	if err := s.recover(o.Accounts); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// ready says whether there is something to open, or room for it.
func (s *Store) ready() error {
	if s.writable {
		return s.room(0)
	}
	there, err := pebble.Peek(s.dir, s.fs)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !there.Exists {
		return errors.New("there is none; name a folder that sync has filled")
	}
	return err
}

// explain says what to do about pebble's refusal.
func explain(err error) error {
	switch {
	case isLocked(err):
		return fmt.Errorf("another process has it open; stop that one or choose another folder (%w)", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; run it as the user who owns the folder", err)
	}
	return err
}

// recover reads what the store knows of itself.
func (s *Store) recover(accounts string) error {
	if accounts != "" && accounts != "on" && accounts != "off" {
		return fmt.Errorf("accounts=%s: want on or off", accounts)
	}
	format, err := s.meta("format")
	switch {
	case errors.Is(err, ErrMissing):
		if err := s.create(accounts); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if err := s.known(string(format), accounts); err != nil {
			return err
		}
	}
	st, err := s.readState()
	if err != nil {
		return err
	}
	s.applied = st.stored
	s.durable.Store(st)
	return s.openShelf()
}

// create makes an empty store, in a folder that holds nothing else of pebble's.
func (s *Store) create(accounts string) error {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return err
	}
	foreign := it.First()
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return err
	}
	if foreign {
		return fmt.Errorf("%s is a pebble database of another program's; choose another folder", s.dir)
	}
	if !s.writable {
		return errors.New("it was never written; run sync first")
	}
	if accounts == "" {
		accounts = "off"
	}
	s.accounts = accounts == "on"
	b := s.db.NewBatch()
	defer b.Close()
	err = errors.Join(b.Set(metaKey("format"), fmt.Append(nil, Format), nil), b.Set(metaKey("accounts"), []byte(accounts), nil))
	if err != nil {
		return err
	}
	return s.guard(func() error { return b.Commit(pebble.Sync) })
}

// known checks a store that exists against this program and what it was asked for.
func (s *Store) known(format, accounts string) error {
	var version int
	if _, err := fmt.Sscanf(format, "%d", &version); err != nil || version < 1 {
		return fmt.Errorf("its format is %.20q, which is none; restore it from a backup or a pack", format)
	}
	if version > Format {
		return fmt.Errorf("it has format %d, written by a newer program; this one reads up to %d", version, Format)
	}
	has, err := s.meta("accounts")
	if err != nil {
		return fmt.Errorf("whether it has an index by account: %w", err)
	}
	if accounts != "" && accounts != string(has) {
		return fmt.Errorf("it was made with accounts=%s, so it cannot be opened with accounts=%s; leave that away, or pack it and unpack it into a new folder", has, accounts)
	}
	s.accounts = string(has) == "on"
	return nil
}

func (s *Store) readState() (*state, error) {
	st := &state{}
	text, err := s.meta("stored")
	if errors.Is(err, ErrMissing) {
		return st, nil
	}
	if err != nil {
		return nil, err
	}
	if st.stored, err = history.ParseSet(string(text)); err != nil {
		return nil, fmt.Errorf("which ledgers it has is damaged: %w", err)
	}
	if text, err = s.meta("progress"); err != nil {
		return nil, fmt.Errorf("progress: %w", err)
	}
	if err = json.Unmarshal(text, &st.progress); err != nil {
		return nil, fmt.Errorf("progress is damaged: %w", err)
	}
	return st, nil
}

// meta reads one of the store's own values.
func (s *Store) meta(name string) ([]byte, error) { return s.get(metaKey(name)) }

// Stored is which ledgers are stored and durable. The caller must not change it.
func (s *Store) Stored() history.Set { return s.durable.Load().stored }

// Progress is what the last batch said. Its zero value: there was none.
func (s *Store) Progress() Progress { return s.durable.Load().progress }

// Close ends the store after what is under way. A second Close does nothing.
func (s *Store) Close() error {
	s.open.Lock()
	defer s.open.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.closeCodec()
	var err error
	if !s.failure.stuck.Load() { // else pebble holds its own locks; the error was said when it gave up
		err = s.closePebble()
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}
