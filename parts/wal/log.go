package wal

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Log appends to a Backend in the order of the calls. Its methods are safe for concurrent use,
// except from the callbacks given to Append and AppendAsync, which block all later appends.
type Log struct {
	backend Backend
	limited Limited   // the backend if it implements Limited, or nil
	pieces  Segmented // likewise
	options Options
	next    atomic.Uint64 // the first number that is not committed

	mu      sync.Mutex
	room    sync.Cond     // signalled when queued falls, and on an error
	queue   []*entry      // in order; after an error it starts with the asynchronous entries of the failed group
	waiting int           // entries of the queue that a caller waits for
	fresh   bool          // the queue has entries that were never tried
	queued  int           // bytes accepted, and neither durable nor failed
	failure error         // error of the last group; nil after one that succeeded
	closed  bool          // no more entries are accepted
	wake    chan struct{} // holds one token: there is work
	done    chan struct{} // closed when the committer has ended

	writing sync.Mutex // held around the backend's Write, Sync and Trim
	commit  committer
	entries sync.Pool
	stats   struct{ records, bytes, groups, syncs atomic.Uint64 }
	close   func() error
}

// entry is a batch in progress, or a call of Sync, which has no batch.
type entry struct {
	batch     [][]byte
	bytes     int
	onCommit  func(first uint64)
	lazy      bool
	committed bool // onCommit was called, but the batch is not durable yet
	first     uint64
	err       error
	done      chan struct{} // receives a token when first and err are set; unused when lazy
}

// free returns the entry to the pool, so that an append makes no garbage.
func (l *Log) free(e *entry) {
	*e = entry{done: e.done}
	l.entries.Put(e)
}

// New starts writing to the backend, which the Log owns from then on: Close closes it.
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

// Append stores the records of a batch, all or none, under consecutive numbers, and returns the
// first number. The records are durable when it returns. Before that, onCommit (unless nil) is
// called once with the same number. These calls are sequential over all appends, in the order of
// the numbers, and from its call on a batch is readable.
//
// Errors: ErrEmpty, ErrTooLarge, ErrClosed; ErrFull, after which a later Append may succeed; other
// errors of the backend. Append waits while Options.MaxQueued is exceeded, unless the backend fails
// the queued batches. The records are read until Append returns.
func (l *Log) Append(batch [][]byte, onCommit func(first uint64)) (first uint64, err error) {
	if len(batch) == 0 {
		return 0, ErrEmpty
	}
	return l.wait(batch, onCommit)
}

// Sync makes durable everything that was appended before it was called.
func (l *Log) Sync() error {
	_, err := l.wait(nil, nil)
	return err
}

func (l *Log) wait(batch [][]byte, onCommit func(uint64)) (uint64, error) {
	e := l.entries.Get().(*entry)
	defer l.free(e)
	e.batch, e.onCommit = batch, onCommit
	if err := l.enqueue(e); err != nil {
		return 0, err
	}
	<-e.done
	return e.first, e.err
}

// AppendAsync queues a batch without waiting until it is written, which is the log's next action,
// or until it is durable, which it is after the next Append or Sync, and after Options.SyncEvery at
// the latest. Its place is that of the call: before later appends. onCommit is called as by Append,
// but when the batch is written, not yet durable.
//
// The records belong to the log from then on. An accepted batch is never dropped: after an error of
// the backend it is written again before everything else, so that the number passed to onCommit
// stays its number as long as the process lives.
//
// AppendAsync waits only while Options.MaxQueued is exceeded; then it returns the backend's error,
// such as ErrFull, if there is one.
func (l *Log) AppendAsync(batch [][]byte, onCommit func(first uint64)) error {
	if len(batch) == 0 {
		return ErrEmpty
	}
	e := l.entries.Get().(*entry)
	e.batch, e.onCommit, e.lazy = batch, onCommit, true
	if err := l.enqueue(e); err != nil {
		l.free(e)
		return err
	}
	return nil
}

// enqueue adds an entry when there is space for it.
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

// Scan calls visit for the committed records from number from on, in order, including those that
// are committed meanwhile. It ends when there are no more, or when visit returns an error, which it
// returns (ErrStop as nil). A record is valid only during its visit. Errors: a *TrimmedError when
// from is before the first record kept; a *DamageError where records are damaged, after which the
// caller may continue from its Next. There is no number 0: it stands for 1.
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

// Bounds returns the first number kept and the first that is not committed yet; they are equal when
// there are no records.
func (l *Log) Bounds() (first, next uint64) {
	next = l.next.Load()
	first, _ = l.backend.Bounds()
	return min(first, next), next
}

// Size returns the bytes that the log takes in its storage.
func (l *Log) Size() int64 { return l.backend.Size() }

// Trim removes committed records before a number; it may keep some of them.
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

// Roll starts a new piece for future records, so that the records so far can be removed separately.
// It needs a Segmented backend.
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

// Low reports whether the last request for storage found little space, as far as the backend knows.
func (l *Log) Low() bool { return l.pieces != nil && l.pieces.Low() }

// Stats returns the log's counters.
func (l *Log) Stats() Stats {
	return Stats{Records: l.stats.records.Load(), Bytes: l.stats.bytes.Load(), Groups: l.stats.groups.Load(), Syncs: l.stats.syncs.Load()}
}

// Close commits and syncs the accepted batches, ends the committer and closes the backend. Later
// appends return ErrClosed.
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
