package store

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"dyno/parts/xrpl"
	"dyno/services/ledger/store/flat"
)

// The first byte of a record in the packs is its kind:
//
//	l  a ledger as received: size of the server's name (varint), name, and the ledger as in
//	   ledger.go. The name is empty if it came from no server.
//	p  ledgers are proved: size of the next part (varint), proved as JSON, and for each of them
//	   INDEX4 HASH32 REF12
//	w  a received ledger was wrong: REF12
//	n  a change of the index that cannot be rebuilt from ledgers: see note.go
//
// A REF is FILE4 OFFSET4 SIZE4. Only ledgers in a p record are stored; any other ledger waits for
// its proof.
const (
	recordLedger = 'l'
	recordProved = 'p'
	recordWrong  = 'w'
	recordNote   = 'n'

	refSize   = 12
	entrySize = 4 + len(xrpl.Hash{}) + refSize
)

// proved is written with proved ledgers: all that a lost index could not be rebuilt without.
type proved struct {
	Accounts string   `json:"accounts"`
	Progress Progress `json:"progress"`
}

type entry struct {
	index uint32
	hash  xrpl.Hash
	ref   flat.Ref
}

func appendRef(b []byte, r flat.Ref) []byte {
	b = binary.BigEndian.AppendUint32(b, r.File)
	b = binary.BigEndian.AppendUint32(b, r.Offset)
	return binary.BigEndian.AppendUint32(b, r.Size)
}

func parseRef(b []byte) flat.Ref {
	return flat.Ref{File: binary.BigEndian.Uint32(b), Offset: binary.BigEndian.Uint32(b[4:]), Size: binary.BigEndian.Uint32(b[8:])}
}

// maxServer bounds a server's name in a record, in bytes.
const maxServer = 4 << 10

// frameLedger makes the frame of a received ledger, whose transactions are sorted.
func (s *Store) frameLedger(b []byte, server string, hash xrpl.Hash, l *xrpl.Ledger, mem *scratch) []byte {
	server = server[:min(len(server), maxServer)]
	b = append(flat.Begin(b), recordLedger)
	b = binary.AppendUvarint(b, uint64(len(server)))
	b = append(b, server...)
	return s.appendLedger(b, hash, l, mem)
}

func parseLedger(b []byte) (server string, r record, err error) {
	if len(b) == 0 || b[0] != recordLedger {
		return "", r, fmt.Errorf("%w: not a ledger", flat.ErrDamaged)
	}
	size, n := binary.Uvarint(b[1:])
	if n <= 0 || size > maxServer || size > uint64(len(b)-1-n) {
		return "", r, fmt.Errorf("%w: its server is unreadable", flat.ErrDamaged)
	}
	b = b[1+n:]
	r, err = parseRecord(b[size:])
	return string(b[:size]), r, err
}

func frameProved(about proved, entries []entry) ([]byte, error) {
	text, err := json.Marshal(about)
	if err != nil {
		return nil, fmt.Errorf("progress: %w", err)
	}
	b := append(flat.Begin(make([]byte, 0, flat.HeaderSize+8+len(text)+len(entries)*entrySize)), recordProved)
	b = binary.AppendUvarint(b, uint64(len(text)))
	b = append(b, text...)
	for _, e := range entries {
		b = binary.BigEndian.AppendUint32(b, e.index)
		b = append(b, e.hash[:]...)
		b = appendRef(b, e.ref)
	}
	return b, nil
}

func parseProved(b []byte) (about proved, entries []entry, err error) {
	size, n := binary.Uvarint(b[1:])
	if n <= 0 || size > uint64(len(b)-1-n) || (uint64(len(b)-1-n)-size)%uint64(entrySize) != 0 {
		return about, nil, fmt.Errorf("%w: the list of proved ledgers is unreadable", flat.ErrDamaged)
	}
	text, rest := b[1+n:1+n+int(size)], b[1+n+int(size):]
	if err := json.Unmarshal(text, &about); err != nil {
		return about, nil, fmt.Errorf("%w: the progress: %w", flat.ErrDamaged, err)
	}
	for ; len(rest) > 0; rest = rest[entrySize:] {
		entries = append(entries, entry{binary.BigEndian.Uint32(rest), xrpl.Hash(rest[4:36]), parseRef(rest[36:])})
	}
	return about, entries, nil
}

func frameWrong(ref flat.Ref) []byte {
	return appendRef(append(flat.Begin(nil), recordWrong), ref)
}
