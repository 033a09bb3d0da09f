// Package wal is a write-ahead log: an append-only sequence of numbered records that are durable
// when Append returns.
//
//	files, err := segment.Open(dir, segment.Options{})
//	log := wal.New(files, wal.Options{Commit: wal.Group})
//	first, err := log.Append([][]byte{record}, nil)
//	err = log.Scan(first, func(seq uint64, record []byte) error { ... })
//
// A Log combines a Backend, which stores records, with a way to commit: each append separately
// (PerAppend), or concurrent appends together, with one fsync for all (Group). Backends are
// packages of their own: segment (files; the usual one), memory and jetstream. All pass the suite
// of waltest.
//
// It is not a queue: it has no consumers. It is not for random access by anything but the number.
//
// A Log owns one goroutine, the committer, which Close ends and waits for; each Backend documents
// what it owns.
package wal

import (
	"errors"
	"fmt"
	"time"
)

// Backend stores records durably, numbered without gaps from 1. Write, Sync and Trim are never
// called concurrently; Scan, Bounds and Size may be called by any goroutine at any time.
type Backend interface {
	// Write stores batches of records under the next numbers, starting with Bounds' next. A batch
	// survives a crash completely or not at all. Written records survive the end of the process but
	// not a crash of the machine: that takes Sync. After an error none of the batches is stored, and
	// their numbers are used by the next Write. They do not reappear after a restart, except when a
	// crash follows before the next successful Write. A backend which cannot detect or undo the effect
	// of a failed Write returns ErrFailed from then on, or resolves it before the next Write. After
	// ErrFailed, records that were not synced are lost, too.
	Write(batches [][][]byte) error
	// Sync makes all written records durable. After an error no record written since the last
	// successful Sync is stored, as with Write; a backend which cannot undo them returns ErrFailed
	// from then on.
	Sync() error
	// Scan calls visit for the stored records from number from on, in order, until there are no more
	// or visit returns an error, which it returns (ErrStop as nil). A record is valid only during its
	// visit. When from is before the first record kept, it returns a *TrimmedError; where records are
	// damaged, a *DamageError, after which the caller may continue from its Next.
	Scan(from uint64, visit func(seq uint64, record []byte) error) error
	// Bounds returns the first number kept and the next number; they are equal when no record is kept.
	Bounds() (first, next uint64)
	// Size returns the bytes that the records take in storage.
	Size() int64
	// Trim removes records before a number. It may keep more than necessary, never less.
	Trim(before uint64) error
	Close() error
}

// Limited is a Backend that cannot store every batch that Options.MaxBatch allows.
type Limited interface {
	Backend
	// Admit returns ErrTooLarge, wrapped, for a batch that no Write could store. Any goroutine may
	// call it, before a batch is queued, so that a batch that is too large does not fail others.
	Admit(batch [][]byte) error
}

// Segmented is a Backend that removes records in pieces. It removes the last piece only after
// another was started.
type Segmented interface {
	Backend
	// Roll makes the next Write start another piece. The goroutine that calls Write calls it.
	Roll()
	// Low reports whether the last request for storage found little space. Any goroutine may call it.
	Low() bool
}

// Errors that callers branch on.
var (
	// ErrFull means that there is no space. Nothing was stored; a later append may succeed.
	ErrFull = errors.New("no space left for the log")
	// ErrFailed means that the log accepts no more records until it is opened again.
	ErrFailed = errors.New("the log has failed")
	// ErrClosed means that the log was closed.
	ErrClosed = errors.New("the log is closed")
	// ErrDamaged means that opening the log would lose an unknown number of records.
	ErrDamaged = errors.New("the log is damaged")
	// ErrTooLarge means that a batch is larger than Options.MaxBatch, or than the backend can store.
	ErrTooLarge = errors.New("the batch is too large for the log")
	// ErrEmpty means that a batch has no records, so that it has no number.
	ErrEmpty = errors.New("the batch has no records")
)

// ErrStop ends a Scan without an error.
var ErrStop = errors.New("stop")

// TrimmedError means that the requested records are no longer kept.
type TrimmedError struct {
	First uint64 // first record that is kept
}

func (e *TrimmedError) Error() string {
	return fmt.Sprintf("records before %d are no longer kept", e.First)
}

// DamageError means that the records from From up to but not including Next cannot be read.
type DamageError struct {
	From, Next uint64
	Where      string // file and offset, and where the damaged bytes are
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("records %d to %d are damaged (%s)", e.From, e.Next-1, e.Where)
}

// Commit is the way in which appends become durable.
type Commit int

const (
	// PerAppend writes and syncs each append separately, one after the other.
	PerAppend Commit = iota
	// Group writes and syncs together all appends that arrived while the last group was in progress.
	Group
)

// Options of a Log. The zero value has the defaults given here.
type Options struct {
	Commit    Commit
	MaxBatch  int // bytes of one append; 0 means 32 MiB
	MaxQueued int // bytes waiting for the group in progress; above it Append waits before it queues; 0 means 64 MiB
	// SyncEvery limits how long an asynchronous append may stay un-synced; 0 means 1 s. After an error
	// the log also waits this long before it retries those records on its own.
	SyncEvery time.Duration
}

func (o Options) withDefaults() Options {
	if o.MaxBatch <= 0 {
		o.MaxBatch = 32 << 20
	}
	if o.MaxQueued <= 0 {
		o.MaxQueued = 64 << 20
	}
	if o.SyncEvery <= 0 {
		o.SyncEvery = time.Second
	}
	return o
}

// Stats are counters of a log since its start.
type Stats struct {
	Records uint64 // appended
	Bytes   uint64 // bytes of these records
	Groups  uint64 // writes to the backend, one per group
	Syncs   uint64
}
