package segment

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"dyno/parts/vfs"
	"dyno/parts/wal"
	"dyno/parts/wal/segment/frame"
)

// recovery reads the last segment to find its end.
type recovery struct {
	*frame.Reader
	seg    *segment
	group  uint64 // of the last record; it never decreases
	more   uint32 // records of the batch that must follow
	proven uint64 // all records before this number are known to be synced
	good   mark   // end of the last complete batch
}

// recover prepares the last segment for writing.
func (f *Files) recover(s *segment) error {
	head, err := s.header(f.fs)
	if errors.Is(err, frame.ErrForeign) {
		return fmt.Errorf("%w: %w", wal.ErrDamaged, err)
	}
	if err != nil {
		return err
	}
	file, err := f.fs.Open(s.path)
	if err != nil {
		return err
	}
	size, err := file.Size()
	if err == nil {
		var end mark
		if end, err = f.findEnd(s, head, file, size); err == nil {
			lost := end.number < f.reach
			end.number = max(end.number, f.reach)
			err = f.adopt(s, head, file, size, end, lost)
		}
	}
	if err != nil {
		_ = file.Close()
		return fmt.Errorf("segment %s: %w", s.path, err)
	}
	return nil
}

// adopt truncates the file at its end and syncs it, so that a later group proves it. When synced
// records behind the end are lost, the next segment starts with the end's number.
func (f *Files) adopt(s *segment, head frame.Header, file vfs.File, size int64, end mark, lost bool) error {
	if size > end.off {
		if err := file.Truncate(end.off); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return err
	}
	s.end, s.size, f.next = end.off, end.off, end.number
	f.w = writer{
		file: file, seed: head.Seed(), end: end.off, synced: end.off, syncedNext: end.number, allocated: end.off, reserved: f.w.reserved,
		over: end.off >= f.limit || lost, // the numbers in a segment have no gap
	}
	if !lost {
		return nil
	}
	if err := f.begin(); err != nil && !errors.Is(err, wal.ErrFull) { // the copies in the quarantine also show what is lost
		return err
	}
	return nil
}

// findEnd reads the segment to its end, records damage, and returns the end.
func (f *Files) findEnd(s *segment, head frame.Header, file vfs.File, size int64) (mark, error) {
	r := &recovery{Reader: frame.NewReader(file, head.Seed(), size), seg: s, good: mark{s.first, frame.HeaderBytes}, proven: f.reach}
	defer r.Free()
	at := r.good
	for {
		next, ok, err := r.step(at)
		if err != nil {
			return mark{}, err
		}
		if ok {
			at = next
			continue
		}
		resume, ok, err := r.prove(at)
		if err != nil {
			return mark{}, err
		}
		if !ok && at.number < f.reach { // it was synced, and no later record is readable
			end, err := r.Written(at.off)
			if err == nil {
				err = f.damages.addTail(f, s, file, damage{from: at, to: mark{f.reach, end}})
			}
			return at, err
		}
		if !ok {
			return r.good, f.logCut(r, file, at)
		}
		f.damages.add(f, s, file, damage{from: at, to: resume})
		at, r.good, r.more = resume, resume, 0
	}
}

// step reads the record at a mark; false if there is none, or it does not follow the last one.
func (r *recovery) step(at mark) (next mark, ok bool, err error) {
	h, _, ok, err := r.Record(at.off)
	if !ok || err != nil || h.Number != at.number || h.Group < r.group || r.more > 0 && h.More != r.more-1 {
		return mark{}, false, err
	}
	r.seg.note(at.number, at.off)
	r.group, r.more = h.Group, h.More
	next = mark{at.number + 1, at.off + h.Span()}
	if r.more == 0 {
		r.good = next
	}
	return next, true, nil
}

// prove reports whether an unreadable record was synced, and the position of the next one: a later
// record is in a group that was started after it.
func (r *recovery) prove(at mark) (resume mark, ok bool, err error) {
	off, after := at.off, at.number
	for {
		found, h, ok, err := r.Find(off, after, math.MaxInt64)
		if !ok || err != nil {
			return mark{}, false, err
		}
		if resume.off == 0 {
			resume = mark{h.Number, found}
		}
		r.proven = max(r.proven, h.Group)
		if r.proven > at.number {
			return resume, true, nil
		}
		off, after = found+h.Span(), h.Number
	}
}

// logCut logs and copies the bytes that are cut off, unless they are zeros of allocated space.
func (f *Files) logCut(r *recovery, file vfs.File, at mark) error {
	end, err := r.Written(r.good.off)
	if err != nil || at == r.good && end == at.off {
		return err
	}
	kept, err := f.copyTail(r.seg, file, r.good.off, end, unfinished)
	if err == nil {
		err = f.forgetUnfinished(filepath.Dir(kept))
	}
	f.log.Warn("the log ends with an append that was not finished; it is cut off",
		"file", r.seg.path, "offset", r.good.off, "bytes", end-r.good.off, "next", r.good.number, "kept", kept, "error", err)
	return nil
}
