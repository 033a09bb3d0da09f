package xrpl

import (
	"encoding/binary"
	"fmt"
)

// Validation is a validator's statement that a ledger is the validated one.
type Validation struct {
	Ledger   Hash
	Index    uint32 // zero if the validation does not contain it
	SignTime uint32 // seconds since 2000-01-01T00:00:00Z
	Key      []byte // of the validator: usually the one in its manifest
	Full     bool   // partial ones do not count: their validator was not synchronized
}

const (
	flagFull = 0x0000_0001
	// maxValidation is in bytes. Real ones have about 300; a vote on amendments adds 32 for each.
	maxValidation = 16 << 10
)

// ParseValidation parses a validation and checks its signature. Key shares b's memory. The error
// wraps ErrMalformed or ErrSignature.
func ParseValidation(b []byte) (v Validation, err error) {
	if len(b) > maxValidation {
		return Validation{}, fmt.Errorf("validation: %w: %d bytes are more than the %d that are taken", ErrMalformed, len(b), maxValidation)
	}
	var signature []byte
	ledgers := 0
	err = walkOutermost(b, func(f Field, value []byte) {
		switch {
		case f.Is(typeUInt32, codeFlags):
			v.Full = binary.BigEndian.Uint32(value)&flagFull != 0
		case f.Is(typeUInt32, codeLedgerSequence):
			v.Index = binary.BigEndian.Uint32(value)
		case f.Is(typeUInt32, codeSigningTime):
			v.SignTime = binary.BigEndian.Uint32(value)
		case f.Is(typeHash256, codeLedgerHash):
			v.Ledger = Hash(value)
			ledgers++
		case f.Is(typeBlob, codeSigningPubKey):
			v.Key = value
		case f.Is(typeBlob, codeSignature):
			signature = value
		}
	})
	if err != nil {
		return Validation{}, fmt.Errorf("validation: %w", err)
	}
	if ledgers == 0 || len(v.Key) == 0 {
		return Validation{}, fmt.Errorf("validation: %w: it names no ledger or no key", ErrMalformed)
	}
	if err := checkPrefixed(prefixValidation, b, v.Key, signature); err != nil {
		return Validation{}, fmt.Errorf("validation by %X: %w", v.Key, err)
	}
	return v, nil
}

// Sign returns the validation's bytes, signed by a key.
func (v Validation) Sign(k *Key) []byte {
	flags := uint32(flagFullyCanonical)
	if v.Full {
		flags |= flagFull
	}
	b := Fields(nil).UInt32(codeFlags, flags).UInt32(codeLedgerSequence, v.Index).UInt32(codeSigningTime, v.SignTime).
		Hash(codeLedgerHash, v.Ledger).Blob(codeSigningPubKey, k.public)
	return b.Blob(codeSignature, k.Sign(append([]byte(prefixValidation), b...)))
}

// checkPrefixed checks a signature of all fields but signatures. These are rare, so it uses Pure.
func checkPrefixed(prefix string, b, key, signature []byte) error {
	message, err := appendUnsigned([]byte(prefix), b)
	if err != nil {
		return err
	}
	if !(Pure{}).Check(key, message, signature) {
		return fmt.Errorf("%w: it does not fit the key and the bytes", ErrSignature)
	}
	return nil
}
