package segment

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"dyno/parts/wal"
	"dyno/parts/wal/segment/frame"
)

// Scan implements wal.Backend.
func (f *Files) Scan(from uint64, visit func(seq uint64, record []byte) error) error {
	for {
		x, ok, err := f.extentAt(from)
		if !ok {
			return err
		}
		if err != nil {
			err = f.unreadable(x, from, err)
		} else {
			from, err = f.scan(x, from, visit)
		}
		switch {
		case errors.Is(err, wal.ErrStop):
			return nil
		case err != nil:
			return err
		}
	}
}

// extentAt finds the segment of a number; false if there is none, or the log is closed.
func (f *Files) extentAt(number uint64) (extent, bool, error) {
	f.mu.RLock()
	segments, first, next, closed := f.segments, f.first, f.next, f.closed
	last := segments[len(segments)-1].look(next)
	f.mu.RUnlock()
	switch {
	case closed:
		return extent{}, false, wal.ErrClosed
	case number < first:
		return extent{}, false, &wal.TrimmedError{First: first}
	case number < segments[0].first:
		return extent{}, false, &wal.DamageError{From: number, Next: segments[0].first, Where: "what was before " + segments[0].path + " is missing"}
	case number >= next:
		return extent{}, false, nil
	case number >= last.first:
		x, err := f.complete(last, nil)
		return x, true, err
	}
	i, found := slices.BinarySearchFunc(segments, number, func(s *segment, n uint64) int { return cmp.Compare(s.first, n) })
	if !found {
		i--
	}
	x, err := f.complete(segments[i].look(segments[i+1].first), segments[i+1])
	return x, true, err
}

// unreadable returns the result for a segment that cannot be opened or whose header cannot be read:
// no error if it was trimmed meanwhile.
func (f *Files) unreadable(x extent, from uint64, err error) error {
	if first, _ := f.Bounds(); from < first {
		return &wal.TrimmedError{First: first}
	}
	if !errors.Is(err, frame.ErrForeign) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return f.damages.whole(f, x, from, err)
}

// scan visits the records of a segment from a number on, and returns the number to continue from.
func (f *Files) scan(x extent, from uint64, visit func(uint64, []byte) error) (uint64, error) {
	file, err := f.fs.Open(x.path)
	if err != nil {
		return from, f.unreadable(x, from, err)
	}
	defer file.Close()
	r := frame.NewReader(file, x.head.Seed(), x.end)
	defer r.Free()
	at := x.seek(from)
	for at.number < x.next {
		h, data, ok, err := r.Record(at.off)
		if err != nil {
			return from, err
		}
		if ok && h.Number == at.number {
			x.pass(at)
			if at.number >= from {
				if err := visit(at.number, data); err != nil {
					return from, err
				}
				from = at.number + 1
			}
			at = mark{at.number + 1, at.off + h.Span()}
			continue
		}
		if x.changed() {
			return from, nil // these records were taken back; the caller finds the current ones
		}
		resume, err := x.resync(r, at)
		if err != nil {
			return from, err
		}
		found := f.damages.add(f, x.segment, file, damage{from: at, to: resume})
		if resume.number > from {
			return from, &wal.DamageError{From: from, Next: resume.number, Where: found.Where}
		}
		at = resume
	}
	return from, nil
}

// pass adds a record to the index.
func (x extent) pass(at mark) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.undone == x.segment.undone {
		x.note(at.number, at.off)
	}
}

// changed reports whether records were taken back since the extent was created.
func (x extent) changed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.undone != x.segment.undone
}

// resync finds the next record behind a damaged one, or the segment's end.
func (x extent) resync(r *frame.Reader, at mark) (mark, error) {
	off, h, ok, err := r.Find(at.off+frame.Alignment, at.number, x.next)
	if err != nil || !ok {
		return mark{x.next, x.end}, err
	}
	return mark{h.Number, off}, nil
}

// Verify reads all records and reports damage to damaged; damage is not an error of Verify.
func (f *Files) Verify(ctx context.Context, damaged func(*wal.DamageError)) (records uint64, err error) {
	from, _ := f.Bounds()
	for {
		err := f.Scan(from, func(seq uint64, _ []byte) error {
			records, from = records+1, seq+1
			return ctx.Err()
		})
		var bad *wal.DamageError
		var trimmed *wal.TrimmedError
		switch {
		case errors.As(err, &bad):
			damaged(bad)
			from = bad.Next
		case errors.As(err, &trimmed):
			from = trimmed.First
		default:
			return records, err
		}
	}
}
