// Package store keeps proved ledgers on disk: each is one record of flat files, the packs, which is
// written once and never changed (services/ledger/store/flat). Pebble holds the indexes: of
// ledgers, of transactions by id and, if requested, by account. The store knows which ledgers it
// has, and the request of the sync that fills it.
//
//	s, err := store.Open(dir, store.Options{})
//	err = s.Append(ledgers, progress) // durable on return
//	err = s.Ledger(90_000_000, &ledger)
//	err = s.Close()
//
// The packs hold all that matters. The record that ledgers are proved is in them too, behind the
// ledgers, and synced with them; the indexes are written afterwards and without a log, because
// entries lost in a crash are rebuilt from the packs when the store is opened, from the position
// that the indexes know. Rebuilt from scratch they are the same: Repair does that. A killed process
// therefore loses only work in progress.
//
// Answers are in the packs before they are proved (Keep), so that they need not be fetched again
// (Take). They are not stored, and no query returns them, until Append says so.
//
// It is not for proving: Append stores what it receives, Check proves the stored ledgers again.
// Only one process at a time can open it: the folder is locked.
//
// The goroutines are pebble's, which Close waits for, a Writer's, which its Close ends, and
// Check's, which it waits for.
//
// # Folder
//
//	packs/       flat files of records: see records.go
//	index/       pebble
//	evidence/    flat files of wrong answers: see evidence.go
//	quarantine/  files that Repair removed
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
//	m/NAME              format, accounts, stored (the set of ledgers, as servers write it),
//	                    lacking (stored ledgers that the index by account lacks), progress (JSON),
//	                    read (FILE4 OFFSET8: position from which the packs must be read)
//
// Numbers are big-endian.
package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/klauspost/compress/zstd"

	"dyno/services/ledger/history"
	"dyno/services/ledger/store/flat"
)

// Format is the version of the format above. Raise it whenever an older program could not read it.
const Format = 2

// Contents of the data folder.
const (
	packsFolder      = "packs"
	indexFolder      = "index"
	evidenceFolder   = "evidence"
	quarantineFolder = "quarantine"
	repairingFolder  = "repairing" // the old index, until a repair is complete
)

var (
	// ErrMissing means that a ledger, a hash or a transaction is not stored.
	ErrMissing = errors.New("not stored")
	// ErrConflict means that a ledger is stored already, with other bytes.
	ErrConflict = errors.New("stored already with other bytes")
	// ErrNoAccounts means that the store has no index by account.
	ErrNoAccounts   = errors.New("this store has no index by account; serve and sync make it with --set accounts=on")
	errAccountsStay = errors.New("it has an index by account, so it cannot be opened with accounts=off; omit that, or pack it and unpack it into a new folder")
	// ErrLacking means that the index by account does not have the requested ledgers yet.
	ErrLacking = errors.New("the index by account is not complete")
	// ErrFull means that the disk has too little room. No data was written; the caller may retry.
	ErrFull = errors.New("the disk is full")
	// ErrFailed means that a write failed; it stays until the store is opened again.
	ErrFailed   = errors.New("the store has failed")
	errReadOnly = errors.New("the store was opened for reading only")
	// ErrClosed means that Close was called.
	ErrClosed = errors.New("the store is closed")
)

// Options configure a store. The zero value is the default.
type Options struct {
	// Accounts is "on" for an index by account, "off" for none, and "" for the store's own setting;
	// a new store has none. IndexAccounts indexes the ledgers stored before; later ones are indexed
	// when they are stored.
	Accounts string

	// Compression of new ledgers: "none", "s2" or "zstd"; "" is none. All are readable.
	Compression string

	// ReadOnly opens the store without writing, and does not make a missing one.
	ReadOnly bool

	// FS is the file system; nil is the disk's.
	FS vfs.FS

	// Pebble may change pebble's options. It is for benchmarks.
	Pebble func(*pebble.Options)

	maxPack int64 // bytes; for tests
}

// Store is ledgers on disk. Its methods may be called from many goroutines.
type Store struct {
	db       *pebble.DB
	index    pebble.Reader // db; for a read-only store, db with the missing entries added in memory
	fs       vfs.FS
	dir      string // the data folder
	accounts bool
	encoding byte // of new ledgers
	encoder  *zstd.Encoder
	decoder  *zstd.Decoder
	scratch  sync.Pool // of *scratch
	writable bool
	lock     io.Closer // of the data folder; nil: the caller holds it

	packs    *flat.Files
	received received
	evidence shelf

	// open is held for reading by users of db, and for writing by Close.
	open   sync.RWMutex
	closed bool

	apply   sync.Mutex // held while a batch is stored
	full    uint32     // guarded by apply: the highest pack whose final size is in the index
	durable atomic.Pointer[state]
	failure failure
}

type state struct {
	stored   history.Set
	lacking  history.Set // stored ledgers that the index by account lacks
	progress Progress
}

// Open opens the store in a data folder and makes it if it is missing.
func Open(dir string, o Options) (*Store, error) { return openStore(dir, o, false) }

// openStore opens a store. With prove, it verifies again what it indexes from the packs.
func openStore(dir string, o Options, prove bool) (*Store, error) {
	s := &Store{fs: o.FS, dir: dir, writable: !o.ReadOnly, received: newReceived()}
	s.scratch.New = func() any { return new(scratch) }
	if s.fs == nil {
		s.fs = vfs.Default
	}
	err := s.openCodec(o.Compression)
	if err == nil {
		err = s.openAll(o, prove)
	}
	if err != nil {
		return nil, fmt.Errorf("store in %s: %w", dir, errors.Join(err, s.closeAll()))
	}
	return s, nil
}

