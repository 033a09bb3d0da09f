// Package frame is the bytes of a segment: its header and the records behind it, encoded, decoded,
// read through a buffer, and found again behind damage. What a segment may hold, and what follows
// from what is missing, is package segment's. It starts no goroutines.
//
// All integers are little-endian. A segment begins with 64 bytes:
//
//	 0  8 bytes  "dynowal\n"
//	 8  uint32   version, 1
//	12  uint32   CRC-32C of the other 60 bytes
//	16  uint64   number of the first record
//	24  uint64   first number of the segment before it; 0 means there was none
//	32  uint64   end of the segment before it: its later bytes do not count
//	40  uint64   salt
//	48  16 zeros
//
// Records follow, each at a multiple of 8 bytes, padded with zeros:
//
//	 0  uint32   CRC-32C of the next 28 bytes, begun with the salt
//	 4  uint32   CRC-32C of the data, begun with the salt
//	 8  uint32   bytes of data
//	12  uint32   how many records of the same batch follow
//	16  uint64   number
//	24  uint64   number of the first record of the same group
//	32  data
//
// The salt, random and secret, prevents record data from being read as a record.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

const (
	HeaderBytes = 64 // of a segment's header
	Alignment   = 8  // bytes: records begin at multiples of it

	magic         = "dynowal\n"
	formatVersion = 1
	recordBytes   = 32 // of a record's header
)

// ErrForeign says that a file does not begin with a valid header.
var ErrForeign = errors.New("it is not a segment of a log, or its header is damaged")

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	order      = binary.LittleEndian

	errNewer = errors.New("it was written by a newer version of this program")
)

// Header is the first bytes of a segment.
type Header struct {
	First     uint64 // number of the first record
	PrevFirst uint64 // first number of the segment before it; 0 means there was none
	PrevEnd   int64  // end of the segment before it: its later bytes do not count
	Salt      uint64
}

// Seed is the start value of the checksums of the segment's records.
func (h Header) Seed() uint32 { return crc32.Checksum(order.AppendUint64(nil, h.Salt), castagnoli) }

// Encode returns the HeaderBytes bytes of a header.
func (h Header) Encode() []byte {
	b := make([]byte, HeaderBytes)
	copy(b, magic)
	order.PutUint32(b[8:], formatVersion)
	order.PutUint64(b[16:], h.First)
	order.PutUint64(b[24:], h.PrevFirst)
	order.PutUint64(b[32:], uint64(h.PrevEnd))
	order.PutUint64(b[40:], h.Salt)
	order.PutUint32(b[12:], headerSum(b))
	return b
}

func headerSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:12], castagnoli), castagnoli, b[16:HeaderBytes])
}

// ReadHeader reads a segment's header.
func ReadHeader(file io.ReaderAt) (Header, error) {
	b := make([]byte, HeaderBytes)
	n, err := file.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Header{}, err
	}
	return decodeHeader(b[:n])
}

func decodeHeader(b []byte) (Header, error) {
	if len(b) < HeaderBytes || string(b[:8]) != magic {
		return Header{}, ErrForeign
	}
	if v := order.Uint32(b[8:]); v > formatVersion {
		return Header{}, fmt.Errorf("%w: format %d, and this one knows %d", errNewer, v, formatVersion)
	}
	h := Header{First: order.Uint64(b[16:]), PrevFirst: order.Uint64(b[24:]), PrevEnd: int64(order.Uint64(b[32:])), Salt: order.Uint64(b[40:])}
	if headerSum(b) != order.Uint32(b[12:]) || h.First == 0 || h.First > math.MaxInt64 {
		return Header{}, ErrForeign
	}
	return h, nil
}

// Record is a record's header.
type Record struct {
	Sum    uint32 // CRC-32C of the data
	Length uint32 // bytes of data
	More   uint32 // records of the same batch that follow
	Number uint64
	Group  uint64 // number of the first record of the same group
}

// Span returns the bytes that a record with length bytes of data takes in the file.
func Span(length int) int64 {
	return int64(recordBytes+length+Alignment-1) &^ (Alignment - 1)
}

// Span returns the bytes that the record takes in the file.
func (r Record) Span() int64 { return Span(int(r.Length)) }

var zeroes [recordBytes + Alignment]byte

// Append appends a record with its data to b, whose length is a multiple of Alignment. Of r, it
// uses More, Number and Group.
func Append(b []byte, seed uint32, r Record, data []byte) []byte {
	at := len(b)
	b = append(append(b, zeroes[:recordBytes]...), data...)
	h := b[at : at+recordBytes]
	order.PutUint32(h[4:], crc32.Update(seed, castagnoli, data))
	order.PutUint32(h[8:], uint32(len(data)))
	order.PutUint32(h[12:], r.More)
	order.PutUint64(h[16:], r.Number)
	order.PutUint64(h[24:], r.Group)
	order.PutUint32(h[0:], crc32.Update(seed, castagnoli, h[4:]))
	return append(b, zeroes[:Span(len(data))-int64(len(b)-at)]...)
}

// decodeRecord decodes a record's header; false if it is not valid.
func decodeRecord(b []byte, seed uint32) (Record, bool) {
	if len(b) < recordBytes || order.Uint64(b) == 0 {
		return Record{}, false // allocated but unwritten bytes are zeros
	}
	if crc32.Update(seed, castagnoli, b[4:recordBytes]) != order.Uint32(b) {
		return Record{}, false
	}
	r := Record{Sum: order.Uint32(b[4:]), Length: order.Uint32(b[8:]), More: order.Uint32(b[12:]), Number: order.Uint64(b[16:]), Group: order.Uint64(b[24:])}
	return r, r.Number > 0 && r.Number < math.MaxInt64 && r.Group > 0 && r.Group <= r.Number
}
