package xrpl

import (
	"bytes"
	"fmt"
)

const maxSigners = 32 // of a SignerList

// several checks a multi-signed transaction. Whether these signers are enough is not in the transaction.
func (v *Verifier) several(blob []byte, s *signed, check SignatureChecker) (checked int, err error) {
	if len(s.signature) > 0 {
		return 0, fmt.Errorf("%w: signed both by one and by several", ErrSignature)
	}
	if v.message, err = MultiSigningData(v.message[:0], blob, make([]byte, accountSize)); err != nil {
		return 0, err
	}
	last := make([]byte, accountSize) // the account zero signs nothing
	err = eachSigner(blob, func(one *signer) error {
		if len(one.account) != accountSize || bytes.Compare(one.account, last) <= 0 {
			return fmt.Errorf("%w: its signers are not in order", ErrSignature)
		}
		if bytes.Equal(one.account, s.account) {
			return fmt.Errorf("%w: its account is among its own signers", ErrSignature)
		}
		if checked == maxSigners {
			return fmt.Errorf("%w: more than %d signers", ErrSignature, maxSigners)
		}
		last = one.account
		copy(v.message[len(v.message)-accountSize:], one.account)
		if err := s.check(check, one.key, v.message, one.signature); err != nil {
			return fmt.Errorf("signer %v: %w", AccountID(one.account), err)
		}
		checked++
		return nil
	})
	if err == nil && checked == 0 {
		err = fmt.Errorf("%w: it has no signers", ErrSignature)
	}
	return checked, err
}

// signer is an element of Signers.
type signer struct{ account, key, signature []byte }

// eachSigner calls visit with the elements of Signers, which may hold nothing that nobody has signed.
func eachSigner(blob []byte, visit func(*signer) error) error {
	var one signer
	var ascending ascent
	inside := false
	return Walk(blob, func(f Field) error {
		value := blob[f.ValueStart:f.End]
		switch {
		case f.Depth == 0:
			inside = f.Is(typeArray, codeSigners)
		case !inside:
		case f.Depth == 1 && f.Ends():
			return visit(&one)
		case f.Depth == 1 && f.Is(typeObject, codeSigner):
			one, ascending = signer{}, ascent{}
		case f.Depth == 2 && f.Is(typeAccount, codeAccount):
			one.account = value
			return ascending.next(f)
		case f.Depth == 2 && f.Is(typeBlob, codeSigningPubKey):
			one.key = value
			return ascending.next(f)
		case f.Depth == 2 && f.Is(typeBlob, codeTxnSignature):
			one.signature = value
			return ascending.next(f)
		default:
			return f.malformed("a signer has no such field")
		}
		return nil
	})
}
