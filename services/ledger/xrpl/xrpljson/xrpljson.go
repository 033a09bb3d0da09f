// Package xrpljson converts transactions and metadata from their bytes to JSON in rippled's format.
// It is for people and programs that do not decode the binary format. It is not for the way back:
// nothing is verified, hashed or signed from JSON. It starts no goroutines.
package xrpljson

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// Object is a JSON object, whose values are strings, numbers, Objects and lists. encoding/json
// writes its members in the order of their names, as rippled does.
type Object = map[string]any

// Sizes of values, bytes.
const accountSize, currencySize, mptSize, hashSize = 20, 20, 24, 32

// level is the enclosing object or array of the current field.
type level struct {
	name   string
	object Object
	list   []any
	array  bool
}

// Decode converts the fields of a transaction or of metadata.
func Decode(b []byte) (Object, error) {
	open := []level{{object: Object{}}}
	err := xrpl.Walk(b, func(f xrpl.Field) error {
		name := xrpl.FieldName(f.Type, f.Code)
		if name == "" {
			name = fmt.Sprintf("Field%d.%d", f.Type, f.Code) // newer than this program
		}
		switch {
		case f.Ends():
			done := open[len(open)-1]
			open = open[:len(open)-1]
			if done.array {
				open[len(open)-1].put(done.name, append([]any{}, done.list...))
			} else {
				open[len(open)-1].put(done.name, done.object)
			}
		case f.Opens():
			open = append(open, level{name: name, object: Object{}, array: f.Type == sfield.TypeArray})
		default:
			open[len(open)-1].put(name, value(f, name, b[f.ValueStart:f.End]))
		}
		return nil
	})
	return open[0].object, err
}

// put adds a member to an object, or to an array an element, which is an object with only that
// member.
func (l *level) put(name string, v any) {
	if l.array {
		l.list = append(l.list, Object{name: v})
		return
	}
	l.object[name] = v
}

// decimals are the 64-bit fields that are amounts, written in base ten; others are in hex.
var decimals = map[string]bool{"MaximumAmount": true, "OutstandingAmount": true, "MPTAmount": true, "LockedAmount": true, "ConfidentialOutstandingAmount": true}

// value converts a value, whose size Walk has checked.
func value(f xrpl.Field, name string, b []byte) any {
	switch f.Type {
	case sfield.TypeUInt8:
		if text := xrpl.ResultName(int(b[0])); name == "TransactionResult" && text != "" {
			return text
		}
		return b[0]
	case sfield.TypeUInt16:
		n := binary.BigEndian.Uint16(b)
		text := ""
		switch name {
		case "TransactionType":
			text = xrpl.TransactionName(int(n))
		case "LedgerEntryType":
			text = xrpl.EntryName(int(n))
		}
		if text != "" {
			return text
		}
		return n
	case sfield.TypeUInt32:
		return binary.BigEndian.Uint32(b)
	case sfield.TypeInt32:
		return int32(binary.BigEndian.Uint32(b))
	case sfield.TypeInt64:
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10)
	case sfield.TypeUInt64:
		if decimals[name] {
			return strconv.FormatUint(binary.BigEndian.Uint64(b), 10)
		}
		return strconv.FormatUint(binary.BigEndian.Uint64(b), 16)
	case sfield.TypeAmount:
		return amount(b)
	case sfield.TypeAccount:
		return account(b)
	case sfield.TypeNumber:
		return number(int64(binary.BigEndian.Uint64(b)), int(int32(binary.BigEndian.Uint32(b[8:]))))
	case sfield.TypePathSet:
		return paths(b)
	case sfield.TypeVector256:
		list := []any{}
		for ; len(b) >= hashSize; b = b[hashSize:] {
			list = append(list, xrpl.Hex(b[:hashSize]))
		}
		return list
	case sfield.TypeIssue:
		return issue(b)
	case sfield.TypeBridge:
		return bridge(b)
	case sfield.TypeCurrency:
		return currency(b)
	}
	return xrpl.Hex(b)
}

// account formats an address. A pseudo-transaction's account may have no bytes; it becomes the zero
// account.
func account(b []byte) string {
	var id xrpl.AccountID
	if len(b) > accountSize {
		return xrpl.Hex(b)
	}
	copy(id[:], b)
	return id.String()
}

