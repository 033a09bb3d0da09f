package pgoutput

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// reader takes a message apart from the front. After an error it gives zeros.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail(errShort)
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) skip(n uint64) { r.take(n) }

func (r *reader) peek() byte {
	if len(r.rest) == 0 {
		return 0
	}
	return r.rest[0]
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) text() string {
	end := bytes.IndexByte(r.rest, 0)
	if end < 0 {
		r.fail(errShort)
		return ""
	}
	text := string(r.rest[:end])
	r.rest = r.rest[end+1:]
	return text
}

// marked takes a tuple with the byte before it.
func (r *reader) marked(mark byte) Tuple {
	if got := r.peek(); r.err == nil && got != mark {
		r.fail(fmt.Errorf("%q where a row marked %q should be", got, mark))
		return nil
	}
	r.skip(1)
	whole := r.rest
	for range r.uint16() {
		if r.column(); r.err != nil {
			return nil
		}
	}
	return Tuple(whole[:len(whole)-len(r.rest)])
}

// column takes one column of a tuple.
func (r *reader) column() (kind byte, value []byte) {
	if b := r.take(1); b != nil {
		kind = b[0]
	}
	switch kind {
	case 'n', 'u': // null; unchanged and too large to be repeated
	case 't', 'b': // text, binary
		value = r.take(uint64(r.uint32()))
	default:
		r.fail(fmt.Errorf("a column of kind %q", kind))
	}
	return kind, value
}

// Tuple is a row as the message has it: the number of its columns, and the columns one after the other.
type Tuple []byte

var errNoText = errors.New("the column is not there as text")

// Text gives the value of a column, the first of which is 0, as PostgreSQL prints it.
func (t Tuple) Text(column int) ([]byte, error) {
	r := reader{rest: t}
	n := int(r.uint16())
	if column < 0 || column >= n {
		return nil, fmt.Errorf("column %d of %d: %w", column, n, errNoText)
	}
	for range column {
		r.column()
	}
	kind, value := r.column()
	if r.err != nil {
		return nil, r.err
	}
	if kind != 't' {
		return nil, fmt.Errorf("column %d is of kind %q: %w", column, kind, errNoText)
	}
	return value, nil
}
