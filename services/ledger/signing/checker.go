package signing

import (
	"crypto/ed25519"
	"fmt"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"dyno/services/ledger/xrpl"
)

// Checker checks signatures. Implementations are safe for concurrent use, and return false
// for input that they cannot parse. A key that begins with 0xED is an ed25519 key, which signs the
// message itself; all others are secp256k1 keys, which sign its Hash. An S above half the order is
// accepted: history before July 2020 has such signatures, and Verifier knows when they are invalid.
type Checker interface {
	Check(key, message, signature []byte) bool
}

// Checkers returns the implementations by name: "pure" is Go only; "libsecp256k1" is the C library,
// available only in programs built with cgo.
func Checkers() map[string]Checker {
	all := map[string]Checker{"pure": Pure{}}
	addLibSecp(all)
	return all
}

// FastestChecker returns the fastest implementation and its name.
func FastestChecker() (name string, fastest Checker) {
	const native = "libsecp256k1" // takes a third of the time
	if c, ok := Checkers()[native]; ok {
		return native, c
	}
	return "pure", Pure{}
}

// Pure checks signatures in Go only.
type Pure struct{}

// Check implements Checker.
func (Pure) Check(key, message, signature []byte) bool {
	if isEd25519(key) {
		return checkEd25519(key, message, signature)
	}
	r, s, err := parseDER(signature)
	if err != nil || len(key) != xrpl.KeySize {
		return false
	}
	public, err := secp256k1.ParsePubKey(key)
	if err != nil {
		return false
	}
	digest := xrpl.SHA512Half(message)
	return ecdsa.NewSignature(&r, &s).Verify(digest[:], public)
}

func isEd25519(key []byte) bool { return len(key) == xrpl.KeySize && key[0] == 0xed }

func checkEd25519(key, message, signature []byte) bool {
	return len(signature) == ed25519.SignatureSize && ed25519.Verify(key[1:], message, signature)
}

// parseDER parses a secp256k1 signature: a sequence of two positive integers in minimal encoding,
// each above zero and below the order of the group.
func parseDER(b []byte) (r, s secp256k1.ModNScalar, err error) {
	const sequence, shortest, longest = 0x30, 8, 72
	if len(b) < shortest || len(b) > longest || b[0] != sequence || int(b[1]) != len(b)-2 {
		return r, s, fmt.Errorf("%w: %d bytes are no DER signature", ErrSignature, len(b))
	}
	rest, ok := parseInteger(b[2:], &r)
	if ok {
		rest, ok = parseInteger(rest, &s)
	}
	if !ok || len(rest) > 0 {
		return r, s, fmt.Errorf("%w: a number in the DER signature is out of bounds", ErrSignature)
	}
	return r, s, nil
}

func parseInteger(b []byte, into *secp256k1.ModNScalar) (rest []byte, ok bool) {
	const integer = 0x02
	if len(b) < 3 || b[0] != integer || b[1] == 0 || int(b[1]) > len(b)-2 {
		return nil, false
	}
	number, rest := b[2:2+b[1]], b[2+b[1]:]
	switch {
	case number[0]&0x80 != 0: // negative
		return nil, false
	case number[0] == 0 && (len(number) == 1 || number[1]&0x80 == 0): // zero, or not minimal
		return nil, false
	case number[0] == 0:
		number = number[1:]
	}
	if len(number) > 32 {
		return nil, false
	}
	return rest, !into.SetByteSlice(number) && !into.IsZero()
}
