// Package xrpl parses and verifies the XRP Ledger's binary format, as servers return it with
// binary: true. It parses and hashes ledger headers, rebuilds the transaction tree, walks the
// fields of transactions and metadata in place, and knows the names of the format's numbers: of
// fields, transaction types, entry types and results. It trusts none of its input: sizes and
// nesting are bounded, and malformed bytes cause an error with their position.
//
// It is not a codec: it never converts a transaction to a structure and back, because the
// signatures and hashes of history are those of the bytes, and older transactions do not survive
// that. It does not handle the ledger's state tree, checks no signatures (services/ledger/signing),
// and does not decide which transactions the network would accept. Fields and Meta build only what
// a simulator needs.
//
// It does no I/O and starts no goroutines.
package xrpl

import (
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
)

// Kinds of errors, for counting. An error of this package wraps at most one of them.
var (
	ErrMalformed = errors.New("malformed bytes")        // the bytes cannot be parsed
	ErrIndex     = errors.New("another ledger")         // the header has another index than the response
	ErrHash      = errors.New("wrong ledger hash")      // the header does not have the expected hash
	ErrRoot      = errors.New("wrong transaction tree") // the transactions are not those of the header
)

// Hash is the first half of a SHA-512. The ledger uses it as ID, index or hash.
type Hash [32]byte

// ParseHash reads 64 hex digits of either case.
func ParseHash(s string) (h Hash, err error) {
	if len(s) != 2*len(h) {
		return Hash{}, fmt.Errorf("hash %.70q has %d characters, not 64 hex digits", s, len(s))
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return Hash{}, fmt.Errorf("hash %q is not hex: %w", s, err)
	}
	return h, nil
}

// IsZero reports whether all bits are zero: an empty tree, or a missing hash.
func (h Hash) IsZero() bool { return h == Hash{} }

// String formats the hash as servers do: 64 hex digits in upper case.
func (h Hash) String() string { return string(AppendHex(make([]byte, 0, 2*len(h)), h[:])) }

// AppendText appends String. Its error is always nil.
func (h Hash) AppendText(b []byte) ([]byte, error) { return AppendHex(b, h[:]), nil }

// MarshalText is String, so that JSON contains a Hash as servers write it.
func (h Hash) MarshalText() ([]byte, error) { return h.AppendText(nil) }

// UnmarshalText is ParseHash.
func (h *Hash) UnmarshalText(text []byte) (err error) {
	*h, err = ParseHash(string(text))
	return err
}

// AppendHex appends data as servers write it: hex digits in upper case.
func AppendHex(b, data []byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range data {
		b = append(b, digits[c>>4], digits[c&15])
	}
	return b
}

// Hex returns the result of AppendHex as a string.
func Hex(data []byte) string { return string(AppendHex(make([]byte, 0, 2*len(data)), data)) }

// SHA512Half returns the first half of the SHA-512 of b.
func SHA512Half(b []byte) Hash {
	sum := sha512.Sum512(b)
	return Hash(sum[:32])
}

// Transaction is a transaction in a ledger: its signed bytes and its metadata.
type Transaction struct {
	Blob, Meta []byte
	ID         Hash // TransactionID; zero until a Verifier has computed it
}

// Ledger is a ledger as a server returned it. It is not verified, and its bytes may be shared.
type Ledger struct {
	Index        uint32 // zero if the response has none
	Hash         Hash   // zero if the response has none
	Header       []byte // HeaderSize bytes
	Transactions []Transaction
}
