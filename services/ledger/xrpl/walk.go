package xrpl

import (
	"errors"
	"fmt"

	"dyno/services/ledger/xrpl/sfield"
)

// fixed is the size in bytes of the values of a type, zero if the value determines it. Numbers are
// those of rippled's SField.h and of the server_definitions method.
var fixed = [...]uint8{
	sfield.TypeUInt16: 2, sfield.TypeUInt32: 4, sfield.TypeUInt64: 8, 4: 16, sfield.TypeHash256: 32,
	sfield.TypeNumber: 12, sfield.TypeInt32: 4, sfield.TypeInt64: 8,
	sfield.TypeUInt8: 1, 17: 20, // Hash160
	20: 12, 21: 24, 22: 48, 23: 64, // UInt96 to UInt512
	sfield.TypeCurrency: 20,
}

// Field is the position of a field in the bytes: its header is [Start, ValueStart) and its value
// [ValueStart, End). A length prefix belongs to the header. An object or array is a field without a
// value; its contents follow one level deeper, and then the field that ends it (14.1 or 15.1), at
// its own depth. So fields follow one another without gaps from the first byte to the last.
type Field struct {
	Type, Code             int
	Depth                  int // number of enclosing objects and arrays
	Start, ValueStart, End int
}

// ID returns the field's type and code.
func (f Field) ID() sfield.ID { return sfield.Make(f.Type, f.Code) }

// Is reports whether the field has this type and code.
func (f Field) Is(id sfield.ID) bool { return f.ID() == id }

// Opens reports whether the field begins an object or array.
func (f Field) Opens() bool { return isContainer(f.Type) && f.Code != endCode }

// Ends reports whether the field ends an object or array.
func (f Field) Ends() bool { return isContainer(f.Type) && f.Code == endCode }

func isContainer(kind int) bool { return kind == sfield.TypeObject || kind == sfield.TypeArray }

// ErrStop, returned by visit, ends the walk without an error.
var ErrStop = errors.New("stop walking")

// maxDepth is the maximum nesting of objects and arrays. The ledger's own limit is 10.
const maxDepth = 16

const endCode = 1 // code of the field that ends an object or an array

// Walk calls visit for each field of a transaction, its metadata, a validation or a manifest, in
// order, without allocating. It ends early and returns visit's error, except ErrStop.
func Walk(b []byte, visit func(Field) error) error {
	var open [maxDepth]int // types of the enclosing objects and arrays
	var f Field
	for f.End < len(b) {
		f.Start = f.End
		if err := f.read(b); err != nil {
			return err
		}
		within := 0
		if f.Depth > 0 {
			within = open[f.Depth-1]
		}
		switch {
		case f.Ends() && f.Type != within:
			return f.Malformed("it ends what is not open")
		case f.Ends():
			f.Depth--
		case within == sfield.TypeArray && f.Type != sfield.TypeObject:
			return f.Malformed("an array holds objects alone")
		case f.Opens() && f.Depth == maxDepth:
			return f.Malformed("it is nested too deeply")
		}
		if err := visit(f); err != nil {
			if err == ErrStop {
				return nil
			}
			return err
		}
		if f.Opens() {
			open[f.Depth] = f.Type
			f.Depth++
		}
	}
	if f.Depth > 0 {
		return fmt.Errorf("%w: an object or array does not end", ErrMalformed)
	}
	return nil
}

// Malformed returns an ErrMalformed for the field.
func (f *Field) Malformed(why string) error {
	return fmt.Errorf("%w: field %d.%d at byte %d: %s", ErrMalformed, f.Type, f.Code, f.Start, why)
}

// read reads the header and value of the field at Start.
func (f *Field) read(b []byte) error {
	at := f.Start
	f.Type, f.Code = int(b[at]>>4), int(b[at]&15)
	at++
	for _, number := range [...]*int{&f.Type, &f.Code} {
		if *number != 0 {
			continue
		}
		if at == len(b) || b[at] < 16 {
			return f.Malformed("its header is cut off or not the shortest")
		}
		*number = int(b[at])
		at++
	}
	size := 0
	switch f.Type {
	case sfield.TypeBlob, sfield.TypeAccount, sfield.TypeVector256:
		n, prefix, err := ReadVL(b[at:])
		if err != nil {
			return f.Malformed("its length is cut off or too great")
		}
		at, size = at+prefix, n
	case sfield.TypeObject, sfield.TypeArray:
	default:
		size = valueSize(f.Type, b[at:])
	}
	if size < 0 {
		return f.Malformed("its type or value is unknown")
	}
	if size > len(b)-at {
		return f.Malformed("it is cut off")
	}
	f.ValueStart, f.End = at, at+size
	return nil
}

// valueSize returns the size of a value without length prefix, from its type and first bytes. It is
// -1 for an invalid value, and may exceed the available bytes.
func valueSize(kind int, b []byte) int {
	switch kind {
	case sfield.TypeAmount:
		return amountSize(b)
	case sfield.TypePathSet:
		return pathsSize(b)
	case sfield.TypeIssue:
		return issueSize(b)
	case sfield.TypeBridge:
		return bridgeSize(b)
	}
	if kind >= len(fixed) || fixed[kind] == 0 {
		return -1
	}
	return int(fixed[kind])
}

// Sizes of the parts of amounts and similar values, bytes.
const (
	accountSize  = len(AccountID{})
	currencySize = 20
	mptSize      = 24 // the id of a multi-purpose token: sequence and issuer
)

func amountSize(b []byte) int {
	switch {
	case len(b) == 0:
		return -1
	case b[0]&0x80 != 0:
		return 8 + currencySize + accountSize
	case b[0]&0x20 != 0:
		return 1 + 8 + mptSize
	}
	return 8
}

// pathsSize scans the steps of paths: a byte of flags in each determines its parts.
func pathsSize(b []byte) int {
	const (
		end, boundary                  = 0x00, 0xff
		account, currency, issuer, mpt = 0x01, 0x10, 0x20, 0x40
	)
	at := 0
	for at < len(b) {
		flags := b[at]
		at++
		switch {
		case flags == end:
			return at
		case flags == boundary:
			continue
		case flags&^(account|currency|issuer|mpt) != 0:
			return -1
		}
		for _, part := range [...]struct{ flag, size int }{{account, accountSize}, {currency, currencySize}, {issuer, accountSize}, {mpt, mptSize}} {
			if int(flags)&part.flag != 0 {
				at += part.size
			}
		}
	}
	return len(b) + 1 // cut off
}

// issueSize: XRP is a currency of only zeros; another currency has its issuer. A multi-purpose
// token is written as its issuer, the account without an owner (1), and a sequence.
func issueSize(b []byte) int {
	const sequence = 4
	switch {
	case len(b) < currencySize:
		return -1
	case [currencySize]byte(b) == [currencySize]byte{}:
		return currencySize
	case len(b) < currencySize+accountSize:
		return -1
	case [accountSize]byte(b[currencySize:]) == [accountSize]byte{accountSize - 1: 1}:
		return currencySize + accountSize + sequence
	}
	return currencySize + accountSize
}

// bridgeSize: a door, which is an account with its length, and an issue; twice.
func bridgeSize(b []byte) int {
	at := 0
	for range 2 {
		if at += 1 + accountSize; at > len(b) {
			return -1
		}
		issue := issueSize(b[at:])
		if issue < 0 {
			return -1
		}
		if at += issue; at > len(b) {
			return -1
		}
	}
	return at
}