func amount(b []byte) any {
	const issued, mpt, positive = 0x80, 0x20, 0x40
	sign := ""
	if b[0]&positive == 0 {
		sign = "-"
	}
	switch {
	case b[0]&issued != 0:
		return Object{"currency": currency(b[8 : 8+currencySize]), "issuer": account(b[8+currencySize:]), "value": issuedValue(binary.BigEndian.Uint64(b))}
	case b[0]&mpt != 0:
		n := binary.BigEndian.Uint64(b[1:])
		return Object{"mpt_issuance_id": xrpl.Hex(b[9:]), "value": signed(sign, n)}
	}
	const magnitude = 1<<62 - 1
	return signed(sign, binary.BigEndian.Uint64(b)&magnitude)
}

func signed(sign string, n uint64) string {
	if n == 0 {
		return "0"
	}
	return sign + strconv.FormatUint(n, 10)
}

// issuedValue formats an amount of an issued currency: a sign, 8 bits of exponent and 54 of
// mantissa.
func issuedValue(bits uint64) string {
	const mantissaBits, bias = 54, 97
	mantissa := int64(bits & (1<<mantissaBits - 1))
	if bits>>62&1 == 0 {
		mantissa = -mantissa
	}
	return number(mantissa, int(bits>>mantissaBits&0xff)-bias)
}

// number formats mantissa times ten to the exponent, with an exponent if it is very large or very
// small, as rippled does.
func number(mantissa int64, exponent int) string {
	if mantissa == 0 {
		return "0"
	}
	digits, sign := strconv.FormatInt(mantissa, 10), ""
	if mantissa < 0 {
		digits, sign = digits[1:], "-"
	}
	if exponent != 0 && (exponent < -25 || exponent > -5) {
		trimmed := strings.TrimRight(digits, "0")
		return sign + trimmed + "e" + strconv.Itoa(exponent+len(digits)-len(trimmed))
	}
	if exponent == 0 {
		return sign + digits
	}
	if missing := 1 - exponent - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) + exponent
	fraction := strings.TrimRight(digits[point:], "0")
	if fraction == "" {
		return sign + digits[:point]
	}
	return sign + digits[:point] + "." + fraction
}

// currency formats a code of three characters, XRP, or 40 hex digits.
func currency(b []byte) string {
	const at, allowed = 12, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789<>(){}[]|?!@#$%^&*"
	code := string(b[at : at+3])
	rest := string(b[:at]) + string(b[at+3:])
	switch {
	case strings.Trim(rest, "\x00") != "":
		return xrpl.Hex(b)
	case code == "\x00\x00\x00":
		return "XRP"
	case strings.Trim(code, allowed) != "" || code == "XRP":
		return xrpl.Hex(b)
	}
	return code
}

func issue(b []byte) Object {
	switch len(b) {
	case currencySize:
		return Object{"currency": currency(b)}
	case currencySize + accountSize:
		return Object{"currency": currency(b[:currencySize]), "issuer": account(b[currencySize:])}
	}
	// A multi-purpose token is written as issuer, a mark, and sequence (little-endian); its ID is
	// sequence and issuer.
	sequence := b[2*accountSize:]
	id := []byte{sequence[3], sequence[2], sequence[1], sequence[0]}
	return Object{"mpt_issuance_id": xrpl.Hex(append(id, b[:accountSize]...))}
}

func bridge(b []byte) Object {
	out := Object{}
	for _, side := range []string{"LockingChain", "IssuingChain"} {
		door := b[1 : 1+accountSize]
		b = b[1+accountSize:]
		n := currencySize
		if strings.Trim(string(b[:currencySize]), "\x00") != "" {
			n += accountSize
		}
		out[side+"Door"], out[side+"Issue"] = account(door), issue(b[:n])
		b = b[n:]
	}
	return out
}

// paths converts lists of steps.
func paths(b []byte) []any {
	const end, boundary, byAccount, byCurrency, byIssuer, byToken = 0x00, 0xff, 0x01, 0x10, 0x20, 0x40
	all, path := []any{}, []any{}
	for len(b) > 0 {
		kind := b[0]
		b = b[1:]
		if kind == end || kind == boundary {
			all, path = append(all, path), []any{}
			continue
		}
		step := Object{"type": kind}
		take := func(n int) []byte {
			part := b[:n]
			b = b[n:]
			return part
		}
		if kind&byAccount != 0 {
			step["account"] = account(take(accountSize))
		}
		if kind&byCurrency != 0 {
			step["currency"] = currency(take(currencySize))
		}
		if kind&byIssuer != 0 {
			step["issuer"] = account(take(accountSize))
		}
		if kind&byToken != 0 {
			step["mpt_issuance_id"] = xrpl.Hex(take(mptSize))
		}
		path = append(path, step)
	}
	return all
}
