package segment

import (
	"fmt"
	"math"
)

// recovery reads the last segment to find out where it ends.
type recovery struct {
	*reader
	seg    *segment
	group  uint64 // of the last record: it never falls
	more   uint32 // records of the batch that must follow
	proven uint64 // everything before this number is known to have been synced
	good   mark   // where the last whole batch ends
}

// recover makes the last segment ready to be written to.
func (f *Files) recover(s *segment) error {
	head, err := s.header(f.fs)
	if err != nil {
		return fmt.Errorf("%w; bring the file back from a backup, or move it away and lose what is in it", err)
	}
	file, err := f.fs.Open(s.path)
	if err != nil {
		return err
	}
	size, err := file.Size()
	if err == nil {
		var end mark
		if end, err = f.findEnd(s, head, file, size); err == nil {
			err = f.adopt(s, head, file, size, end)
		}
	}
	if err != nil {
		_ = file.Close()
		return fmt.Errorf("segment %s: %w", s.path, err)
	}
	return nil
}

// adopt cuts the file off at its end, so that nothing beyond can come back, and syncs it, so that a
// group to come proves it.
func (f *Files) adopt(s *segment, head header, file File, size int64, end mark) error {
	if size > end.off {
		if err := file.Truncate(end.off); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return err
	}
	s.end, s.size, f.next = end.off, end.off, end.number
	f.w = writer{file: file, seed: head.seed(), end: end.off, synced: end.off, syncedNext: end.number, allocated: end.off, over: end.off >= f.limit}
	return nil
}

// findEnd reads the segment up to where it ends, notes damage on the way, and returns the end.
func (f *Files) findEnd(s *segment, head header, file File, size int64) (mark, error) {
	r := &recovery{reader: newReader(file, head.seed(), size), seg: s, good: mark{s.first, headerBytes}}
	defer r.free()
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
		if !ok {
			return r.good, f.tellCut(r, at, size)
		}
		f.damages.add(f, s, file, damage{from: at, to: resume})
		at, r.good, r.more = resume, resume, 0
	}
}

// step reads the record that must be at a place; false if it is not there, or not fit to follow the last.
func (r *recovery) step(at mark) (next mark, ok bool, err error) {
	h, _, ok, err := r.record(at.off)
	if !ok || err != nil || h.number != at.number || h.group < r.group || r.more > 0 && h.more != r.more-1 {
		return mark{}, false, err
	}
	r.seg.note(at.number, at.off)
	r.group, r.more = h.group, h.more
	next = mark{at.number + 1, at.off + h.span()}
	if r.more == 0 {
		r.good = next
	}
	return next, true, nil
}

// prove reports whether a record that cannot be read was synced once, and where the next one is: some
// record behind it belongs to a group that was begun after it.
func (r *recovery) prove(at mark) (resume mark, ok bool, err error) {
	off, after := at.off, at.number
	for {
		found, h, ok, err := r.find(off, after, math.MaxInt64)
		if !ok || err != nil {
			return mark{}, false, err
		}
		if resume.off == 0 {
			resume = mark{h.number, found}
		}
		r.proven = max(r.proven, h.group)
		if r.proven > at.number {
			return resume, true, nil
		}
		off, after = found+h.span(), h.number
	}
}

// tellCut logs what is cut off, unless it is zeros only, which is what an allocated file ends with.
func (f *Files) tellCut(r *recovery, at mark, size int64) error {
	b, err := r.bytes(at.off, recordBytes)
	if err != nil {
		return err
	}
	if at == r.good && zeros(b) {
		return nil
	}
	f.log.Warn("the log ends with an append that was not finished; it is cut off",
		"file", r.seg.path, "offset", r.good.off, "bytes", size-r.good.off, "next", r.good.number)
	return nil
}

func zeros(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
