package xrpl

import (
	"encoding/binary"
	"fmt"
)

// Validation is a validator's word that a ledger is the one.
type Validation struct {
	Ledger   Hash
	Index    uint32 // zero where the validation does not say
	SignTime uint32 // seconds since 2000-01-01T00:00:00Z
	Key      []byte // of the validator: usually the one that its manifest names
	Full     bool   // partial ones do not count: their validator was not in step
}

const (
	flagFull = 0x0000_0001
	// maxValidation bounds a validation, bytes. Real ones have some 300; a vote on amendments adds 32 for each.
	maxValidation = 16 << 10
)

// ParseValidation reads a validation and checks its signature. Key shares b's memory. The error wraps ErrMalformed or
// ErrSignature.
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

// Sign is the validation as bytes, by this key.
func (v Validation) Sign(k *Key) []byte {
	flags := uint32(flagFullyCanonical)
	if v.Full {
		flags |= flagFull
	}
	b := Fields(nil).UInt32(codeFlags, flags).UInt32(codeLedgerSequence, v.Index).UInt32(codeSigningTime, v.SignTime).
		Hash(codeLedgerHash, v.Ledger).Blob(codeSigningPubKey, k.public)
	return b.Blob(codeSignature, k.Sign(append([]byte(prefixValidation), b...)))
}

// checkPrefixed checks a signature of all fields but signatures. There are few of these, so it takes Pure.
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
