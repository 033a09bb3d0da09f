package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
)

const (
	magic         = "dynowal\n"
	formatVersion = 1
	headerBytes   = 64 // of a segment's header
	recordBytes   = 32 // of a record's header
	alignment     = 8

	suffix    = ".seg"
	newName   = "begun.tmp" // a segment before it gets its name
	nameWidth = 20          // digits of the largest number, so that names sort as numbers do
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	order      = binary.LittleEndian

	errForeign = errors.New("it is not a segment of a log, or its header is damaged")
	errNewer   = errors.New("it was written by a newer version of this program")
)

type header struct {
	first     uint64
	prevFirst uint64
	prevEnd   int64
	salt      uint64
}

// seed is the start value of the checksums of the segment's records.
func (h header) seed() uint32 { return crc32.Checksum(order.AppendUint64(nil, h.salt), castagnoli) }

func (h header) encode() []byte {
	b := make([]byte, headerBytes)
	copy(b, magic)
	order.PutUint32(b[8:], formatVersion)
	order.PutUint64(b[16:], h.first)
	order.PutUint64(b[24:], h.prevFirst)
	order.PutUint64(b[32:], uint64(h.prevEnd))
	order.PutUint64(b[40:], h.salt)
	order.PutUint32(b[12:], headerSum(b))
	return b
}

func headerSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:12], castagnoli), castagnoli, b[16:headerBytes])
}

func decodeHeader(b []byte) (header, error) {
	if len(b) < headerBytes || string(b[:8]) != magic {
		return header{}, errForeign
	}
	if v := order.Uint32(b[8:]); v > formatVersion {
		return header{}, fmt.Errorf("%w: format %d, and this one knows %d", errNewer, v, formatVersion)
	}
	h := header{first: order.Uint64(b[16:]), prevFirst: order.Uint64(b[24:]), prevEnd: int64(order.Uint64(b[32:])), salt: order.Uint64(b[40:])}
	if headerSum(b) != order.Uint32(b[12:]) || h.first == 0 || h.first > math.MaxInt64 {
		return header{}, errForeign
	}
	return h, nil
}

// record is a record's header.
type record struct {
	sum    uint32
	length uint32
	more   uint32 // records of the same batch that follow
	number uint64
	group  uint64 // number of the first record of the same group
}

// span returns the bytes that a record takes in the file.
func span(length int) int64 {
	return int64(recordBytes+length+alignment-1) &^ (alignment - 1)
}

func (r record) span() int64 { return span(int(r.length)) }

var zeroes [recordBytes + alignment]byte

// appendRecord appends a record with its data to b, whose length is a multiple of the alignment.
func appendRecord(b []byte, seed uint32, r record, data []byte) []byte {
	at := len(b)
	b = append(append(b, zeroes[:recordBytes]...), data...)
	h := b[at : at+recordBytes]
	order.PutUint32(h[4:], crc32.Update(seed, castagnoli, data))
	order.PutUint32(h[8:], uint32(len(data)))
	order.PutUint32(h[12:], r.more)
	order.PutUint64(h[16:], r.number)
	order.PutUint64(h[24:], r.group)
	order.PutUint32(h[0:], crc32.Update(seed, castagnoli, h[4:]))
	return append(b, zeroes[:span(len(data))-int64(len(b)-at)]...)
}

// decodeRecord decodes a record's header; false if it is not valid.
func decodeRecord(b []byte, seed uint32) (record, bool) {
	if len(b) < recordBytes || order.Uint64(b) == 0 {
		return record{}, false // allocated but unwritten bytes are zeros
	}
	if crc32.Update(seed, castagnoli, b[4:recordBytes]) != order.Uint32(b) {
		return record{}, false
	}
	r := record{sum: order.Uint32(b[4:]), length: order.Uint32(b[8:]), more: order.Uint32(b[12:]), number: order.Uint64(b[16:]), group: order.Uint64(b[24:])}
	return r, r.number > 0 && r.number < math.MaxInt64 && r.group > 0 && r.group <= r.number
}

func fileName(first uint64) string { return fmt.Sprintf("%0*d%s", nameWidth, first, suffix) }

// parseName returns the number in a segment's name; false if it is not a segment's.
func parseName(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	n, err := strconv.ParseUint(digits, 10, 63)
	return n, ok && err == nil && n > 0 && len(digits) == nameWidth
}
