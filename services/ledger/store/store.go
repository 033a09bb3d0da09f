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
// Wrong answers of servers are kept beside the ledgers, so that people can look at them: at most
// 1,000 answers and 64 MiB, the newest ones (Shelf). The store does not decide which are wrong.
//
// It is not for proving: Append stores what it receives, store/folder proves the stored ledgers
// again. Only one process at a time can open it: the folder is locked. It starts no goroutines but
// pebble's, which Close waits for, and that of a Writer, which its own Close ends.
//
// # Folder
//
//	packs/       flat files of records: see store/record
//	index/       pebble: see store/index
//	evidence/    flat files of wrong answers: see Shelf
//	quarantine/  files that a repair removed: see store/folder
//
// The index says about the store: format, accounts, stored (the set of ledgers, as servers write
// it), lacking (stored ledgers that the index by account lacks), progress (JSON), network (its id,
// if known), and read (FILE4 OFFSET8: position from which the packs must be read).
package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/store/flat"
	"dyno/services/ledger/store/index"
	"dyno/services/ledger/store/record"
	"dyno/services/ledger/xrpl/history"
)

// Format is the version of the format above. Raise it whenever an older program could not read it,
// or would write what this one does not expect. Since 3, the index by account has the issuers of
// multi-purpose tokens, and lacks the destinations of payments that failed.
const Format = 3

// Contents of the data folder.
const (
	PacksFolder    = "packs"
	IndexFolder    = "index"
	EvidenceFolder = "evidence"
	OldFolder      = "ledgers" // the store of format 1, until it is upgraded
)

var (
	// ErrMissing means that a ledger, a hash or a transaction is not stored.
	ErrMissing = index.ErrMissing
	// ErrConflict means that a ledger is stored already, with other bytes.
	ErrConflict = errors.New("stored already with other bytes")
	// ErrNoAccounts means that the store has no index by account.
	ErrNoAccounts = errors.New("this store has no index by account; serve and sync make it with --set accounts=true")
	// ErrLacking means that the index by account does not have the requested ledgers yet.
	ErrLacking = errors.New("the index by account is not complete")
	// ErrFull means that the disk has too little room. No data was written; the caller may retry.
	ErrFull = errors.New("the disk is full")
	// ErrFailed means that a write failed; it stays until the store is opened again.
	ErrFailed   = index.ErrFailed
	errReadOnly = errors.New("the store was opened for reading only")
	// ErrClosed means that Close was called.
	ErrClosed = index.ErrClosed
)

// Options configure a store. The zero value is the default.
type Options struct {
	// Accounts switches the index by account on; a store that has one keeps it anyway. IndexAccounts
	// indexes the ledgers stored before; later ones are indexed when they are stored.
	Accounts bool

	// Compression of new ledgers: "none" or "s2"; "" is none. Ledgers in any are readable, and in
	// zstd, too, which earlier versions wrote.
	Compression string

	// ReadOnly opens the store without writing, and does not make a missing one.
	ReadOnly bool

	// FS is the file system; nil is the disk's.
	FS vfs.FS

	// Prove proves again what is indexed from the packs: after a repair.
	Prove bool

	// Lock of the data folder, which Close closes; nil: the caller holds it.
	Lock io.Closer

	// For tests and benchmarks: Pebble may change pebble's options; MaxPack is a pack's size in
	// bytes.
	Pebble  func(*pebble.Options)
	MaxPack int64
}

// Store is ledgers on disk. Its methods may be called from many goroutines.
type Store struct {
	index    *index.DB
	fs       vfs.FS
	dir      string // the data folder
	accounts bool
	codec    *record.Codec
	scratch  sync.Pool // of *scratch
	writable bool
	lock     io.Closer // of the data folder; nil: the caller holds it

	packs    *flat.Files
	received received
	evidence *Shelf

	// open is held for reading by writers, and for writing by Close.
	open   sync.RWMutex
	closed bool

	apply   sync.Mutex // held while a batch is stored
	full    uint32     // guarded by apply: the highest pack whose final size is in the index
	durable atomic.Pointer[state]
}

// scratch is memory that batches use again.
type scratch struct {
	body, frame []byte
	index.Scratch
}

type state struct {
	stored   history.Set
	lacking  history.Set // stored ledgers that the index by account lacks
	progress Progress
	network  *uint32 // id of the network; nil: not known
}

// Open opens the store in a data folder and makes it if it is missing. After an error the caller
// still has Options.Lock.
func Open(dir string, o Options) (*Store, error) {
	s := &Store{fs: o.FS, dir: dir, writable: !o.ReadOnly, received: newReceived()}
	s.scratch.New = func() any { return new(scratch) }
	if s.fs == nil {
		s.fs = vfs.Default
	}
	if err := s.openAll(o); err != nil {
		return nil, fmt.Errorf("store in %s: %w", dir, errors.Join(err, s.closeAll()))
	}
	s.lock = o.Lock
	return s, nil
}

