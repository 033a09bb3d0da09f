package segment

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"dyno/parts/vfs"
	"dyno/parts/wal/segment/frame"
)

const (
	suffix    = ".seg"
	newName   = "begun.tmp" // a segment before it gets its name
	nameWidth = 20          // digits of the largest number, so that names sort as numbers do
)

func fileName(first uint64) string { return fmt.Sprintf("%0*d%s", nameWidth, first, suffix) }

// parseName returns the number in a segment's name; false if it is not a segment's.
func parseName(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	n, err := strconv.ParseUint(digits, 10, 63)
	return n, ok && err == nil && n > 0 && len(digits) == nameWidth
}

// segment is a file of records, with what is known about it.
type segment struct {
	first uint64
	path  string

	loading sync.Mutex    // held while the header is read
	head    *frame.Header // nil until then

	mu     sync.Mutex
	size   int64 // bytes of the file that count towards the log's size
	end    int64 // end of the valid records; -1 until it is read from the next segment's header
	undone int   // how often records were taken back after a failed sync
	index  []mark
}

// mark is the position of a record.
type mark struct {
	number uint64
	off    int64
}

// markEvery is the minimum distance of two marks in the index, in bytes: an index of 16 KiB for a
// segment of 64 MiB, and at most half a chunk of extra reading for a scan that starts between two.
const markEvery = 64 << 10

// note adds a record to the index if it is far enough from the last mark. The caller holds s.mu.
func (s *segment) note(number uint64, off int64) {
	if n := len(s.index); n == 0 || off >= s.index[n-1].off+markEvery {
		s.index = append(s.index, mark{number, off})
	}
}

// seek returns a record at or before a number, to start reading from.
func (s *segment) seek(number uint64) mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	best := mark{s.first, frame.HeaderBytes}
	lo, hi := 0, len(s.index)
	for lo < hi { // find the first mark after number
		if mid := (lo + hi) / 2; s.index[mid].number <= number {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > 0 {
		best = s.index[lo-1]
	}
	return best
}

// header reads the segment's header, once.
func (s *segment) header(files vfs.FS) (frame.Header, error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.head != nil {
		return *s.head, nil
	}
	file, err := files.Open(s.path)
	if err != nil {
		return frame.Header{}, err
	}
	defer file.Close()
	h, err := frame.ReadHeader(file)
	if err == nil && h.First != s.first {
		err = fmt.Errorf("%w: it begins with record %d", frame.ErrForeign, h.First)
	}
	if err != nil {
		return frame.Header{}, fmt.Errorf("segment %s: %w", s.path, err)
	}
	s.head = &h
	return h, nil
}

// extent is a reader's view of a segment: later appends and removals do not change it.
type extent struct {
	*segment
	head   frame.Header
	next   uint64 // the number after its last record
	end    int64  // of its records
	undone int
}

// look returns the extent as far as it is known without reading.
func (s *segment) look(next uint64) extent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return extent{segment: s, next: next, end: s.end, undone: s.undone}
}

// complete reads the unknown parts of an extent. after is the next segment; nil for the last.
func (f *Files) complete(x extent, after *segment) (extent, error) {
	var err error
	if x.head, err = x.header(f.fs); err != nil || x.end >= 0 {
		return x, err
	}
	// Without a next header that gives the end of this segment, the whole file counts, and records
	// missing at its end are noticed when it is read.
	if h, err := after.header(f.fs); err == nil && h.PrevFirst == x.first {
		x.end = h.PrevEnd
	} else if x.end, err = f.sizeOf(x.segment); err != nil {
		return x, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.segment.end = x.end
	return x, nil
}

func (f *Files) sizeOf(s *segment) (int64, error) {
	file, err := f.fs.Open(s.path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return file.Size()
}
