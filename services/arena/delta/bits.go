package delta

import (
	"errors"
	"math/bits"
)

// widest is the most bits that a call writes or reads.
const widest = 32

// bitWriter appends numbers of any width to Bytes, one bit after the other: the highest bit of a
// number first, and the highest bit of a byte first. A number whose size is not known beforehand
// has an exponential Golomb code, which is short for small numbers and has room for all. Its zero
// value is ready.
type bitWriter struct {
	Bytes []byte // those that are complete

	pending uint64 // its lowest bits wait until they are a byte
	waiting int
}

// Bits writes the lowest n bits of a number, at most widest.
func (w *bitWriter) Bits(v uint32, n int) {
	w.pending = w.pending<<n | uint64(v)&(1<<n-1)
	for w.waiting += n; w.waiting >= 8; {
		w.waiting -= 8
		w.Bytes = append(w.Bytes, byte(w.pending>>w.waiting))
	}
}

// Flag writes a bit: 1 for true.
func (w *bitWriter) Flag(v bool) {
	if v {
		w.Bits(1, 1)
	} else {
		w.Bits(0, 1)
	}
}

// Number writes the exponential Golomb code of a number: v + 2^order in binary, behind a zero for
// each bit that this has beyond order + 1. A number below 2^order has order + 1 bits.
func (w *bitWriter) Number(v uint32, order int) {
	u, zeros := coded(v, order)
	w.Bits(0, zeros)
	w.Bits(1, 1)
	w.Bits(uint32(u), zeros+order)
}

// Signed writes the Number of a number's zigzag: 0, -1, 1, -2, 2 are 0, 1, 2, 3, 4.
func (w *bitWriter) Signed(v int32, order int) { w.Number(zigzag(v), order) }

// End fills the last byte with zeros, and returns Bytes.
func (w *bitWriter) End() []byte {
	if w.waiting > 0 {
		w.Bits(0, 8-w.waiting)
	}
	return w.Bytes
}

// numberLen is how many bits Number writes.
func numberLen(v uint32, order int) int {
	_, zeros := coded(v, order)
	return 2*zeros + 1 + order
}

// signedLen is how many bits Signed writes.
func signedLen(v int32, order int) int { return numberLen(zigzag(v), order) }

// coded returns v + 2^order, and how many bits this has beyond order + 1.
func coded(v uint32, order int) (u uint64, zeros int) {
	u = uint64(v) + 1<<order
	return u, bits.Len64(u) - 1 - order
}

func zigzag(v int32) uint32 { return uint32(v)<<1 ^ uint32(v>>31) }

// The errors of a bitReader.
var (
	errShort = errors.New("the bits end within a number")
	errLarge = errors.New("a number has more than 32 bits")
	errRest  = errors.New("there is more behind the last number")
)

// bitReader reads what a bitWriter wrote. After the first error its numbers are 0.
type bitReader struct {
	rest    []byte
	pending uint64 // its lowest bits are the next
	waiting int
	err     error
}

// newBitReader returns a reader of bits, which must not change while it reads.
func newBitReader(bits []byte) bitReader { return bitReader{rest: bits} }

// Err returns the first error.
func (r *bitReader) Err() error { return r.err }

// Left is how many bits there are still.
func (r *bitReader) Left() int { return 8*len(r.rest) + r.waiting }

// Bits reads a number of n bits, at most widest.
func (r *bitReader) Bits(n int) uint32 {
	for r.waiting < n {
		if len(r.rest) == 0 {
			r.fail(errShort)
			return 0
		}
		r.pending = r.pending<<8 | uint64(r.rest[0])
		r.rest = r.rest[1:]
		r.waiting += 8
	}
	r.waiting -= n
	return uint32(r.pending >> r.waiting & (1<<n - 1))
}

// Flag reads a bit.
func (r *bitReader) Flag() bool { return r.Bits(1) == 1 }

// Number reads what bitWriter.Number wrote with the same order.
func (r *bitReader) Number(order int) uint32 {
	zeros := 0
	for r.Bits(1) == 0 {
		if zeros++; r.err != nil || zeros+order > widest {
			r.fail(errLarge)
			return 0
		}
	}
	v := 1<<(zeros+order) + uint64(r.Bits(zeros+order)) - 1<<order
	if v > 1<<32-1 {
		r.fail(errLarge)
	}
	if r.err != nil {
		return 0
	}
	return uint32(v)
}

// Signed reads what bitWriter.Signed wrote with the same order.
func (r *bitReader) Signed(order int) int32 {
	u := r.Number(order)
	return int32(u>>1) ^ -int32(u&1)
}

// End returns the first error, or errRest unless only the zeros are left that fill the last byte.
func (r *bitReader) End() error {
	if r.err == nil && (r.Left() >= 8 || r.Bits(r.Left()) != 0) {
		r.err = errRest
	}
	return r.err
}

// fail keeps an error, and the reader has no more bits.
func (r *bitReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest, r.waiting = nil, 0
}
