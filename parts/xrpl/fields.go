package xrpl

import "encoding/binary"

// Fields builds serialized fields: each method appends a field and returns the extended bytes. The
// caller must append the fields of one level in ascending order of type and code.
type Fields []byte

func (b Fields) header(kind, code int) Fields {
	switch {
	case kind < 16 && code < 16:
		return append(b, byte(kind<<4|code))
	case kind < 16:
		return append(b, byte(kind<<4), byte(code))
	case code < 16:
		return append(b, byte(code), byte(kind))
	}
	return append(b, 0, byte(kind), byte(code))
}

// UInt8 appends a field of type 16.
func (b Fields) UInt8(code int, v uint8) Fields { return append(b.header(typeUInt8, code), v) }

// UInt16 appends a field of type 1.
func (b Fields) UInt16(code int, v uint16) Fields {
	return binary.BigEndian.AppendUint16(b.header(typeUInt16, code), v)
}

// UInt32 appends a field of type 2.
func (b Fields) UInt32(code int, v uint32) Fields {
	return binary.BigEndian.AppendUint32(b.header(typeUInt32, code), v)
}

// Hash appends a field of type 5.
func (b Fields) Hash(code int, h Hash) Fields { return append(b.header(typeHash256, code), h[:]...) }

// Drops appends an amount of XRP in drops (at most 10^17) as a field of type 6.
func (b Fields) Drops(code int, drops uint64) Fields {
	const positive = 1 << 62
	return binary.BigEndian.AppendUint64(b.header(typeAmount, code), positive|drops)
}

// Blob appends a field of type 7.
func (b Fields) Blob(code int, data []byte) Fields {
	return append(AppendVL(b.header(typeBlob, code), len(data)), data...)
}

// Account appends a field of type 8.
func (b Fields) Account(code int, id AccountID) Fields {
	return append(AppendVL(b.header(typeAccount, code), len(id)), id[:]...)
}

// Object begins an object; EndObject ends it.
func (b Fields) Object(code int) Fields { return b.header(typeObject, code) }

// EndObject ends the innermost object.
func (b Fields) EndObject() Fields { return b.header(typeObject, endCode) }

// Array begins an array of objects; EndArray ends it.
func (b Fields) Array(code int) Fields { return b.header(typeArray, code) }

// EndArray ends the innermost array.
func (b Fields) EndArray() Fields { return b.header(typeArray, endCode) }

// place returns the position of a field with this type and code among the outermost fields.
func (b Fields) place(kind, code int) (at int, err error) {
	at = len(b)
	err = Walk(b, func(f Field) error {
		if f.Depth > 0 || f.Ends() || f.order() <= order(kind, code) {
			return nil
		}
		at = f.Start
		return ErrStop
	})
	return at, err
}

// order is the sort key of the fields of one level.
func order(kind, code int) int { return kind<<8 | code }

func (f Field) order() int { return order(f.Type, f.Code) }

// ascent checks that the fields of one level ascend, as in the ledger. So no field occurs twice,
// one of which would be signed and the other one read.
type ascent struct{ last int }

func (a *ascent) next(f Field) error {
	if f.order() <= a.last {
		return f.malformed("it is not in its place")
	}
	a.last = f.order()
	return nil
}

// walkOutermost calls visit with the outermost fields and their values. They must ascend.
func walkOutermost(b []byte, visit func(f Field, value []byte)) error {
	var a ascent
	return Walk(b, func(f Field) error {
		if f.Depth > 0 || f.Ends() {
			return nil
		}
		if err := a.next(f); err != nil {
			return err
		}
		visit(f, b[f.ValueStart:f.End])
		return nil
	})
}
