package xrpl

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Types of transactions that are no account's, and what is different about batches.
const (
	typeEnableAmendment = 100
	typeUNLModify       = 102 // and SetFee between them
	typeBatch           = 71

	flagFullyCanonical = 0x8000_0000 // the sender wants S below half the order
	flagInnerBatch     = 0x4000_0000 // part of a Batch, whose signature covers it

	maxSigners = 32 // of a SignerList
)

// Signatures checks the signatures of all transactions of a ledger and says how many there were. The ledger should
// have passed Ledger. The first one that fails ends it, with an error that wraps ErrSignature, ErrKey or ErrMalformed.
//
// Amendments, fees and changes of the UNL are written by the validators and have no signature. A transaction out of a
// Batch has none of its own: the Batch, in the same ledger, has to hold it byte for byte. What others than the sender
// sign besides (BatchSigners, CounterpartySignature, SponsorSignature) is not checked.
func (v *Verifier) Signatures(l *Ledger, check SignatureChecker) (checked int, err error) {
	for i := range l.Transactions {
		n, err := v.Signature(l, i, check)
		checked += n
		if err != nil {
			return checked, err
		}
	}
	return checked, nil
}

// Signature checks what Signatures does, of one transaction: for a sample.
func (v *Verifier) Signature(l *Ledger, i int, check SignatureChecker) (checked int, err error) {
	tx := &l.Transactions[i]
	checked, err = v.signature(l, tx, check)
	if err != nil {
		return checked, fmt.Errorf("transaction %v: %w", TransactionID(tx.Blob), err)
	}
	return checked, nil
}

func (v *Verifier) signature(l *Ledger, tx *Transaction, check SignatureChecker) (checked int, err error) {
	s, err := readSigned(tx.Blob)
	switch {
	case err != nil:
		return 0, err
	case s.isPseudo():
		return 0, nil
	case len(s.key) > 0 && s.signers > 0:
		return 0, fmt.Errorf("%w: signed both by one and by several", ErrSignature)
	case s.signers > 0:
		return v.several(tx.Blob, &s, check)
	case len(s.key) == 0 && len(s.signature) == 0 && s.flags&flagInnerBatch != 0:
		if !holdsInner(l, tx.Blob) {
			return 0, fmt.Errorf("%w: it is unsigned, and no Batch of this ledger holds it", ErrSignature)
		}
		return 0, nil
	case len(s.key) == 0:
		return 0, fmt.Errorf("%w: it is unsigned", ErrSignature)
	}
	if v.message, err = SigningData(v.message[:0], tx.Blob); err != nil {
		return 0, err
	}
	if err := s.check(check, s.key, v.message, s.signature); err != nil {
		return 0, err
	}
	return 1, mayUse(s.key, s.signatory(), tx.Meta)
}