func (s *Store) openAll(o Options, prove bool) (err error) {
	if s.packs, err = flat.Open(s.fs.PathJoin(s.dir, packsFolder), flat.Options{FS: s.fs, MaxFile: o.maxPack}); err != nil {
		return err
	}
	if err := s.openIndex(o); err != nil {
		return err
	}
	if err := s.recover(o.Accounts); err != nil {
		return err
	}
	if err := s.complete(); err != nil {
		return err
	}
	if err := s.replay(prove); err != nil {
		return err
	}
	if err := s.openShelf(s.dir); err != nil {
		return err
	}
	if o.Accounts == "on" && !s.accounts {
		return s.beginAccounts()
	}
	return nil
}

// openIndex opens pebble. A missing index of a read-only store is built in memory.
func (s *Store) openIndex(o Options) error {
	options := pebbleOptions(s.fs, o.ReadOnly)
	if o.Pebble != nil {
		o.Pebble(options)
	}
	dir := s.fs.PathJoin(s.dir, indexFolder)
	if s.writable {
		if err := s.room(0); err != nil {
			return err
		}
	} else if there, err := pebble.Peek(dir, s.fs); errors.Is(err, fs.ErrNotExist) || err == nil && !there.Exists {
		if len(s.packs.List(0)) == 0 {
			return errors.New("there is none; name a folder that sync has filled")
		}
		options.ReadOnly, options.FS = false, vfs.NewMem()
	}
	var err error
	s.db, err = openPebble(dir, options)
	s.index = s.db
	return explain(err)
}

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
		if s.writable { // remains of an upgrade
			if err := s.fs.RemoveAll(s.fs.PathJoin(s.dir, oldFolder)); err != nil {
				return err
			}
		}
	}
	st, err := s.readState()
	if err != nil {
		return err
	}
	s.durable.Store(st)
	return nil
}

// create makes an empty store, in a folder without another pebble database.
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
		return fmt.Errorf("%s is another program's pebble database; choose another folder", s.fs.PathJoin(s.dir, indexFolder))
	}
	had, found, err := s.said()
	if err != nil {
		return err
	}
	switch {
	case found && accounts == "off" && had.Accounts == "on":
		return errAccountsStay
	case found:
		accounts = had.Accounts
	}
	s.accounts = accounts == "on"
	if !s.writable && !found {
		return errors.New("it was never written; run sync first")
	}
	if !s.writable {
		return nil
	}
	b := s.db.NewBatch()
	defer b.Close()
	if err = errors.Join(b.Set(metaKey("format"), fmt.Append(nil, Format), nil), s.setOnOff(b)); err != nil {
		return err
	}
	return s.guard(func() error { return b.Commit(pebble.NoSync) })
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func (s *Store) setOnOff(b *pebble.Batch) error {
	return b.Set(metaKey("accounts"), []byte(onOff(s.accounts)), nil)
}

// known checks an existing store against this program and the options.
func (s *Store) known(format, accounts string) error {
	var version int
	if _, err := fmt.Sscanf(format, "%d", &version); err != nil || version < 1 {
		return fmt.Errorf("its format %.20q is invalid; restore it from a backup or a pack", format)
	}
	if version > Format {
		return fmt.Errorf("it has format %d, written by a newer program; this one reads up to %d", version, Format)
	}
	has, err := s.meta("accounts")
	if err != nil {
		return fmt.Errorf("whether it has an index by account: %w", err)
	}
	if accounts == "off" && string(has) == "on" {
		return errAccountsStay
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
		return nil, fmt.Errorf("the set of stored ledgers is damaged: %w", err)
	}
	switch text, err = s.meta("lacking"); {
	case errors.Is(err, ErrMissing):
	case err != nil:
		return nil, err
	default:
		if st.lacking, err = history.ParseSet(string(text)); err != nil {
			return nil, fmt.Errorf("the set of ledgers that the index by account lacks is damaged: %w", err)
		}
	}
	if text, err = s.meta("progress"); err != nil {
		return nil, fmt.Errorf("progress: %w", err)
	}
	if err = json.Unmarshal(text, &st.progress); err != nil {
		return nil, fmt.Errorf("progress is damaged: %w", err)
	}
	return st, nil
}

func (s *Store) meta(name string) ([]byte, error) { return s.get(metaKey(name)) }

// Stored is the set of stored and durable ledgers. The caller must not change it.
func (s *Store) Stored() history.Set { return s.durable.Load().stored }

// Progress is that of the last batch. Its zero value means that there was none.
func (s *Store) Progress() Progress { return s.durable.Load().progress }

// Close closes the store after the calls in progress. A second Close has no effect.
func (s *Store) Close() error {
	s.open.Lock()
	defer s.open.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.closeAll()
}

func (s *Store) closeAll() (err error) {
	if s.encoder != nil {
		s.closeCodec()
	}
	for _, files := range []*flat.Files{s.packs, s.evidence.Files} {
		if files != nil {
			err = errors.Join(err, files.Close())
		}
	}
	if s.db != nil && !s.failure.stuck.Load() { // else pebble holds its own locks; the first failure was reported
		err = errors.Join(err, s.closePebble())
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}
