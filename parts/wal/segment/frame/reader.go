package frame

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// chunk is the size of one read, unless a record is larger: small enough for a reader of a few
// records, large enough that a reader of all records spends little time in system calls.
const chunk = 128 << 10

// Reader reads a segment through a buffer as large as its largest record needs.
type Reader struct {
	file io.ReaderAt
	seed uint32
	end  int64 // later bytes do not count
	buf  []byte
	at   int64 // offset of buf in the file
}

// readers are reused, for their buffers.
var readers = sync.Pool{New: func() any { return &Reader{} }}

// NewReader returns a reader of the bytes before end; the caller must call Free.
func NewReader(file io.ReaderAt, seed uint32, end int64) *Reader {
	r := readers.Get().(*Reader)
	*r = Reader{file: file, seed: seed, end: end, buf: r.buf[:0]}
	return r
}

// Free returns the buffer to the pool. The caller closes the file.
func (r *Reader) Free() {
	r.file = nil
	if cap(r.buf) <= 1<<20 { // one huge record should not stay in memory
		readers.Put(r)
	}
}

// bytes returns n bytes from off on, fewer at the end. They are valid until the next call.
func (r *Reader) bytes(off int64, n int) ([]byte, error) {
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
func (r *Reader) header(off int64) (Record, bool, error) {
	b, err := r.bytes(off, recordBytes)
	if err != nil {
		return Record{}, false, err
	}
	h, ok := decodeRecord(b, r.seed)
	return h, ok && off+recordBytes+int64(h.Length) <= r.end, nil
}

// Record reads the record at off; false if there is none or its data are damaged. The data are
// valid until the next call.
func (r *Reader) Record(off int64) (h Record, data []byte, ok bool, err error) {
	h, ok, err = r.header(off)
	if !ok || err != nil {
		return h, nil, false, err
	}
	b, err := r.bytes(off, recordBytes+int(h.Length))
	if err != nil || len(b) < recordBytes+int(h.Length) {
		return h, nil, false, err
	}
	data = b[recordBytes:]
	return h, data, crc32.Update(r.seed, castagnoli, data) == h.Sum, nil
}

// Find searches from off on for the header of a record whose number is between after and before,
// both exclusive; false if there is none.
func (r *Reader) Find(off int64, after, before uint64) (int64, Record, bool, error) {
	for ; off+recordBytes <= r.end; off += Alignment {
		h, ok, err := r.header(off)
		if err != nil {
			return 0, Record{}, false, err
		}
		if ok && h.Number > after && h.Number < before {
			return off, h, true, nil
		}
	}
	return 0, Record{}, false, nil
}

// Written returns the end of the last non-zero byte from off on, or off.
func (r *Reader) Written(off int64) (end int64, err error) {
	for end = off; off < r.end; {
		b, err := r.bytes(off, chunk)
		if err != nil || len(b) == 0 {
			return end, err
		}
		if text := bytes.TrimRight(b, "\x00"); len(text) > 0 {
			end = off + int64(len(text))
		}
		off += int64(len(b))
	}
	return end, nil
}
