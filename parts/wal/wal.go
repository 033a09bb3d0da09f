// Package wal is a write-ahead log: an append-only sequence of records, each under a number that only
// grows, that are durable when Append returns.
//
//	files, err := segment.Open(dir, segment.Options{})
//	log := wal.New(files, wal.Options{Commit: wal.Group})
//	first, err := log.Append([][]byte{record}, nil)
//	err = log.Scan(first, func(seq uint64, record []byte) error { ... })
//
// A Log is a Backend, which keeps records, and a way to commit: every append by itself (Each), or what many
// callers append at the same time together, with one fsync for all (Group). Backends are packages of their
// own: segment (files; the one to use), memory and jetstream. All pass waltest.
//
// It is not a queue: it knows nothing of consumers. It is not for random access by anything but the number.
//
// A Log owns one goroutine, the committer, which Close ends and waits for; a Backend says itself what it owns.
package wal

import (
	"errors"
	"fmt"
	"time"
)

// Backend keeps records durably, numbered without gaps from 1. Write, Sync and Trim are called by one
// goroutine at a time, never two of them at once; Scan, Bounds and Size by any, at any time.
type Backend interface {
	// Write stores batches of records under the next numbers, the first of them Bounds' next. A batch
	// survives a crash whole or not at all. Written records survive the death of the process but not
	// that of the machine: that takes Sync. After an error none of the batches counts as stored, their
	// numbers are given to the next Write, and they do not come back after a restart, but for those of a
	// batch whose failure a crash followed before the next successful Write. A backend which cannot tell or
	// undo what became of a Write answers ErrFailed from then on, or finds out before the next Write.
	// ErrFailed takes along what was not synced.
	Write(batches [][][]byte) error
	// Sync makes durable everything that was written. After an error nothing that was written since the
	// last successful Sync counts as stored, as with Write; a backend which cannot undo it answers
	// ErrFailed from then on.
	Sync() error
	// Scan visits the stored records from number from on, in order, until there are no more or visit
	// returns an error, which it returns (ErrStop as nil). The record is valid during the visit only. When
	// from lies before the first record kept, it returns a *TrimmedError; where records are damaged, a
	// *DamageError, after which the caller may go on from its Next.
	Scan(from uint64, visit func(seq uint64, record []byte) error) error
	// Bounds returns the first number kept and the next to be given: nothing is kept when they are equal.
	Bounds() (first, next uint64)
	// Size is how many bytes the records take where they are kept.
	Size() int64
	// Trim gives up records before a number. It may keep more than it must, never less.
	Trim(before uint64) error
	Close() error
}

// Limited is a Backend that cannot take every batch that Options.MaxBatch allows.
type Limited interface {
	Backend
	// Admit returns ErrTooLarge, wrapped, for a batch that no Write could store. It is asked by any
	// goroutine, before a batch is queued, so that one that is too large fails nobody else's.
	Admit(batch [][]byte) error
}

// Segmented is a Backend that gives up records in pieces, the last of which only when another has begun.
type Segmented interface {
	Backend
	// Roll lets the next Write begin another piece; Write's caller calls it.
	Roll()
	// Low reports whether space ran short when the log last wanted some. Any goroutine may ask.
	Low() bool
}

// Errors that callers branch on.
var (
	// ErrFull says that there is no space. Nothing was stored; later there may be space again.
	ErrFull = errors.New("no space left for the log")
	// ErrFailed says that the log can take no more until it is opened again.
	ErrFailed = errors.New("the log has failed")
	// ErrClosed says that the log was closed.
	ErrClosed = errors.New("the log is closed")
	// ErrDamaged says that a log cannot be opened without losing records of an unknown number.
	ErrDamaged = errors.New("the log is damaged")
	// ErrTooLarge says that a batch is larger than Options.MaxBatch, or than the backend can take.
	ErrTooLarge = errors.New("the batch is too large for the log")
	// ErrEmpty says that a batch has no records, so that there is no number to give.
	ErrEmpty = errors.New("the batch has no records")
)

// ErrStop ends a Scan without an error.
var ErrStop = errors.New("stop")

// TrimmedError says that records were asked for that are no longer kept.
type TrimmedError struct {
	First uint64 // the first that is
}

func (e *TrimmedError) Error() string {
	return fmt.Sprintf("records before %d are no longer kept", e.First)
}

// DamageError says that the records from From up to but not including Next cannot be read.
type DamageError struct {
	From, Next uint64
	Where      string // file and offset, and where the damaged bytes were put
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("records %d to %d are damaged (%s)", e.From, e.Next-1, e.Where)
}

// Commit is how appends become durable.
type Commit int

const (
	// Each append is written and synced by itself, one after the other.
	Each Commit = iota
	// Group writes and syncs together what was appended while the last group was under way.
	Group
)

// Options of a Log. The zero value is the documented default.
type Options struct {
	Commit    Commit
	MaxBatch  int // bytes of one append; 0: 32 MiB
	MaxQueued int // bytes that wait for the group under way to end; beyond, Append waits before it queues; 0: 64 MiB
	// SyncEvery bounds how long what was appended lazily may stay un-synced; 0: 1 s. After an error it is
	// also how long the log waits before it tries those records again by itself.
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

// Stats is what a log has done so far.
type Stats struct {
	Records uint64 // appended
	Bytes   uint64 // of these
	Groups  uint64 // writes that they shared
	Syncs   uint64
}
