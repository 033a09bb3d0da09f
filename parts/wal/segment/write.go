package segment

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"dyno/parts/vfs"
	"dyno/parts/wal"
	"dyno/parts/wal/segment/frame"
)

const (
	// flushEvery is how many bytes are encoded before a write: large enough that the system call costs
	// little in comparison, small enough to stay in memory.
	flushEvery = 1 << 20
	// allocateBytes is how much is allocated and filled ahead of the writes: large enough to be rare,
	// small enough for the append that waits for it.
	allocateBytes = 1 << 20
	// allocateLeast is the first allocation, which doubles: a small log stays small.
	allocateLeast = 256 << 10
	// maxRecord is the largest record that its header and memory can hold.
	maxRecord = 1 << 30
)

// writer holds what only Write, Sync, Trim and Close use.
type writer struct {
	file       vfs.File
	seed       uint32
	end        int64  // end of the written bytes
	synced     int64  // end of the durable bytes
	syncedNext uint64 // the number after it: the first of the group in progress
	allocated  int64  // end of the allocated zeros; 0: the file system cannot allocate
	over       bool   // the segment is complete: the next Write starts another
	suspect    bool   // because a sync failed
	failed     error  // no more records can be written
	buf        []byte
	marks      []mark   // of the Write in progress
	trimmed    bool     // a segment was removed, and the folder is not synced yet
	roll       bool     // the next sync ends the segment
	spare      vfs.File // file of the next segment, see prepare; nil: there was no space
	reserved   bool     // the reserve exists
	note       [syncedBytes]byte
}

// Write implements wal.Backend.
func (f *Files) Write(batches [][][]byte) error {
	if err := f.usable(); err != nil {
		return err
	}
	if f.w.over {
		if err := f.begin(); err != nil {
			return err
		}
	}
	size := int64(0)
	for _, batch := range batches {
		for _, data := range batch {
			if len(data) > maxRecord {
				return fmt.Errorf("%w: a record of %d bytes, at most %d", wal.ErrTooLarge, len(data), maxRecord)
			}
			size += frame.Span(len(data))
		}
	}
	if err := f.allocate(f.w.end + size); err != nil {
		return f.takeBack(err)
	}
	end, next, err := f.put(batches)
	if err != nil {
		return f.takeBack(err)
	}
	f.w.end = end
	f.publish(end, next)
	return nil
}

// put writes the batches at the end, and returns the new end and the next number.
func (f *Files) put(batches [][][]byte) (end int64, next uint64, err error) {
	w := &f.w
	end, next, w.buf, w.marks = w.end, f.next, w.buf[:0], w.marks[:0]
	marked := end - markEvery
	flush := func() error {
		n, err := w.file.WriteAt(w.buf, end)
		if err == nil && n < len(w.buf) {
			err = fmt.Errorf("%d bytes of %d were written", n, len(w.buf))
		}
		end, w.buf = end+int64(len(w.buf)), w.buf[:0]
		return err
	}
	for _, batch := range batches {
		for i, data := range batch {
			if at := end + int64(len(w.buf)); at >= marked+markEvery {
				w.marks, marked = append(w.marks, mark{next, at}), at
			}
			r := frame.Record{Number: next, Group: w.syncedNext, More: uint32(len(batch) - i - 1)}
			w.buf = frame.Append(w.buf, w.seed, r, data)
			next++
			if len(w.buf) >= flushEvery {
				if err := flush(); err != nil {
					return 0, 0, err
				}
			}
		}
	}
	if err := flush(); err != nil {
		return 0, 0, err
	}
	if cap(w.buf) > 4*flushEvery {
		w.buf = nil // one huge record should not stay in memory
	}
	return end, next, nil
}

func (f *Files) publish(end int64, next uint64) {
	s := f.last()
	f.mu.Lock()
	defer f.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	f.next, s.end, s.size = next, end, end
	for _, m := range f.w.marks {
		s.note(m.number, m.off)
	}
}

// allocate allocates and fills the file up to a byte: far ahead, or as far as necessary on a full
// disk.
func (f *Files) allocate(upTo int64) error {
	w := &f.w
	if w.allocated == 0 || upTo <= w.allocated {
		return nil
	}
	ahead := max(upTo, w.allocated+min(max(w.allocated, allocateLeast), allocateBytes, f.limit))
	err := w.file.Allocate(w.allocated, ahead-w.allocated)
	f.low.Store(vfs.Full(err))
	if vfs.Full(err) {
		ahead = upTo
		err = w.file.Allocate(w.allocated, ahead-w.allocated)
	}
	if vfs.Full(err) && f.release() {
		err = w.file.Allocate(w.allocated, ahead-w.allocated)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		ahead, err = 0, nil
	}
	if err == nil && ahead > 0 {
		err = w.file.Fill(w.allocated, ahead-w.allocated)
	}
	if err == nil {
		w.allocated = ahead
	}
	return err
}

