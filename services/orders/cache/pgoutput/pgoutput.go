// Package pgoutput reads what PostgreSQL's logical decoding plug-in of that name writes (protocol version 1):
// one message at a time, as it lies in the data of a replication stream.
//
// The format is that of "Logical Replication Message Formats" in PostgreSQL's manual. The bytes come from
// elsewhere: whatever they are, Parse returns a message or an error.
//
// It is not for the stream itself (see package feed), nor for streamed or two-phase transactions, which have to be
// asked for, nor for the values of rows beyond their bytes. It starts no goroutines.
package pgoutput

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// LSN is a place in the write-ahead log: bytes since its beginning.
type LSN uint64

// String gives the place as PostgreSQL writes it.
func (l LSN) String() string { return fmt.Sprintf("%X/%X", uint32(l>>32), uint32(l)) }

// ParseLSN reads what String wrote.
func ParseLSN(text []byte) (LSN, error) {
	high, low, ok := bytes.Cut(text, []byte{'/'})
	h, okHigh := hex32(high)
	l, okLow := hex32(low)
	if !ok || !okHigh || !okLow {
		return 0, fmt.Errorf("%.20q is no place in a write-ahead log such as 16/B374D848", text)
	}
	return LSN(h)<<32 | LSN(l), nil
}

func hex32(digits []byte) (value uint32, ok bool) {
	for _, d := range digits {
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d >= 'A' && d <= 'F':
			d -= 'A' - 10
		default:
			return 0, false
		}
		value = value<<4 | uint32(d)
	}
	return value, len(digits) >= 1 && len(digits) <= 8
}

// Kind is what a message is about, as its first byte says.
type Kind byte

// The kinds. What changes no row (Type, Origin, Message) has nothing but its kind.
const (
	Begin    Kind = 'B'
	Commit   Kind = 'C'
	Relation Kind = 'R'
	Insert   Kind = 'I'
	Update   Kind = 'U'
	Delete   Kind = 'D'
	Truncate Kind = 'T'
	Type     Kind = 'Y'
	Origin   Kind = 'O'
	Emitted  Kind = 'M' // by pg_logical_emit_message
)

// Message is one of them. What is not said of a kind is zero. Tuples and Truncated refer to the bytes that
// were parsed.
type Message struct {
	Kind Kind

	XID uint32 // Begin: the transaction's
	End LSN    // Begin: where the commit stands. Commit: where the transaction ends

	Relation  uint32    // Relation, Insert, Update, Delete: the table's oid
	Truncated Relations // Truncate

	Schema, Table string   // Relation; the schema pg_catalog is ""
	Columns       []string // Relation: their names

	Old Tuple // Update: the key before, if it changed, or the row before. Delete: the key or the row
	New Tuple // Insert, Update
}

// Relations are the oids of tables, four bytes each.
type Relations []byte

// Has reports whether the oid is among them.
func (r Relations) Has(oid uint32) bool {
	for ; len(r) >= 4; r = r[4:] {
		if binary.BigEndian.Uint32(r) == oid {
			return true
		}
	}
	return false
}

var errShort = errors.New("it ends early")

// Parse reads one message.
func Parse(data []byte) (Message, error) {
	if len(data) == 0 {
		return Message{}, fmt.Errorf("reading a pgoutput message: %w", errShort)
	}
	m := Message{Kind: Kind(data[0])}
	r := reader{rest: data[1:]}
	switch m.Kind {
	case Begin:
		m.End = LSN(r.uint64())
		r.skip(8) // when it was committed
		m.XID = r.uint32()
	case Commit:
		r.skip(1 + 8) // flags, where the commit stands
		m.End = LSN(r.uint64())
		r.skip(8) // when
	case Relation:
		r.relation(&m)
	case Insert:
		m.Relation = r.uint32()
		m.New = r.marked('N')
	case Update:
		m.Relation = r.uint32()
		if mark := r.peek(); mark == 'K' || mark == 'O' {
			m.Old = r.marked(mark)
		}
		m.New = r.marked('N')
	case Delete:
		m.Relation = r.uint32()
		if mark := r.peek(); mark == 'K' || mark == 'O' {
			m.Old = r.marked(mark)
		} else {
			r.fail(fmt.Errorf("%q where the old row's mark should be", mark))
		}
	case Truncate:
		n := r.uint32()
		r.skip(1) // whether it cascades or restarts sequences
		m.Truncated = r.take(4 * uint64(n))
	case Type, Origin, Emitted:
		return m, nil
	default:
		return Message{}, fmt.Errorf("reading a pgoutput message: its kind %q is not one of protocol version 1", data[0])
	}
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("%d bytes follow it", len(r.rest))
	}
	if r.err != nil {
		return Message{}, fmt.Errorf("reading a pgoutput message of kind %q: %w", data[0], r.err)
	}
	return m, nil
}

func (r *reader) relation(m *Message) {
	m.Relation = r.uint32()
	m.Schema = r.text()
	m.Table = r.text()
	r.skip(1) // replica identity
	n := int(r.uint16())
	m.Columns = make([]string, 0, min(n, len(r.rest)))
	for range n {
		r.skip(1) // whether it is part of the key
		m.Columns = append(m.Columns, r.text())
		r.skip(4 + 4) // type and its modifier
		if r.err != nil {
			return
		}
	}
}
