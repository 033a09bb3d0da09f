package xrpl

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/mr-tron/base58"
	//lint:ignore SA1019 the ledger computes account IDs with it
	"golang.org/x/crypto/ripemd160"
)

// AccountID is an account of the ledger.
type AccountID [20]byte

// KeySize is the size of a public key, bytes: a compressed point, or 0xED and 32 bytes.
const KeySize = 33

// First byte of an address's payload, by kind. Source: xrpl.org/base58-encodings.html.
const (
	addressAccount = 0x00 // r...
	addressNode    = 0x1c // n...
)

var alphabet = base58.NewAlphabet("rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz")

// KeyAccount returns the account whose master key is key.
func KeyAccount(key []byte) (id AccountID) {
	sum := sha256.Sum256(key)
	h := ripemd160.New()
	h.Write(sum[:])
	h.Sum(id[:0])
	return id
}

// ParseAddress parses an account's address (r...).
func ParseAddress(s string) (AccountID, error) {
	id, err := parseBase58(s, addressAccount, accountSize)
	if err != nil {
		return AccountID{}, fmt.Errorf("address %.60q: %w", s, err)
	}
	return AccountID(id), nil
}

// String returns the account's address.
func (id AccountID) String() string { return formatBase58(addressAccount, id[:]) }

// ParseNodeKey parses a validator's public key (n...).
func ParseNodeKey(s string) ([]byte, error) {
	key, err := parseBase58(s, addressNode, KeySize)
	if err != nil {
		return nil, fmt.Errorf("node key %.60q: %w", s, err)
	}
	return key, nil
}

// FormatNodeKey formats a validator's public key (n...).
func FormatNodeKey(key []byte) string { return formatBase58(addressNode, key) }

const checksumSize = 4

func checksum(b []byte) []byte {
	once := sha256.Sum256(b)
	twice := sha256.Sum256(once[:])
	return twice[:checksumSize]
}

func formatBase58(kind byte, b []byte) string {
	b = append([]byte{kind}, b...)
	return base58.EncodeAlphabet(append(b, checksum(b)...), alphabet)
}

func parseBase58(s string, kind byte, size int) ([]byte, error) {
	const longest = 64 // digits; the time of decoding grows with their square
	if len(s) == 0 || len(s) > longest {
		return nil, fmt.Errorf("%w: %d characters are too many or too few", ErrMalformed, len(s))
	}
	b, err := base58.DecodeAlphabet(s, alphabet)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if len(b) != 1+size+checksumSize || b[0] != kind {
		return nil, fmt.Errorf("%w: it is one of another kind, or cut off", ErrMalformed)
	}
	if body := b[:1+size]; !bytes.Equal(checksum(body), b[1+size:]) {
		return nil, fmt.Errorf("%w: its checksum does not fit: a typing error?", ErrMalformed)
	}
	return b[1 : 1+size], nil
}
