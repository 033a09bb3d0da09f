package segment

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// chunk is the size of one read, unless a record is larger: small enough for a reader of a few
// records, large enough that a reader of all records spends little time in system calls.
const chunk = 128 << 10

// reader reads a segment through a buffer as large as its largest record needs.
type reader struct {
	file File
	seed uint32
	end  int64 // later bytes do not count
	buf  []byte
	at   int64 // offset of buf in the file
}

// readers are reused, for their buffers.
var readers = sync.Pool{New: func() any { return &reader{} }}

func newReader(file File, seed uint32, end int64) *reader {
	r := readers.Get().(*reader)
	*r = reader{file: file, seed: seed, end: end, buf: r.buf[:0]}
	return r
}

// free returns the buffer to the pool. The caller closes the file.
func (r *reader) free() {
	r.file = nil
	if cap(r.buf) <= 1<<20 { // one huge record should not stay in memory
		readers.Put(r)
	}
}

// bytes returns n bytes from off on, fewer at the end. They are valid until the next call.
func (r *reader) bytes(off int64, n int) ([]byte, error) {
	n = int(min(int64(n), r.end-off))
	if n <= 0 {
		return nil, nil
	}
	if from := off - r.at; from >= 0 && from+int64(n) <= int64(len(r.buf)) {
		return r.buf[from : from+int64(n)], nil
	}
	want := int(min(int64(max(n, chunk)), r.end-off))
	if cap(r.buf) < want {
		r.buf = make([]byte, max(want, chunk))
	}
	r.buf, r.at = r.buf[:want], off
	got, err := r.file.ReadAt(r.buf, off)
	r.buf = r.buf[:got]
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading a segment at byte %d: %w", off, err)
	}
	return r.buf[:min(n, got)], nil
}

// header reads the header of the record at off; false if there is none whose data would fit.
func (r *reader) header(off int64) (record, bool, error) {
	b, err := r.bytes(off, recordBytes)
	if err != nil {
		return record{}, false, err
	}
	h, ok := decodeRecord(b, r.seed)
	return h, ok && off+recordBytes+int64(h.length) <= r.end, nil
}

// record reads the record at off; false if there is none or its data are damaged.
func (r *reader) record(off int64) (h record, data []byte, ok bool, err error) {
	h, ok, err = r.header(off)
	if !ok || err != nil {
		return h, nil, false, err
	}
	b, err := r.bytes(off, recordBytes+int(h.length))
	if err != nil || len(b) < recordBytes+int(h.length) {
		return h, nil, false, err
	}
	data = b[recordBytes:]
	return h, data, crc32.Update(r.seed, castagnoli, data) == h.sum, nil
}

// find searches from off on for the header of a record whose number is between after and before,
// both exclusive; false if there is none.
func (r *reader) find(off int64, after, before uint64) (int64, record, bool, error) {
	for ; off+recordBytes <= r.end; off += alignment {
		h, ok, err := r.header(off)
		if err != nil {
			return 0, record{}, false, err
		}
		if ok && h.number > after && h.number < before {
			return off, h, true, nil
		}
	}
	return 0, record{}, false, nil
}

// readHeader reads a segment's header.
func readHeader(file File) (header, error) {
	b := make([]byte, headerBytes)
	n, err := file.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return header{}, err
	}
	return decodeHeader(b[:n])
}