func (s *Store) openAll(o Options) (err error) {
	if s.codec, err = record.NewCodec(o.Compression); err != nil {
		return err
	}
	if s.packs, err = flat.Open(s.fs.PathJoin(s.dir, PacksFolder), flat.Options{FS: s.fs, MaxFile: o.MaxPack}); err != nil {
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
	if err := s.replay(o.Prove); err != nil {
		return err
	}
	kept := shelfOptions{FS: s.fs, Codec: s.codec, Room: s.room, ReadOnly: o.ReadOnly}
	if s.evidence, err = openShelf(s.fs.PathJoin(s.dir, EvidenceFolder), kept); err != nil {
		return err
	}
	if o.Accounts && !s.accounts {
		return s.beginAccounts()
	}
	return nil
}

// openIndex opens the index. A missing one of a read-only store is built in memory.
func (s *Store) openIndex(o Options) (err error) {
	dir := s.fs.PathJoin(s.dir, IndexFolder)
	options := index.Options{FS: s.fs, ReadOnly: o.ReadOnly, Pebble: o.Pebble}
	if s.writable {
		if err := s.room(0); err != nil {
			return err
		}
	} else if !index.Exists(dir, s.fs) {
		if len(s.packs.List(0)) == 0 {
			return errors.New("there is none; name a folder that sync has filled")
		}
		options.ReadOnly, options.FS = false, vfs.NewMem()
	}
	s.index, err = index.Open(dir, options)
	return index.Explain(err)
}

func (s *Store) recover(accounts bool) error {
	_, err := s.meta("format")
	switch {
	case errors.Is(err, ErrMissing):
		if err := s.create(accounts); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if err := s.known(); err != nil {
			return err
		}
		if s.writable { // remains of an upgrade
			if err := s.fs.RemoveAll(s.fs.PathJoin(s.dir, OldFolder)); err != nil {
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
func (s *Store) create(accounts bool) error {
	empty, err := s.index.Empty()
	if err != nil {
		return err
	}
	if !empty {
		return fmt.Errorf("%s is another program's pebble database; choose another folder", s.fs.PathJoin(s.dir, IndexFolder))
	}
	had, found, err := s.said()
	if err != nil {
		return err
	}
	if found {
		accounts = had.Accounts == "on"
	}
	s.accounts = accounts
	if !s.writable && !found {
		return errors.New("it was never written; run sync first")
	}
	if !s.writable {
		return nil
	}
	b := s.index.Batch(0)
	defer b.Close()
	if err = errors.Join(b.Set(index.MetaKey("format"), fmt.Append(nil, Format), nil), s.setOnOff(b)); err != nil {
		return err
	}
	return s.index.Apply(b)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func (s *Store) setOnOff(b *pebble.Batch) error {
	return b.Set(index.MetaKey("accounts"), []byte(onOff(s.accounts)), nil)
}

// known reads what an existing store has. parts/datadir has checked its format.
func (s *Store) known() error {
	has, err := s.meta("accounts")
	if err != nil {
		return fmt.Errorf("whether it has an index by account: %w", err)
	}
	s.accounts = string(has) == "on"
	return nil
}

func (s *Store) readState() (st *state, err error) {
	st = &state{}
	if st.stored, err = s.readSet("stored"); err != nil {
		return nil, fmt.Errorf("the set of stored ledgers is damaged: %w", err)
	}
	if st.lacking, err = s.readSet("lacking"); err != nil {
		return nil, fmt.Errorf("the set of ledgers that the index by account lacks is damaged: %w", err)
	}
	if text, err := s.meta("network"); err == nil {
		if id, err := strconv.ParseUint(string(text), 10, 32); err == nil {
			st.network = new(uint32(id))
		}
	}
	text, err := s.meta("progress")
	if err == nil {
		err = json.Unmarshal(text, &st.progress)
	}
	if err != nil && !(errors.Is(err, ErrMissing) && len(st.stored) == 0) {
		return nil, fmt.Errorf("progress is damaged: %w", err)
	}
	return st, nil
}

// readSet reads a set of ledgers, which is empty if it was never written.
func (s *Store) readSet(name string) (history.Set, error) {
	text, err := s.meta(name)
	if errors.Is(err, ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return history.ParseSet(string(text))
}

func (s *Store) meta(name string) ([]byte, error) { return s.index.Get(index.MetaKey(name)) }

// Stored is the set of stored and durable ledgers. The caller must not change it.
func (s *Store) Stored() history.Set { return s.durable.Load().stored }

// Progress is that of the last batch. Its zero value means that there was none.
func (s *Store) Progress() Progress { return s.durable.Load().progress }

// Network is the id of the network that the ledgers are of; nil: not known.
func (s *Store) Network() *uint32 { return s.durable.Load().network }

// SetNetwork says which network the ledgers are of. The next batch makes it durable.
func (s *Store) SetNetwork(id uint32) {
	s.apply.Lock()
	defer s.apply.Unlock()
	next := *s.durable.Load()
	next.network = &id
	s.durable.Store(&next)
}

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
	if s.packs != nil {
		err = s.packs.Close()
	}
	if s.evidence != nil {
		err = errors.Join(err, s.evidence.close())
	}
	if s.index != nil {
		err = errors.Join(err, s.index.Close())
	}
	if s.codec != nil {
		s.codec.Close()
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// Evidence is the wrong answers that are kept. With each batch of ledgers they are synced, too.
func (s *Store) Evidence() *Shelf { return s.evidence }

// Index is the store's index, for checks.
func (s *Store) Index() *index.DB { return s.index }

// HasAccounts reports whether there is an index by account.
func (s *Store) HasAccounts() bool { return s.accounts }
