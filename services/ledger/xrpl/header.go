package xrpl

import (
	"encoding/binary"
	"fmt"
)

// HeaderSize is the size of a ledger's header in bytes.
const HeaderSize = 118

// Header is a ledger's header. Times are in seconds since 2000-01-01T00:00:00Z.
type Header struct {
	Index        uint32
	Drops        uint64 // all XRP that exists, in millionths
	Parent       Hash   // hash of the previous ledger
	Transactions Hash   // root of the transaction tree
	State        Hash   // root of the state tree
	ParentClose  uint32
	Close        uint32
	Resolution   uint8 // rounding of close times, seconds
	Flags        uint8
}

// ParseHeader parses a header of exactly HeaderSize bytes.
func ParseHeader(b []byte) (Header, error) {
	if len(b) != HeaderSize {
		return Header{}, fmt.Errorf("%w: a ledger's header has %d bytes, this one %d", ErrMalformed, HeaderSize, len(b))
	}
	return Header{
		Index:        binary.BigEndian.Uint32(b),
		Drops:        binary.BigEndian.Uint64(b[4:]),
		Parent:       Hash(b[12:44]),
		Transactions: Hash(b[44:76]),
		State:        Hash(b[76:108]),
		ParentClose:  binary.BigEndian.Uint32(b[108:]),
		Close:        binary.BigEndian.Uint32(b[112:]),
		Resolution:   b[116],
		Flags:        b[117],
	}, nil
}

// Append appends the header's HeaderSize bytes.
func (h *Header) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, h.Index)
	b = binary.BigEndian.AppendUint64(b, h.Drops)
	b = append(b, h.Parent[:]...)
	b = append(b, h.Transactions[:]...)
	b = append(b, h.State[:]...)
	b = binary.BigEndian.AppendUint32(b, h.ParentClose)
	b = binary.BigEndian.AppendUint32(b, h.Close)
	return append(b, h.Resolution, h.Flags)
}

// Hash returns the ledger's hash.
func (h *Header) Hash() Hash {
	var buf [len(prefixHeader) + HeaderSize]byte
	return SHA512Half(h.Append(append(buf[:0], prefixHeader...)))
}
