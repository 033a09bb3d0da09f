// Package xrpl reads and checks the bytes of XRP Ledger history as servers give them with binary: true. It parses
// and hashes ledger headers, rebuilds the transaction tree, walks the fields of transactions and metadata where they
// lie, and checks the signatures of transactions, validations and manifests. Nothing here trusts what it reads: sizes
// and nesting are bounded, and malformed bytes give an error that says where they are.
//
// It is not a codec: it never turns a transaction into a structure and back, because the signatures and hashes of
// history are those of the bytes, and older transactions do not survive that way. Nor does it know the ledger's state
// tree, or which transactions the network would accept. Fields, Payment, Meta and Key make what a simulator
// needs, no more.
//
// It does no I/O and starts no goroutines.
package xrpl

import (
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
)

// What is wrong with an answer, for those who count it. Errors of this package wrap one of them at
// most.
var (
	ErrMalformed = errors.New("malformed bytes")                // they cannot be read at all
	ErrIndex     = errors.New("another ledger")                 // the header is of another index than the answer
	ErrHash      = errors.New("wrong ledger hash")              // the header does not have the hash that it should
	ErrRoot      = errors.New("wrong transaction tree")         // the transactions are not those of the header
	ErrSignature = errors.New("wrong signature")                // the signature does not fit the bytes or is missing
	ErrKey       = errors.New("key not the account's to use")   // the signature fits, but somebody else made it
	ErrMetadata  = errors.New("metadata not the transaction's") // it does not say what became of the sender
	ErrUnknown   = errors.New("unknown type or field")          // newer than this program, which cannot say how it is signed
)

// Hash is the first half of a SHA-512: what the ledger calls an id, an index or a hash.
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

// IsZero says whether all bits are zero: the hash of an empty tree, and what stands for no hash.
func (h Hash) IsZero() bool { return h == Hash{} }

// String is the hash as servers write it: 64 hex digits in upper case.
func (h Hash) String() string { return string(AppendHex(make([]byte, 0, 2*len(h)), h[:])) }

// AppendText appends String. Its error is always nil.
func (h Hash) AppendText(b []byte) ([]byte, error) { return AppendHex(b, h[:]), nil }

// MarshalText is String, so that a Hash in JSON is what servers write.
func (h Hash) MarshalText() ([]byte, error) { return h.AppendText(nil) }

// UnmarshalText is ParseHash.
func (h *Hash) UnmarshalText(text []byte) (err error) {
	*h, err = ParseHash(string(text))
	return err
}

// AppendHex appends bytes as servers write them: hex digits in upper case.
func AppendHex(b, data []byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range data {
		b = append(b, digits[c>>4], digits[c&15])
	}
	return b
}

// Hex is AppendHex as a string.
func Hex(data []byte) string { return string(AppendHex(make([]byte, 0, 2*len(data)), data)) }

// half is the first half of the SHA-512 of b.
func half(b []byte) Hash {
	sum := sha512.Sum512(b)
	return Hash(sum[:32])
}

// Transaction is a transaction in a ledger: as it was signed, and what it did.
type Transaction struct {
	Blob, Meta []byte
	ID         Hash // its TransactionID; zero until a Verifier has computed it
}

// Ledger is a ledger as a server answered. Nothing about it is proved, and its bytes may be shared with others.
type Ledger struct {
	Index        uint32 // zero where the answer did not say
	Hash         Hash   // zero where the answer did not say
	Header       []byte // HeaderSize bytes
	Transactions []Transaction
}
