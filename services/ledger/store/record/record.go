// Package record is the bytes of the records in a store's packs: received ledgers, the list of
// those that are proved, answers that were wrong, and changes of the index. It is not for files,
// which are services/ledger/store/flat, and not for what finds a ledger in them, which is
// services/ledger/store/index. It starts no goroutines.
//
// The first byte of a record is its kind:
//
//	l  a ledger as received: size of the server's name (varint), name, and the ledger as in
//	   ledger.go. The name is empty if it came from no server.
//	p  ledgers are proved: size of the next part (varint), what the store says as JSON, and for each
//	   of them INDEX4 HASH32 REF12
//	w  a received ledger was wrong: REF12
//	n  a change of the index that cannot be rebuilt from ledgers: a batch in pebble's format
//
// A REF is FILE4 OFFSET4 SIZE4. Only ledgers in a p record are stored; any other ledger waits for
// its proof. Numbers are big-endian.
package record

import (
	"encoding/binary"
	"fmt"

	"dyno/services/ledger/store/flat"
	"dyno/services/ledger/xrpl"
)

// The kinds of records.
const (
	KindLedger = 'l'
	KindProved = 'p'
	KindWrong  = 'w'
	KindNote   = 'n'

	// RefSize is the size of a REF in bytes.
	RefSize   = 12
	entrySize = 4 + len(xrpl.Hash{}) + RefSize
)

// Entry is a ledger and its record's place in the packs.
type Entry struct {
	Index uint32
	Hash  xrpl.Hash
	Ref   flat.Ref
}

// AppendRef appends a REF.
func AppendRef(b []byte, r flat.Ref) []byte {
	b = binary.BigEndian.AppendUint32(b, r.File)
	b = binary.BigEndian.AppendUint32(b, r.Offset)
	return binary.BigEndian.AppendUint32(b, r.Size)
}

// ParseRef reads a REF of RefSize bytes.
func ParseRef(b []byte) flat.Ref {
	return flat.Ref{File: binary.BigEndian.Uint32(b), Offset: binary.BigEndian.Uint32(b[4:]), Size: binary.BigEndian.Uint32(b[8:])}
}

// maxServer bounds a server's name in a record, in bytes.
const maxServer = 4 << 10

// FrameLedger appends the frame of a received ledger, whose transactions are sorted. mem is the
// caller's memory for its body.
func (c *Codec) FrameLedger(b []byte, server string, hash xrpl.Hash, l *xrpl.Ledger, mem *[]byte) []byte {
	server = server[:min(len(server), maxServer)]
	b = append(flat.Begin(b), KindLedger)
	b = binary.AppendUvarint(b, uint64(len(server)))
	b = append(b, server...)
	return c.appendLedger(b, hash, l, mem)
}

// ParseLedger reads the record of a received ledger.
func ParseLedger(b []byte) (server string, r Ledger, err error) {
	if len(b) == 0 || b[0] != KindLedger {
		return "", r, fmt.Errorf("%w: not a ledger", flat.ErrDamaged)
	}
	size, n := binary.Uvarint(b[1:])
	if n <= 0 || size > maxServer || size > uint64(len(b)-1-n) {
		return "", r, fmt.Errorf("%w: its server is unreadable", flat.ErrDamaged)
	}
	b = b[1+n:]
	r, err = ParseStored(b[size:])
	return string(b[:size]), r, err
}

// FrameProved makes the frame of proved ledgers, with what the store says about itself.
func FrameProved(about []byte, entries []Entry) []byte {
	b := append(flat.Begin(make([]byte, 0, flat.HeaderSize+8+len(about)+len(entries)*entrySize)), KindProved)
	b = binary.AppendUvarint(b, uint64(len(about)))
	b = append(b, about...)
	for _, e := range entries {
		b = binary.BigEndian.AppendUint32(b, e.Index)
		b = append(b, e.Hash[:]...)
		b = AppendRef(b, e.Ref)
	}
	return b
}

// ParseProved reads the record of proved ledgers.
func ParseProved(b []byte) (about []byte, entries []Entry, err error) {
	size, n := binary.Uvarint(b[1:])
	if n <= 0 || size > uint64(len(b)-1-n) || (uint64(len(b)-1-n)-size)%uint64(entrySize) != 0 {
		return nil, nil, fmt.Errorf("%w: the list of proved ledgers is unreadable", flat.ErrDamaged)
	}
	about, rest := b[1+n:1+n+int(size)], b[1+n+int(size):]
	for ; len(rest) > 0; rest = rest[entrySize:] {
		entries = append(entries, Entry{binary.BigEndian.Uint32(rest), xrpl.Hash(rest[4:36]), ParseRef(rest[36:])})
	}
	return about, entries, nil
}

// FrameWrong makes the frame that says that a received ledger was wrong.
func FrameWrong(ref flat.Ref) []byte {
	return AppendRef(append(flat.Begin(nil), KindWrong), ref)
}

// FrameNote makes the frame of a change of the index.
func FrameNote(change []byte) []byte {
	return append(append(flat.Begin(nil), KindNote), change...)
}
