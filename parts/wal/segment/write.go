package segment

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"dyno/parts/wal"
)

const (
	// flushEvery is how many bytes are encoded before they are written: large enough that a system call
	// costs nothing beside it, small enough to stay in memory for good.
	flushEvery = 1 << 20
	// allocateBytes is how much is allocated ahead of the writes: seldom enough to cost nothing, little
	// enough for a disk that is nearly full.
	allocateBytes = 8 << 20
	// allocateLeast is how much that is at first; it doubles with the segment, so that a small log stays small.
	allocateLeast = 256 << 10
	// maxRecord keeps a record within what its header and memory can hold.
	maxRecord = 1 << 30
)

// writer is what only Write, Sync, Trim and Close touch.
type writer struct {
	file       File
	seed       uint32
	end        int64  // of what was written
	synced     int64  // of what is durable
	syncedNext uint64 // the number after it: the first of the group that is being written
	allocated  int64  // up to where the file is zeros at least; 0: the file system cannot
	over       bool   // nothing more is written to this segment: the next Write begins another
	suspect    bool   // because of a failed sync
	failed     error  // nothing more is written at all
	buf        []byte
	marks      []mark // of the Write under way
	trimmed    bool   // a segment was removed, and the folder not synced yet
	roll       bool   // the next sync ends the segment
	spare      File   // what the next segment will be: see prepare; nil: there was no space
	reserved   bool   // the reserve is there
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
			size += span(len(data))
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

// put writes the batches behind what is there, and returns where they end and the next number.
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
			r := record{number: next, group: w.syncedNext, more: uint32(len(batch) - i - 1)}
			w.buf = appendRecord(w.buf, w.seed, r, data)
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
		w.buf = nil // one huge record should not stay in memory for good
	}
	return end, next, nil
}

// publish lets readers see what was written.
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

// allocate sees to it that the file is allocated up to a byte: far ahead, or as little as will do if
// there is no more space than that.
func (f *Files) allocate(upTo int64) error {
	w := &f.w
	if w.allocated == 0 || upTo <= w.allocated {
		return nil
	}
	ahead := max(upTo, w.allocated+min(max(w.allocated, allocateLeast), allocateBytes, f.limit))
	err := w.file.Allocate(w.allocated, ahead-w.allocated)
	f.low.Store(full(err))
	if full(err) {
		ahead = upTo
		err = w.file.Allocate(w.allocated, ahead-w.allocated)
	}
	if full(err) && f.release() {
		err = w.file.Allocate(w.allocated, ahead-w.allocated)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		ahead, err = 0, nil
	}
	if err == nil {
		w.allocated = ahead
	}
	return err
}

// takeBack cuts the file back to where it was before the Write that failed, and makes that durable, so
// that nothing of it comes back. It returns the error for the caller of Write.
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
	case w.synced < w.end: // what an earlier Write has stored is in doubt, and its callers gone
		f.retract()
		w.failed = fmt.Errorf("%w: writing to %s: %w; then putting it right: %w", wal.ErrFailed, f.last().path, cause, err)
		return w.failed
	default:
		w.over = true
	}
	return f.failure("writing to", cause)
}

// failure is the error for a caller, which can tell a full disk from the rest.
func (f *Files) failure(doing string, cause error) error {
	if full(cause) {
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
	_ = f.noteSynced() // no reason to refuse what is stored
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

// retract ends the segment where the last successful sync left it: what came after is in doubt for good.
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
	_ = w.file.Truncate(w.synced) // as best as can be: the next segment's header says it too
}

// begin begins a segment behind the last one, of which everything that counts is synced. If that fails, the
// last one is not written to either: the new one may be there after a crash, and says where the last ends.
func (f *Files) begin() error {
	f.w.over = true
	h := header{first: f.next, salt: rand.Uint64()}
	keep := f.segments // that go on to exist
	if n := len(keep); n > 0 {
		last := keep[n-1]
		if h.prevFirst, h.prevEnd = last.first, f.w.end; last.first == f.next { // of the same name: replaced
			h.prevFirst, h.prevEnd, keep = last.head.prevFirst, last.head.prevEnd, keep[:n-1]
		}
	}
	s := &segment{first: h.first, path: filepath.Join(f.dir, fileName(h.first)), size: headerBytes, end: headerBytes, head: &h}
	file, err := f.create(s, h)
	if full(err) && f.release() {
		file, err = f.create(s, h)
	}
	switch {
	case full(err):
		return f.failure("beginning a segment of", err)
	case err != nil && f.w.suspect:
		f.w.failed = fmt.Errorf("%w: beginning a segment after a failed sync: %w", wal.ErrFailed, err)
		return f.w.failed
	case err != nil:
		return f.failure("beginning a segment of", err)
	}
	if old := f.w.file; old != nil {
		_ = old.Truncate(f.w.end) // gives back what was allocated; that it ends there is in the new header
		_ = old.Close()           // everything that counts is synced
	}
	f.w = writer{file: file, seed: h.seed(), end: headerBytes, synced: headerBytes, syncedNext: f.next, allocated: headerBytes, buf: f.w.buf, marks: f.w.marks, trimmed: f.w.trimmed,
		spare: f.w.spare, reserved: f.w.reserved}
	f.setSegments(append(keep[:len(keep):len(keep)], s), f.first)
	f.prepare()
	return nil
}

// create makes the file of a segment, durably: under another name until its header is.
func (f *Files) create(s *segment, h header) (File, error) {
	temporary := filepath.Join(f.dir, newName)
	file, err := f.w.spare, error(nil)
	f.w.spare = nil
	if file == nil {
		if file, err = f.fs.Create(temporary); err != nil {
			return nil, err
		}
	}
	if _, err = file.WriteAt(h.encode(), 0); err == nil {
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
		_ = f.fs.Remove(temporary) // Open does it otherwise
		return nil, err
	}
	return file, nil
}
