package signing

import (
	"encoding/binary"
	"fmt"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// Validation is a validator's statement that a ledger is the validated one.
type Validation struct {
	Ledger   xrpl.Hash
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
		return Validation{}, fmt.Errorf("validation: %w: %d bytes are more than the %d that are taken", xrpl.ErrMalformed, len(b), maxValidation)
	}
	var signature []byte
	ledgers := 0
	err = xrpl.WalkOutermost(b, func(f xrpl.Field, value []byte) {
		switch {
		case f.Is(sfield.Flags):
			v.Full = binary.BigEndian.Uint32(value)&flagFull != 0
		case f.Is(sfield.LedgerSequence):
			v.Index = binary.BigEndian.Uint32(value)
		case f.Is(sfield.SigningTime):
			v.SignTime = binary.BigEndian.Uint32(value)
		case f.Is(sfield.LedgerHash):
			v.Ledger = xrpl.Hash(value)
			ledgers++
		case f.Is(sfield.SigningPubKey):
			v.Key = value
		case f.Is(sfield.Signature):
			signature = value
		}
	})
	if err != nil {
		return Validation{}, fmt.Errorf("validation: %w", err)
	}
	if ledgers == 0 || len(v.Key) == 0 {
		return Validation{}, fmt.Errorf("validation: %w: it names no ledger or no key", xrpl.ErrMalformed)
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
	b := xrpl.Fields(nil).UInt32(sfield.Flags, flags).UInt32(sfield.LedgerSequence, v.Index).UInt32(sfield.SigningTime, v.SignTime).
		Hash(sfield.LedgerHash, v.Ledger).Blob(sfield.SigningPubKey, k.public)
	return b.Blob(sfield.Signature, k.Sign(append([]byte(prefixValidation), b...)))
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