// takeBack truncates the file to its size before the failed Write, durably, so that no record of it
// reappears. It returns the error for the caller of Write.
func (f *Files) takeBack(cause error) error {
	w := &f.w
	err := w.file.Truncate(w.end)
	if err == nil {
		err = w.file.Sync()
	}
	switch {
	case err == nil:
		w.synced, w.syncedNext = w.end, f.next
		if w.allocated > 0 {
			w.allocated = w.end
		}
	case w.synced < w.end: // records of an earlier Write may be lost, and its callers have returned
		f.retract()
		w.failed = fmt.Errorf("%w: writing to %s: %w; then putting it right: %w", wal.ErrFailed, f.last().path, cause, err)
		return w.failed
	default:
		w.over = true
	}
	return f.failure("writing to", cause)
}

// failure returns the error for a caller, which distinguishes a full disk.
func (f *Files) failure(doing string, cause error) error {
	if vfs.Full(cause) {
		f.low.Store(true)
		return fmt.Errorf("%w: %s %s: %w", wal.ErrFull, doing, f.dir, cause)
	}
	return fmt.Errorf("%s the log in %s: %w", doing, f.dir, cause)
}

// Sync implements wal.Backend.
func (f *Files) Sync() error {
	if err := f.usable(); err != nil {
		return err
	}
	w := &f.w
	if w.over || w.synced == w.end {
		return nil
	}
	if err := w.file.Sync(); err != nil {
		f.retract()
		return f.failure("syncing", err)
	}
	w.synced, w.syncedNext = w.end, f.next
	w.over = w.end >= f.limit || w.roll
	_ = f.noteSynced() // not a reason to fail: the records are stored
	return nil
}

// Roll implements wal.Segmented.
func (f *Files) Roll() {
	w := &f.w
	switch {
	case f.usable() != nil || f.last().first == f.next:
	case w.synced == w.end:
		w.over = true
	default:
		w.roll = true
	}
}

// Low implements wal.Segmented.
func (f *Files) Low() bool { return f.low.Load() }

// retract ends the segment where the last successful sync left it: later bytes are unreliable.
func (f *Files) retract() {
	w, s := &f.w, f.last()
	w.end, w.over, w.suspect = w.synced, true, true
	f.mu.Lock()
	s.mu.Lock()
	f.next, s.end, s.size = w.syncedNext, w.synced, w.synced
	s.undone++
	for len(s.index) > 0 && s.index[len(s.index)-1].off >= s.end {
		s.index = s.index[:len(s.index)-1]
	}
	s.mu.Unlock()
	f.mu.Unlock()
	_ = w.file.Truncate(w.synced) // best effort: the next segment's header also gives the end
}

// begin starts a segment; the last one is synced. If that fails, the last one is not written to
// either: the new one may exist after a crash, and its header gives the end of the last.
func (f *Files) begin() error {
	f.w.over = true
	h := frame.Header{First: f.next, Salt: rand.Uint64()}
	keep := f.segments // the segments that remain
	if n := len(keep); n > 0 {
		last := keep[n-1]
		if h.PrevFirst, h.PrevEnd = last.first, f.w.end; last.first == f.next { // same name: replaced
			h.PrevFirst, h.PrevEnd, keep = last.head.PrevFirst, last.head.PrevEnd, keep[:n-1]
		}
	}
	s := &segment{first: h.First, path: filepath.Join(f.dir, fileName(h.First)), size: frame.HeaderBytes, end: frame.HeaderBytes, head: &h}
	file, err := f.create(s, h)
	if vfs.Full(err) && f.release() {
		file, err = f.create(s, h)
	}
	switch {
	case vfs.Full(err):
		return f.failure("beginning a segment of", err)
	case err != nil && f.w.suspect:
		f.w.failed = fmt.Errorf("%w: beginning a segment after a failed sync: %w", wal.ErrFailed, err)
		return f.w.failed
	case err != nil:
		return f.failure("beginning a segment of", err)
	}
	if old := f.w.file; old != nil {
		_ = old.Truncate(f.w.end) // frees the allocated rest; the new header gives the end
		_ = old.Close()           // all its valid records are synced
	}
	f.w = writer{file: file, seed: h.Seed(), end: frame.HeaderBytes, synced: frame.HeaderBytes, syncedNext: f.next, allocated: frame.HeaderBytes, buf: f.w.buf, marks: f.w.marks, trimmed: f.w.trimmed,
		spare: f.w.spare, reserved: f.w.reserved}
	f.setSegments(append(keep[:len(keep):len(keep)], s), f.first)
	f.prepare()
	return nil
}

// create creates the file of a segment durably: under another name until its header is.
func (f *Files) create(s *segment, h frame.Header) (vfs.File, error) {
	temporary := filepath.Join(f.dir, newName)
	file, err := f.w.spare, error(nil)
	f.w.spare = nil
	if file == nil {
		if file, err = f.fs.Create(temporary); err != nil {
			return nil, err
		}
	}
	if _, err = file.WriteAt(h.Encode(), 0); err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = f.fs.Rename(temporary, s.path)
	}
	if err == nil {
		err = f.fs.SyncDir(f.dir)
	}
	if err != nil {
		_ = file.Close()
		_ = f.fs.Remove(temporary) // otherwise Open removes it
		return nil, err
	}
	return file, nil
}
