// Package memory is a wal.Backend in memory: for tests, and for a service that need not keep
// records over a restart. "Durable" has no meaning here. It is not for data that must survive the
// process.
//
// Memory grows until Trim is called. The package starts no goroutines.
package memory

import (
	"errors"
	"fmt"
	"sync"

	"dyno/parts/wal"
)

// Records is a wal.Backend in memory.
type Records struct {
	mu      sync.RWMutex
	first   uint64
	records [][]byte // never changed in place: a running Scan keeps its slice
	bytes   int64
	closed  bool
}

// New returns an empty backend.
func New() wal.Backend { return &Records{first: 1} }

// Write implements wal.Backend. It copies the records.
func (r *Records) Write(batches [][][]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return wal.ErrClosed
	}
	for _, batch := range batches {
		for _, record := range batch {
			r.records = append(r.records, append([]byte{}, record...))
			r.bytes += int64(len(record))
		}
	}
	return nil
}

// Sync implements wal.Backend.
func (r *Records) Sync() error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return wal.ErrClosed
	}
	return nil
}

// Scan implements wal.Backend.
func (r *Records) Scan(from uint64, visit func(uint64, []byte) error) error {
	for {
		first, chunk, err := r.from(from)
		if err != nil || len(chunk) == 0 {
			return err
		}
		for i, record := range chunk {
			if err := visit(first+uint64(i), record); errors.Is(err, wal.ErrStop) {
				return nil
			} else if err != nil {
				return err
			}
		}
		from = first + uint64(len(chunk))
	}
}

// from returns the records from a number on.
func (r *Records) from(seq uint64) (first uint64, records [][]byte, err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return 0, nil, wal.ErrClosed
	}
	if seq < r.first {
		return 0, nil, &wal.TrimmedError{First: r.first}
	}
	skip := min(seq-r.first, uint64(len(r.records)))
	return seq, r.records[skip:], nil
}

// Bounds implements wal.Backend.
func (r *Records) Bounds() (first, next uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.first, r.first + uint64(len(r.records))
}

// Size implements wal.Backend.
func (r *Records) Size() int64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.bytes
}

// Trim implements wal.Backend.
func (r *Records) Trim(before uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return wal.ErrClosed
	}
	if before > r.first+uint64(len(r.records)) {
		return fmt.Errorf("trimming before %d: the last record is %d", before, r.first+uint64(len(r.records))-1)
	}
	if before <= r.first {
		return nil
	}
	for _, record := range r.records[:before-r.first] {
		r.bytes -= int64(len(record))
	}
	r.records = append([][]byte(nil), r.records[before-r.first:]...) // frees the memory of the trimmed records
	r.first = before
	return nil
}

// Close implements wal.Backend.
func (r *Records) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}