// several checks a multi-signed transaction. Whether these signers are enough is not in the transaction.
func (v *Verifier) several(blob []byte, s *signed, check SignatureChecker) (checked int, err error) {
	if len(s.signature) > 0 {
		return 0, fmt.Errorf("%w: signed both by one and by several", ErrSignature)
	}
	if v.message, err = MultiSigningData(v.message[:0], blob, make([]byte, accountSize)); err != nil {
		return 0, err
	}
	var last []byte
	var one signer
	err = Walk(blob, func(f Field) error {
		value := blob[f.ValueStart:f.End]
		switch {
		case f.Depth == 0:
			one.inside = f.Is(typeArray, codeSigners)
		case !one.inside:
		case f.Depth == 1 && f.Is(typeObject, codeSigner):
			one = signer{inside: true}
		case f.Depth == 1 && f.Ends():
			if len(one.account) != accountSize || bytes.Compare(one.account, last) <= 0 {
				return fmt.Errorf("%w: its signers are not in order", ErrSignature)
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
		case f.Depth == 2 && f.Is(typeAccount, codeAccount):
			one.account = value
		case f.Depth == 2 && f.Is(typeBlob, codeSigningPubKey):
			one.key = value
		case f.Depth == 2 && f.Is(typeBlob, codeTxnSignature):
			one.signature = value
		}
		return nil
	})
	return checked, err
}

// signer is an element of Signers while it is read.
type signer struct {
	inside                  bool
	account, key, signature []byte
}

// signed is what of a transaction says who signed it.
type signed struct {
	kind              uint16
	flags             uint32
	account, delegate []byte
	key, signature    []byte
	signers           int
}

// readSigned reads a transaction's outermost fields, which have to ascend.
func readSigned(blob []byte) (s signed, err error) {
	var ascending ascent
	inSigners := false
	err = Walk(blob, func(f Field) error {
		if f.Depth > 0 {
			if inSigners && f.Depth == 1 && f.Opens() {
				s.signers++
			}
			return nil
		}
		if f.Ends() {
			inSigners = false
			return nil
		}
		if err := ascending.next(f); err != nil {
			return err
		}
		value := blob[f.ValueStart:f.End]
		switch {
		case f.Is(typeUInt16, codeTransactionType):
			s.kind = binary.BigEndian.Uint16(value)
		case f.Is(typeUInt32, codeFlags):
			s.flags = binary.BigEndian.Uint32(value)
		case f.Is(typeBlob, codeSigningPubKey):
			s.key = value
		case f.Is(typeBlob, codeTxnSignature):
			s.signature = value
		case f.Is(typeAccount, codeAccount):
			s.account = value
		case f.Is(typeAccount, codeDelegate):
			s.delegate = value
		case f.Is(typeArray, codeSigners):
			inSigners = true
		}
		return nil
	})
	if err == nil && len(s.account) != accountSize && !s.isPseudo() {
		err = fmt.Errorf("%w: its account has %d bytes, not %d", ErrMalformed, len(s.account), accountSize)
	}
	return s, err
}

// isPseudo: the validators' own transactions are of no account, which is written as zeros or as nothing.
func (s *signed) isPseudo() bool {
	return s.kind >= typeEnableAmendment && s.kind <= typeUNLModify &&
		len(s.key) == 0 && len(s.signature) == 0 && s.signers == 0 &&
		(len(s.account) == 0 || string(s.account) == string(make([]byte, accountSize)))
}

// signatory is the account whose key has to have signed.
func (s *signed) signatory() AccountID {
	if len(s.delegate) == accountSize {
		return AccountID(s.delegate)
	}
	return AccountID(s.account)
}

func (s *signed) check(check SignatureChecker, key, message, signature []byte) error {
	if !check.Check(key, message, signature) {
		return fmt.Errorf("%w: it does not fit the key %X and the transaction", ErrSignature, key)
	}
	if s.flags&flagFullyCanonical == 0 || isEd25519(key) {
		return nil
	}
	if _, high, err := parseDER(signature); err != nil || high.IsOverHalfOrder() {
		return fmt.Errorf("%w: its S is above half the order, which the transaction's flags rule out", ErrSignature)
	}
	return nil
}

// holdsInner says whether a Batch of the ledger holds a transaction. The Batch's own signature, which is checked with
// all others, covers what it holds.
func holdsInner(l *Ledger, blob []byte) bool {
	for i := range l.Transactions {
		batch := l.Transactions[i].Blob
		if s, err := readSigned(batch); err != nil || s.kind != typeBatch || s.flags&flagInnerBatch != 0 {
			continue
		}
		inside, start, found := false, 0, false
		_ = Walk(batch, func(f Field) error { // which readSigned has found well formed
			switch {
			case f.Depth == 0:
				inside = f.Is(typeArray, codeRawTransactions)
			case !inside || f.Depth > 1:
			case f.Is(typeObject, codeRawTransaction):
				start = f.End
			case f.Ends() && bytes.Equal(batch[start:f.Start], blob):
				found = true
				return ErrStop
			}
			return nil
		})
		if found {
			return true
		}
	}
	return false
}
