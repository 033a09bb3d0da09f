package wal

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Log appends to a Backend, in the order in which it is called. Its methods may be called by any goroutine
// at any time, but not from the callbacks given to Append and Lazily, which hold up everything behind them.
type Log struct {
	backend Backend
	limited Limited   // the backend, if it is; nil
	pieces  Segmented // likewise
	options Options
	next    atomic.Uint64 // the first number that is not committed

	mu      sync.Mutex
	room    sync.Cond     // signalled when queued sinks, and on an error
	queue   []*entry      // in order; after an error the lazy ones of the failed group come first again
	waiting int           // entries of the queue that somebody waits for
	fresh   bool          // there are entries that were never tried
	queued  int           // bytes taken in and neither durable nor refused
	failure error         // of the last group; nil after one that succeeded
	closed  bool          // no more entries
	wake    chan struct{} // holds one token: there is something to do
	done    chan struct{} // closed when the committer has ended

	writing sync.Mutex // held around the backend's Write, Sync and Trim
	commit  committer
	entries sync.Pool
	stats   struct{ records, bytes, groups, syncs atomic.Uint64 }
	close   func() error
}

// entry is a batch on its way, or a call of Sync, which has no batch.
type entry struct {
	batch     [][]byte
	bytes     int
	then      func(first uint64)
	lazy      bool
	committed bool // and its then called, but not durable yet
	first     uint64
	err       error
	done      chan struct{} // gets a token when first and err are set; nobody waits for a lazy one
}

// free lets the entry be used again: what an append costs is the write, not garbage.
func (l *Log) free(e *entry) {
	*e = entry{done: e.done}
	l.entries.Put(e)
}

// New begins to write to the backend, which belongs to the Log from then on: Close closes it.
func New(b Backend, o Options) *Log {
	l := &Log{backend: b, options: o.withDefaults(), wake: make(chan struct{}, 1), done: make(chan struct{})}
	l.limited, _ = b.(Limited)
	l.pieces, _ = b.(Segmented)
	l.room.L = &l.mu
	l.entries.New = func() any { return &entry{done: make(chan struct{}, 1)} }
	_, next := b.Bounds()
	l.next.Store(next)
	l.close = sync.OnceValue(l.shut)
	go l.run()
	return l
}

// Append stores the records of a batch, all or none, under consecutive numbers, of which it returns the
// first. They are durable when it returns. Before that, then (unless nil) is called once with the same
// number; over all appends these calls come one at a time, in the order of the numbers, and from the moment
// of its call a batch can be read.
//
// Errors: ErrEmpty, ErrTooLarge, ErrClosed; ErrFull, after which a later Append may succeed; what else the
// backend says. It waits while Options.MaxQueued is exceeded, unless the backend refuses what waits. The
// records are read until Append returns.
func (l *Log) Append(batch [][]byte, then func(first uint64)) (first uint64, err error) {
	if len(batch) == 0 {
		return 0, ErrEmpty
	}
	return l.wait(batch, then)
}

// Sync makes durable everything that was appended before it was called.
func (l *Log) Sync() error {
	_, err := l.wait(nil, nil)
	return err
}

func (l *Log) wait(batch [][]byte, then func(uint64)) (uint64, error) {
	e := l.entries.Get().(*entry)
	defer l.free(e)
	e.batch, e.then = batch, then
	if err := l.enqueue(e); err != nil {
		return 0, err
	}
	<-e.done
	return e.first, e.err
}

// Lazily takes a batch in without waiting for its being written, which is done next, or durable, which it
// becomes with the next Append or Sync, within Options.SyncEvery at the latest. Its place is that of the
// call: before later appends. then is called as by Append, but when the batch is written, not yet durable.
//
// The records belong to the log from then on. A batch that was taken in is not given up: after an error of
// the backend it is written again before everything else, so that the number then was called with stays
// its own as long as the process lives.
//
// It waits only while Options.MaxQueued is exceeded; then it returns the error of the backend, if there is
// one, as ErrFull.
func (l *Log) Lazily(batch [][]byte, then func(first uint64)) error {
	if len(batch) == 0 {
		return ErrEmpty
	}
	e := l.entries.Get().(*entry)
	e.batch, e.then, e.lazy = batch, then, true
	if err := l.enqueue(e); err != nil {
		l.free(e)
		return err
	}
	return nil
}

// enqueue takes an entry in, when there is room for it.
func (l *Log) enqueue(e *entry) error {
	for _, record := range e.batch {
		e.bytes += len(record)
	}
	if e.bytes > l.options.MaxBatch {
		return fmt.Errorf("%w: %d bytes, at most %d: split it", ErrTooLarge, e.bytes, l.options.MaxBatch)
	}
	if l.limited != nil {
		if err := l.limited.Admit(e.batch); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && l.queued > 0 && l.queued+e.bytes > l.options.MaxQueued {
		if l.failure != nil {
			return l.failure
		}
		l.room.Wait()
	}
	if l.closed {
		return ErrClosed
	}
	if e.lazy && errors.Is(l.failure, ErrFailed) {
		return l.failure
	}
	l.queue = append(l.queue, e)
	l.queued += e.bytes
	l.fresh = true
	if !e.lazy {
		l.waiting++
	}
	l.signal()
	return nil
}

func (l *Log) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Scan visits the committed records from number from on, in order, until there are no more, those that
// are committed meanwhile included, or visit returns an error, which it returns (ErrStop as nil). The record
// is valid during the visit only. Errors: a *TrimmedError when from is before the first record kept; a
// *DamageError where records are damaged, after which the caller may go on from its Next. There is no
// number 0: it stands for 1.
func (l *Log) Scan(from uint64, visit func(seq uint64, record []byte) error) error {
	from = max(from, 1)
	if from >= l.next.Load() {
		return nil
	}
	return l.backend.Scan(from, func(seq uint64, record []byte) error {
		if seq >= l.next.Load() {
			return ErrStop
		}
		return visit(seq, record)
	})
}

// Bounds returns the first number kept and the first that is not committed yet; they are equal when there
// are no records.
func (l *Log) Bounds() (first, next uint64) {
	next = l.next.Load()
	first, _ = l.backend.Bounds()
	return min(first, next), next
}

// Size is how many bytes the log takes where it is kept.
func (l *Log) Size() int64 { return l.backend.Size() }

// Trim gives up committed records before a number; it may keep some of them.
func (l *Log) Trim(before uint64) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed {
		return ErrClosed
	}
	return l.backend.Trim(min(before, l.next.Load()))
}

// Roll lets what was appended so far be given up apart from what comes, where a backend gives up records in pieces.
func (l *Log) Roll() error {
	if l.pieces == nil {
		return nil
	}
	if err := l.Sync(); err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	l.pieces.Roll()
	return nil
}

// Low reports whether space ran short when the log last wanted some, as far as the backend knows.
func (l *Log) Low() bool { return l.pieces != nil && l.pieces.Low() }

// Stats reads the log's counters.
func (l *Log) Stats() Stats {
	return Stats{Records: l.stats.records.Load(), Bytes: l.stats.bytes.Load(), Groups: l.stats.groups.Load(), Syncs: l.stats.syncs.Load()}
}

// Close commits and syncs what was taken in, ends the committer and closes the backend. Later calls that
// would append return ErrClosed.
func (l *Log) Close() error { return l.close() }

func (l *Log) shut() error {
	l.mu.Lock()
	l.closed = true
	l.room.Broadcast()
	l.mu.Unlock()
	l.signal()
	<-l.done
	l.writing.Lock()
	defer l.writing.Unlock()
	return errors.Join(l.commit.last, l.backend.Close())
}
