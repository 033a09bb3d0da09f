package xrpl

import (
	"encoding/binary"
	"slices"

	"dyno/services/ledger/xrpl/sfield"
)

// Fields builds serialized fields: each method appends a field and returns the extended bytes. The
// caller must append the fields of one level in ascending order of type and code.
type Fields []byte

func (b Fields) header(id sfield.ID) Fields {
	switch kind, code := id.Type(), id.Code(); {
	case kind < 16 && code < 16:
		return append(b, byte(kind<<4|code))
	case kind < 16:
		return append(b, byte(kind<<4), byte(code))
	case code < 16:
		return append(b, byte(code), byte(kind))
	default:
		return append(b, 0, byte(kind), byte(code))
	}
}

// UInt8 appends an integer of one byte.
func (b Fields) UInt8(id sfield.ID, v uint8) Fields { return append(b.header(id), v) }

// UInt16 appends an integer of two bytes.
func (b Fields) UInt16(id sfield.ID, v uint16) Fields {
	return binary.BigEndian.AppendUint16(b.header(id), v)
}

// UInt32 appends an integer of four bytes.
func (b Fields) UInt32(id sfield.ID, v uint32) Fields {
	return binary.BigEndian.AppendUint32(b.header(id), v)
}

// Hash appends a hash.
func (b Fields) Hash(id sfield.ID, h Hash) Fields { return append(b.header(id), h[:]...) }

// Drops appends an amount of XRP in drops (at most 10^17).
func (b Fields) Drops(id sfield.ID, drops uint64) Fields {
	const positive = 1 << 62
	return binary.BigEndian.AppendUint64(b.header(id), positive|drops)
}

// Blob appends bytes with their length.
func (b Fields) Blob(id sfield.ID, data []byte) Fields {
	return append(AppendVL(b.header(id), len(data)), data...)
}

// Account appends an account.
func (b Fields) Account(id sfield.ID, account AccountID) Fields { return b.Blob(id, account[:]) }

// Open begins an object or an array of objects; EndObject or EndArray ends it.
func (b Fields) Open(id sfield.ID) Fields { return b.header(id) }

// EndObject ends the innermost object.
func (b Fields) EndObject() Fields { return b.header(sfield.Make(sfield.TypeObject, endCode)) }

// EndArray ends the innermost array.
func (b Fields) EndArray() Fields { return b.header(sfield.Make(sfield.TypeArray, endCode)) }

// Insert returns a copy of the fields with others, of one ID, in their place among the outermost.
func (b Fields) Insert(id sfield.ID, others Fields) (Fields, error) {
	at := len(b)
	err := Walk(b, func(f Field) error {
		if f.Depth > 0 || f.Ends() || f.ID() <= id {
			return nil
		}
		at = f.Start
		return ErrStop
	})
	return slices.Insert(slices.Clone(b), at, others...), err
}

// Ascent checks that the fields of one level ascend, as in the ledger. So no field occurs twice,
// one of which would be signed and the other one read. The zero value expects any field.
type Ascent struct{ last sfield.ID }

// Next returns an ErrMalformed if a field is not above the one before it.
func (a *Ascent) Next(f Field) error {
	if f.ID() <= a.last {
		return f.Malformed("it is not in its place")
	}
	a.last = f.ID()
	return nil
}

// WalkOutermost calls visit with the outermost fields and their values. They must ascend.
func WalkOutermost(b []byte, visit func(f Field, value []byte)) error {
	var a Ascent
	return Walk(b, func(f Field) error {
		if f.Depth > 0 || f.Ends() {
			return nil
		}
		if err := a.Next(f); err != nil {
			return err
		}
		visit(f, b[f.ValueStart:f.End])
		return nil
	})
}
