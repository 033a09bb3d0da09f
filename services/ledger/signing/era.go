package signing

import (
	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"dyno/services/ledger/xrpl"
)

// The rules for valid signatures became stricter. A ledger is checked by the rules at its close. A
// constant is a close time in seconds since 2000-01-01, safely after the main network changed.
const (
	// canonicalFrom is 2014-08-01. rippled 0.22, some months earlier, was the first version to refuse
	// non-canonical encodings of a signature. Source: wiki.ripple.com/Transaction_Malleability.
	canonicalFrom = 460_166_400

	// lowFrom is 2020-07-04, the day after the amendment RequireFullyCanonicalSig: S above half the
	// order is refused for any flags. Source:
	// xrpl.org/blog/2020/requirefullycanonicalsig-fixqualityupperbound-flowcross-enabled.
	lowFrom = 647_136_000

	// sponsorsFrom is 2026-01-01: no server supported SponsorSignature before.
	sponsorsFrom = 820_540_800
)

// closeTime returns a ledger's close time, zero if it has no header.
func closeTime(l *xrpl.Ledger) uint32 {
	h, _ := xrpl.ParseHeader(l.Header)
	return h.Close
}

// checkEarly checks a secp256k1 signature like OpenSSL in the first servers: it ignored bytes after
// the signature, and accepted leading zeros, negative-looking numbers and uncompressed keys.
func checkEarly(key, message, signature []byte) bool {
	r, s, ok := parseEarly(signature)
	if !ok {
		return false
	}
	public, err := secp256k1.ParsePubKey(key)
	if err != nil {
		return false
	}
	digest := xrpl.SHA512Half(message)
	return ecdsa.NewSignature(&r, &s).Verify(digest[:], public)
}

func parseEarly(b []byte) (r, s secp256k1.ModNScalar, ok bool) {
	const sequence = 0x30
	if len(b) < 2 || b[0] != sequence || b[1] >= 0x80 || int(b[1]) > len(b)-2 {
		return r, s, false
	}
	rest, ok := parseEarlyInteger(b[2:2+b[1]], &r)
	if ok {
		rest, ok = parseEarlyInteger(rest, &s)
	}
	return r, s, ok && len(rest) == 0
}

func parseEarlyInteger(b []byte, into *secp256k1.ModNScalar) (rest []byte, ok bool) {
	const integer = 0x02
	if len(b) < 2 || b[0] != integer || b[1] >= 0x80 || int(b[1]) > len(b)-2 {
		return nil, false
	}
	number, rest := b[2:2+b[1]], b[2+b[1]:]
	for len(number) > 0 && number[0] == 0 {
		number = number[1:]
	}
	if len(number) > 32 {
		return nil, false
	}
	return rest, !into.SetByteSlice(number) && !into.IsZero()
}
