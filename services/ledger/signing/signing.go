// Package signing checks who signed transactions, validations and manifests of the XRP Ledger, by
// the rules of the time of their ledger, and signs them for simulators and tests. It does not read
// or hash ledgers (services/ledger/xrpl), and does not decide which validators count
// (services/ledger/trust). It starts no goroutines.
package signing

import (
	"errors"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// Kinds of errors, for counting. An error of this package wraps at most one of them, or
// xrpl.ErrMalformed.
var (
	ErrSignature = errors.New("wrong signature")                // the signature is missing or does not match the bytes
	ErrKey       = errors.New("key not the account's to use")   // the signature is valid, but made with another key
	ErrMetadata  = errors.New("metadata not the transaction's") // it does not show the sender's change
	ErrUnknown   = errors.New("unknown type or field")          // newer than this program, which does not know its signers
)

// Prefixes of signed bytes, so that bytes of one kind cannot pass for another.
const (
	prefixSign       = "STX\x00"
	prefixMultiSign  = "SMT\x00"
	prefixValidation = "VAL\x00"
	prefixManifest   = "MAN\x00"
	prefixClaim      = "CLM\x00"
	prefixBatch      = "BCH\x00"

	prefixCounterparty      = "CPT\x00"
	prefixMultiCounterparty = "CPM\x00"
	prefixSponsor           = "SPN\x00"
	prefixMultiSponsor      = "SPM\x00"
)

// SigningData appends the bytes that the only signer of a transaction signs: the transaction
// without its signatures. The blob may contain signatures.
func SigningData(dst, blob []byte) ([]byte, error) {
	return appendUnsigned(append(dst, prefixSign...), blob)
}

// isSignature reports whether an outermost field is excluded from signing. Nested fields are always
// included. Source: the fields marked notSigning in rippled's sfields.macro.
func isSignature(id sfield.ID) bool {
	switch id {
	case sfield.TxnSignature, sfield.Signature, sfield.MasterSignature, sfield.Signers, sfield.BatchSigners,
		sfield.CounterpartySignature, sfield.SponsorSignature:
		return true
	}
	return false
}

// appendUnsigned appends the signed fields of b, unchanged.
func appendUnsigned(dst, b []byte) ([]byte, error) {
	from, skipping := 0, false // from: start of the bytes not yet copied
	err := xrpl.Walk(b, func(f xrpl.Field) error {
		if f.Depth > 0 {
			return nil
		}
		switch {
		case skipping:
			if f.Ends() {
				from, skipping = f.End, false
			}
		case !f.Ends() && isSignature(f.ID()):
			dst = append(dst, b[from:f.Start]...)
			from, skipping = f.End, f.Opens()
		}
		return nil
	})
	if err != nil {
		return dst, err
	}
	return append(dst, b[from:]...), nil
}
