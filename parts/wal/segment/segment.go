package segment

import (
	"fmt"
	"sync"
)

// segment is a file of records: what is known of it without reading it, and what was found out.
type segment struct {
	first uint64
	path  string

	loading sync.Mutex // held while the header is read
	head    *header    // nil until then

	mu     sync.Mutex
	size   int64 // bytes of the file, as far as they count towards the log's size
	end    int64 // of the records that count; unknown (-1) until the next segment's header was read
	undone int   // how often records were taken back after a failed sync
	index  []mark
}

// mark is where a record lies.
type mark struct {
	number uint64
	off    int64
}

// markEvery is how many bytes lie at least between two marks of the index: 16 KiB of index for a segment of
// 64 MiB, and half a chunk to read too much for a scan that begins between two.
const markEvery = 64 << 10

// note adds a record to the index if it is far enough from the last one there. Callers hold s.mu.
func (s *segment) note(number uint64, off int64) {
	if n := len(s.index); n == 0 || off >= s.index[n-1].off+markEvery {
		s.index = append(s.index, mark{number, off})
	}
}

// seek returns a record at or before a number, from which to read on.
func (s *segment) seek(number uint64) mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	best := mark{s.first, headerBytes}
	lo, hi := 0, len(s.index)
	for lo < hi { // the first mark beyond number
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
func (s *segment) header(files FS) (header, error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.head != nil {
		return *s.head, nil
	}
	file, err := files.Open(s.path)
	if err != nil {
		return header{}, err
	}
	defer file.Close()
	h, err := readHeader(file)
	if err == nil && h.first != s.first {
		err = fmt.Errorf("%w: it begins with record %d", errForeign, h.first)
	}
	if err != nil {
		return header{}, fmt.Errorf("segment %s: %w", s.path, err)
	}
	s.head = &h
	return h, nil
}

// extent is a segment as one reader sees it: what was appended or taken back later is not part of it.
type extent struct {
	*segment
	head   header
	next   uint64 // the number after its last record
	end    int64  // of its records
	undone int
}

// look is the extent as far as it is known without reading.
func (s *segment) look(next uint64) extent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return extent{segment: s, next: next, end: s.end, undone: s.undone}
}

// complete reads what is not known of an extent. After is the segment that follows; nil for the last.
func (f *Files) complete(x extent, after *segment) (extent, error) {
	var err error
	if x.head, err = x.header(f.fs); err != nil || x.end >= 0 {
		return x, err
	}
	// Without a next header to say where this one ends, all of the file counts, and what is missing at its
	// end is missed when it is read.
	if h, err := after.header(f.fs); err == nil && h.prevFirst == x.first {
		x.end = h.prevEnd
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
